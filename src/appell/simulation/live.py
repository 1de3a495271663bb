"""Live pages: one HTML file that simulates a robot in the browser, without Python and without a server.

The page runs the step of a rollout (`rollouts.formula`), compiled to WebAssembly. What the user changes is an argument
of the step, so nothing is compiled again:

    payload       inertial parameters of the body of the outermost handle, plus a point mass at the handle
    gravity       factor of the gravity vector
    friction      viscous friction at the actuators in addition to that of the description, d = friction m
    controller    none; PD, tau = m (ω² (θ* - θ) - 2 ζ ω θ̇); or computed torque, tau = ID(q, v, ω² (q* - q) - 2 ζ ω v)
    drag, push    forces at the handles

with the position θ and the inertia m of each actuator in the initial configuration, the others being free to move.
Controllers use the model of the description: payload, gravity and friction are disturbances for them. Without a
controller, the motion is that of `ap.rollout` with the same method and a law that is zero, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar, Vector, select
from appell.compile.function import Function
from appell.compile.wasm.source import wasm_binary
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.files import check_target, write_text
from appell.formulate.equations import Equations
from appell.model.robot import refuse_immobile
from appell.model.system import System
from appell.show.page.page_text import page_text
from appell.show.scene.scene import Scene, SceneSimulation, SceneSlider
from appell.show.stage.appearance import Appearance
from appell.show.stage.dragging import HandleFrame, handle_frames, handles
from appell.show.stage.output import PAGE_SUFFIXES
from appell.show.stage.scenes import robot_scene
from appell.show.stage.shape import checked_configuration
from appell.show.stage.sliders import Sliders
from appell.simulation.contact.contact import AnyContact, listed_contacts, walls_of
from appell.simulation.options import checked_step_length
from appell.simulation.rollouts.formula import StepFormula
from appell.simulation.rollouts.plan import Rollout

CONTROLLERS = ("none", "PD", "computed torque")
MAX_PAYLOAD = 0.5  # relative to the mass of the robot
WEIGHED = "gravity"  # argument of the law that scales gravity


def live_page(
    robot: System,
    path: str | Path,
    q=None,
    *,
    contacts: AnyContact | Iterable[AnyContact] | str | None = None,
    stops: float | Mapping[str, float] | None = None,
    method: str | None = None,
    dt: float = 1e-3,
    title: str = "",
    overwrite: bool = False,
) -> Path:
    """Write a page that simulates a robot: drag, push and drop it, change payload, gravity, friction and controller.

    The page is one file that needs neither Python nor a network connection. It repeats the step of `rollout`, compiled
    to WebAssembly. The robot has the friction and rotors of its description.

    Parameters
    ----------
    robot : System
        Robot or mechanism.
    path : str or Path
        File with the suffix .html or .htm.
    q : array_like, shape (nq,), optional
        Initial configuration; by default `robot.start`, within the joint limits.
    contacts, stops
        Walls, shapes that touch and joint stops, as in `rollout`.
    method : str, optional
        Method of `rollout`; by default moreau with contacts or stops, else rk4.
    dt : float
        Length of a step, s.
    title : str
        Title of the page; the name of the robot by default.
    overwrite : bool
        Replace an existing file.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    ArgumentError
        If an argument is not valid or the file exists.

    Examples
    --------
    >>> import tempfile
    >>> import appell as ap
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ap.live_page(ap.load("pendulum"), f"{folder}/swing.html", [1.0]).name
    'swing.html'
    """
    target = check_target(path, PAGE_SUFFIXES, overwrite)
    scene = live_scene(robot, q, contacts=contacts, stops=stops, method=method, dt=dt, title=title)
    write_text(target, page_text(scene), "the page")
    return target


def live_scene(
    robot: System,
    q=None,
    *,
    contacts: AnyContact | Iterable[AnyContact] | str | None = None,
    stops: float | Mapping[str, float] | None = None,
    method: str | None = None,
    dt: float = 1e-3,
    title: str = "",
) -> Scene:
    """Return the scene of a live page; see `live_page`."""
    if not isinstance(robot, System):
        raise ArgumentError(f"the robot of a live page is {robot!r}.", expected="a robot or a mechanism")
    refuse_immobile(robot, "live_page")
    if robot.prescribed:
        raise ArgumentError(f"a live page does not support prescribed motions, which {robot.owner} has.")
    checked_step_length(dt)
    listed = listed_contacts(contacts)
    method = method or ("moreau" if listed or stops is not None else "rk4")
    appearance = Appearance(robot)
    start = checked_configuration(appearance.dyn, q)
    frames = handle_frames(appearance.dyn)
    model = LiveModel(robot, start, frames, method, listed, stops)
    scene = robot_scene(robot, start, walls=walls_of(listed), title=title)
    (actor,) = scene.actors
    joints = _joint_sliders(robot, start) if len(model.controllers) > 1 else {}
    actor = replace(actor, handles=handles(frames, actor.bodies), sliders=tuple(joints.values()))
    poses = wasm_binary(appearance.shape.body_poses, simd=False)
    return replace(scene, actors=(actor,), simulation=model.simulation(poses, dt, tuple(joints)))


def _joint_sliders(system: System, q: np.ndarray) -> dict[int, SceneSlider]:
    """Return the sliders of coordinates of one-axis joints and of mechanisms, by coordinate."""
    sliders = Sliders(system)
    values, by_coordinate = iter(sliders.at(q)), {}
    for group in sliders.groups:
        for _ in range(1 if group.layout is None else len(group.layout.sliders)):
            slider = next(values)
            if group.layout is None:
                by_coordinate[group.span.start] = slider
    return by_coordinate


class LiveModel:
    """The functions of a live page: the step and the energy of a robot with a payload, under variable gravity."""

    def __init__(
        self,
        robot: System,
        start: np.ndarray,
        frames: Sequence[HandleFrame],
        method: str,
        contacts: Sequence[AnyContact],
        stops: float | Mapping[str, float] | None,
    ):
        self.robot, self.start, self.frames = robot, start, frames
        self.nominal = Dynamics(robot, friction=False, rotors=True)
        loaded = robot.with_free(frames[-1].body)
        names = [frame.name for frame in frames]
        self.dyn = Dynamics(loaded, friction=True, rotors=True, wrenches=names, reference="LOCAL_WORLD_ALIGNED")
        self.drives = _drive_positions(self.nominal)
        exact = robot.is_flat and robot.nu == robot.nv and not self.nominal.looped  # loops would be unrolled
        self.controllers = CONTROLLERS[: 1 + bool(self.drives) + exact]
        sizes = {"controller": 1, "gains": 2, "goal": robot.nq, WEIGHED: 1, "damping": 1}
        options: dict[str, Any] = {"contacts": contacts or None, "stops": stops}
        plan = Rollout(self.dyn, method=method, law=self._law(), arguments=sizes, **options)
        self.scan, self.weighs = plan.scan, not plan.formula.looped
        if self.weighs:
            contact = plan.formula.contact
            self.scan = _WeighedStep(plan.dyn, method, plan.law, contact=contact, arguments=plan.arguments).scan()

    def _law(self):
        """Return the feedback: friction and the chosen controller."""
        equations, drives, inertias = self.nominal.equations, self.drives, self._drive_inertias()
        computed = self.nominal.inverse_dynamics if len(self.controllers) == len(CONTROLLERS) else None

        def law(t, q, v, *, controller, gains, goal, gravity, damping):
            frequency, ratio = gains
            stiffness, slope = frequency * frequency, 2.0 * ratio * frequency
            tau: list[Scalar] = [0.0] * len(inertias)
            if drives is not None:
                rates = equations.actuator_rates(q, v)
                rows = zip(drives(q), drives(goal), rates, inertias, strict=True)
                for k, (position, target, rate, inertia) in enumerate(rows):
                    if position is not None:
                        force = inertia * (stiffness * (target - position) - slope * rate)
                        tau[k] = select(controller[0] - 0.5, force, 0.0) - (damping[0] * inertia) * rate
            if computed is not None:
                a = [stiffness * (x - y) - slope * rate for x, y, rate in zip(goal, q, v, strict=True)]
                exact = computed(q, v, a)
                tau = [
                    select(controller[0] - 1.5, x - (damping[0] * m) * rate, y)
                    for x, y, m, rate in zip(exact, tau, inertias, rates, strict=True)
                ]
            return tau

        return law

    def _drive_inertias(self) -> list[float]:
        """Return 1 / (J M⁻¹ Jᵀ) of each actuator in the initial configuration."""
        equations, q = self.nominal.equations, self.start.tolist()
        J, inverse = np.array(equations.actuator_jacobian(q), float), np.linalg.inv(equations.mass_matrix(q))
        return (1.0 / np.einsum("ij,jk,ik->i", J, inverse, J)).tolist()

    def _energy(self) -> Function:
        """Return T + U as a function of the state, the parameters of the loaded body and the factor of gravity."""

        def body(q, v, parameters, gravity):
            equations = self.dyn.equations_with(parameters)
            energy = equations.kinetic_energy(q, v) + equations.potential_energy(q)  # with springs
            return {"energy": energy + (gravity[0] - 1.0) * equations.bodies.potential_energy(q)}

        shapes = {"q": self.robot.nq, "v": self.robot.nv, "parameters": 10, "gravity": 1}
        return Function.of("energy", shapes, body, "Total energy.", self.robot.owner)

    def simulation(self, poses: bytes, dt: float, coordinates: Sequence[int]) -> SceneSimulation:
        """Return the data of the page."""
        x, y, z = (float(each) for each in self.frames[-1].pose.translation)
        unit = [1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y]  # point mass of 1 kg
        body, mass = self.robot.bodies[self.frames[-1].body], self.robot.mass
        settings = [SceneSlider("payload", "kg", 0.0, MAX_PAYLOAD * mass, 0.0)]
        settings += [SceneSlider("gravity", "g", 0.0, 2.0, 1.0)] if self.weighs else []
        if len(self.controllers) > 1:
            settings.append(SceneSlider("friction", "1/s", 0.0, 10.0, 0.0))
            settings.append(SceneSlider("frequency", "rad/s", 0.0, 30.0, 10.0))
            settings.append(SceneSlider("damping ratio", "1", 0.0, 2.0, 1.0))
        settings.append(SceneSlider("push", "N s", 0.0, mass, float(f"{0.25 * mass:.2g}")))
        return SceneSimulation(
            step=wasm_binary(self.scan, simd=False),
            energy=wasm_binary(self._energy(), simd=False),
            poses=poses,
            q=self.start,
            dt=dt,
            mass=mass,
            controllers=self.controllers,
            settings=tuple(settings),
            parameters=np.zeros(10) if body is None else np.array(body.parameters, float),
            payload=np.array(unit),
            coordinates=tuple(coordinates),
            movable=self.robot.map.is_identity,
        )


def _drive_positions(dyn: Dynamics):
    """Return the function of q for the positions of the actuators, None where a velocity has none; None without any."""
    system, tree = dyn.system, dyn.system.tree
    if tree is None or not system.map.is_identity:
        return dyn.equations.actuator_positions if system.nu else None
    coordinates = [tree.coordinate_of(k) for k in range(system.nv)]
    if all(k is None for k in coordinates):
        return None
    return partial(_entries, coordinates)


def _entries(coordinates: Sequence[int | None], q: Vector) -> list[Scalar | None]:
    return [None if k is None else q[k] for k in coordinates]


class _WeighedStep(StepFormula):
    """The step of a rollout under the gravity of the system times the argument `gravity` of its law."""

    _weighed: tuple[Any, Any] = (None, None)  # equations, and the same with scaled gravity

    def _equations(self, inputs: Vector, c: Scalar) -> Equations:
        equations = super()._equations(inputs, c)
        if self._weighed[0] is not equations:
            after = [*self._continuous]
            position = sum(int(np.prod(self.arguments[name])) for name in after[after.index(WEIGHED) :])
            self._weighed = equations, weighed(equations, inputs[len(inputs) - position])
        return self._weighed[1]


def weighed(equations: Equations, factor: Scalar) -> Equations:
    """Return equations with gravity times a factor, for bodies whose functions are not loops."""
    other = copy(equations)
    other.bodies = equations.bodies.weighed(factor)
    other.tree = None if equations.tree is None else weighed(equations.tree, factor)
    return other
