"""Group `runs`: fixed runs through the Python API, stored by the bytes of their columns and arrays.

Runs that give a record have two keys: the numbers with their column names, units and events, and `… (about)`, the
texts that the record carries, so that a change of one does not hide the other.
"""

from __future__ import annotations

import math
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from digest_internals import reference_case
from digests import masked

import appell as ap

Entry = tuple[str, Callable[[], Any]]
FLOOR = ap.Plane((0.0, 0.0, 1.0))


def cases() -> Iterator[Entry]:
    """Yield all runs."""
    for group in (simulations, rollouts, paths, kinematics, linear_systems, cabinets, identification, others):
        for name, compute in group().items():
            once = cache(compute)
            yield f"{group.__name__}/{name}", lambda once=once: plain(once())
            if group in (simulations, rollouts):
                yield f"{group.__name__}/{name} (about)", lambda once=once: once().about


def plain(value: Any) -> Any:
    """Return a result as numbers, texts, arrays and containers of them."""
    if isinstance(value, ap.Record):
        units = dict(sorted(value.units.items()))
        between = value(np.linspace(value.t[0], value.t[-1], 11)) if value.between is not None else ()
        return [value.columns, value.data, units, [plain(event.plain()) for event in value.events], plain(between)]
    if isinstance(value, ap.Records):
        units = dict(sorted(value.units.items()))
        return [value.t, plain(dict(value.blocks)), plain(dict(value.titles)), units, value.cost]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    return masked(value) if isinstance(value, str) else value


# ---- systems and inputs


def friction_robot(name: str) -> Any:
    """Return a robot of the zoo with drives that have rotors and smooth friction."""
    friction = ap.Friction(viscous=0.8, coulomb=1.0, width=0.05)
    return ap.load(name).with_actuators(lambda *_: ap.Actuator(60.0, 2e-4, friction))


def dry_robot(coulomb: float = 1.0) -> Any:
    """Return the planar arm in a vertical plane with dry friction in its joints."""
    robot = ap.load("planar-2r").with_gravity((0.0, -9.81, 0.0))
    friction = ap.Friction(viscous=0.1, coulomb=coulomb, static=1.2 * coulomb, stribeck=0.1)
    return robot.with_actuators(lambda *_: ap.Actuator(friction=friction))


def stopped_pendulum() -> Any:
    """Return the pendulum with limits that it falls onto."""
    robot = ap.load("pendulum")
    [link] = robot.links
    return replace(robot, links=(replace(link, joint=replace(link.joint, limits=ap.Limits(-0.2, 2.0))),))


def motor_robot() -> Any:
    """Return the planar arm with a prescribed motion of its first joint."""
    tree = ap.load("planar-2r").with_gravity((0.0, -9.81, 0.0))
    return tree.with_loops(ap.Prescribed(ap.Gear({tree.velocity_names[0]: 1.0}, name="motor")))


def motor(t: float) -> tuple[float, float, float]:
    return 0.5 * math.sin(3.0 * t), 1.5 * math.cos(3.0 * t), -4.5 * math.sin(3.0 * t)


def box_on_corners() -> Any:
    """Return a box that flies, with its four lower corners as points."""
    builder = ap.Builder("box", base="floating", root="body")
    builder.root_body(2.0, (0.0, 0.0, 0.0), (0.05, 0.04, 0.06))
    for k, (x, y) in enumerate([(-0.2, -0.3), (-0.2, 0.3), (0.2, -0.3), (0.2, 0.3)]):
        builder.frame(f"c{k}", on="body", xyz=(x, y, -0.1))
    return builder.build()


def rods(count: int = 4, length: float = 0.2, mass: float = 0.1) -> Any:
    """Return rods in a row on a floating base, hinged about y."""
    builder = ap.Builder("rods", base="floating", root="rod1")
    matter = {"mass": mass, "com": (length / 2, 0.0, 0.0), "inertia": (1e-5, 3.4e-4, 3.4e-4)}
    builder.root_body(**matter)
    builder.frame("tail", on="rod1", xyz=(0.0, 0.0, 0.0))
    for k in range(2, count + 1):
        builder.link(f"rod{k}", ap.Revolute((0, 1, 0)), parent=f"rod{k - 1}", xyz=(length, 0.0, 0.0), **matter)
    builder.frame("tip", on=f"rod{count}", xyz=(length, 0.0, 0.0))
    return builder.build()


def rods_start() -> list[float]:
    return [0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 1.0, 0.3, -0.5, 0.2]


BOX_START = (0.0, 0.0, 0.25, 0.1, 0.05, 0.02, 0.99)
BOX_VELOCITY = (0.4, 0.1, 0.0, 0.3, -0.2, 0.5)


def corners(**options: Any) -> Any:
    return ap.Contact(["c0", "c1", "c2", "c3"], FLOOR, **options)


def spring(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return -5.0 * np.asarray(q) - 1.0 * np.asarray(v) + math.sin(t)


# ---- simulate


def simulations() -> dict[str, Callable[[], Any]]:
    """Return motions by `ap.simulate`."""
    run = ap.simulate

    def dynamics(name: str, **options: Any) -> Any:
        return ap.Dynamics(ap.load(name), **options)

    made: dict[str, Callable[[], Any]] = {
        "pendulum": lambda: run(dynamics("pendulum"), [1.0], until=1.0),
        "puma bare": lambda: run(dynamics("puma"), until=0.3),
        "puma with drives": lambda: run(dynamics("puma", friction=True, rotors=True), until=0.3),
        "puma as a robot": lambda: run(ap.load("puma"), until=0.2),
        "panda at wanted times": lambda: run(dynamics("panda"), until=0.2, t_eval=np.linspace(0.0, 0.2, 21)),
        "tree10 in a circle": lambda: run(
            dynamics("tree10"), until=0.7, contacts=ap.Contact("all", ap.Circle(2.5), 0.8, friction=0.0)
        ),
        "box on a floor with friction": lambda: run(
            box_on_corners(), BOX_START, BOX_VELOCITY, 0.8, contacts=corners(restitution=0.3, friction=0.5)
        ),
        "box on a floor without bounce": lambda: run(
            box_on_corners(), BOX_START, BOX_VELOCITY, 0.6, contacts=corners(restitution=0.0, friction=0.2)
        ),
        "box in a sphere": lambda: run(
            box_on_corners(),
            BOX_START,
            BOX_VELOCITY,
            0.8,
            contacts=ap.Contact("all", ap.Sphere(0.9), 0.7, friction=0.0),
        ),
        "box in a cylinder": lambda: run(
            box_on_corners(),
            BOX_START,
            BOX_VELOCITY,
            0.6,
            contacts=ap.Contact("all", ap.Cylinder(0.5), 0.7, friction=0.0),
        ),
        "box on an implicit wall": lambda: run(
            box_on_corners(),
            BOX_START,
            BOX_VELOCITY,
            0.5,
            contacts=ap.Contact("all", ap.Implicit(lambda x, y, z: z - 0.1 * ap.sin(3.0 * x)), 0.5, friction=0.0),
        ),
        "floor for a while": lambda: run(
            box_on_corners(),
            BOX_START,
            BOX_VELOCITY,
            0.5,
            contacts=corners(restitution=0.5, friction=0.0, during=(0.0, 0.25)),
        ),
        "pendulum on a stop": lambda: run(stopped_pendulum(), [1.5], until=1.5, stops=0.4),
        "dry friction": lambda: run(dry_robot(), [0.2, 0.1], [1.0, -2.0], 0.8),
        "dry friction that holds": lambda: run(dry_robot(60.0), [0.2, 0.1], [0.5, 0.0], 0.5),
        "torque of the state": lambda: run(dynamics("planar-2r"), [0.3, 0.2], until=0.5, torque=spring),
        "sampled torque": lambda: run(dynamics("planar-2r"), [0.3, 0.2], until=0.3, torque=ap.Sampled(spring, 0.01)),
        "saturated torque": lambda: run(
            dynamics("panda"), until=0.1, torque=[200.0, -200.0, 0.0, 0.0, 0.0, 30.0, 0.0], saturate=True
        ),
        "stop condition": lambda: run(
            dynamics("pendulum"), [1.0], until=2.0, stop={"bottom": lambda t, q, v: float(q[0])}
        ),
        "wrench": lambda: run(
            dynamics("puma", wrenches=["link6"], reference="LOCAL_WORLD_ALIGNED"),
            until=0.2,
            wrenches={"link6": lambda t, q, v: [0.0, 0.0, 20.0 * math.sin(10.0 * t), 0.0, 0.0, 0.0]},
        ),
        "four-bar": lambda: run(dynamics("four-bar"), v0=[2.0], until=0.5),
        "four-bar on a wall": lambda: run(
            dynamics("four-bar"),
            v0=[4.0],
            until=0.4,
            contacts=ap.Contact("all", ap.Plane((1.0, 0.0, 0.0), 0.2), 0.5, friction=0.0),
        ),
        "four-bar on a rough wall": lambda: run(
            dynamics("four-bar"),
            v0=[4.0],
            until=0.4,
            contacts=ap.Contact(["rocker tip"], ap.Plane((1.0, 0.0, 0.0), 0.7), 0.0, 0.3),
        ),
        "chain on a rough floor": lambda: run(
            ap.Dynamics(rods()), rods_start(), until=0.7, contacts=ap.Contact("all", FLOOR, 0.3, 0.3)
        ),
        "bicycle": lambda: run(dynamics("whipple-bicycle"), v0=[0.1, 0.0, 4.0], until=0.4),
        "differential drive": lambda: run(dynamics("differential-drive"), until=0.5, torque=[0.4, 0.1]),
        "bricard": lambda: run(ap.Dynamics(reference_case("bricard")), v0=[0.5], until=0.3),
        "snakeboard": lambda: run(ap.Dynamics(reference_case("snakeboard")), until=0.3),
        "prescribed motor": lambda: run(
            ap.Dynamics(motor_robot()), [0.0, 0.4], [0.3], 0.4, prescribed={"motor": motor}
        ),
        "projected start": lambda: run(dynamics("four-bar"), ap.load("four-bar").start + 0.01, until=0.2, project=True),
        "five-bar": lambda: run(dynamics("five-bar"), until=0.2, torque=[0.2, -0.1]),
        "delta": lambda: run(dynamics("delta"), until=0.1),
        "agile-wrist": lambda: run(dynamics("agile-wrist"), until=0.2),
        "stewart-gough": lambda: run(dynamics("stewart-gough"), until=0.1),
        "start inside a wall": lambda: run(box_on_corners(), contacts=corners()),
    }
    for method in ("RK45", "RK23", "Radau", "BDF", "LSODA"):
        made[f"planar-2r by {method}"] = lambda method=method: run(
            dynamics("planar-2r"), [0.3, 0.2], [1.0, 0.0], 0.3, spring, solver=ap.Solver(method, rtol=1e-6, atol=1e-8)
        )
    return made


# ---- rollout


def rollouts() -> dict[str, Callable[[], Any]]:
    """Return motions by `ap.rollout`, each of a few members."""
    run = ap.rollout
    draw = np.random.default_rng(5)
    starts = ap.load("puma").start + 0.1 * draw.normal(size=(5, 6))
    drops = np.array(BOX_START) + np.outer(np.arange(3), [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
    made: dict[str, Callable[[], Any]] = {}
    for method in ("rk4", "euler", "midpoint", "moreau"):
        made[f"puma by {method}"] = lambda method=method: run(
            ap.Dynamics(friction_robot("puma"), friction=True, rotors=True),
            starts,
            steps=60,
            dt=1e-3,
            method=method,
            output=ap.simulation.Output(energy=True),
        )
        made[f"box on a floor by {method}"] = lambda method=method: run(
            ap.Dynamics(box_on_corners()),
            drops,
            BOX_VELOCITY,
            steps=400,
            dt=1e-3,
            method=method,
            contacts=corners(restitution=0.2, friction=0.4),
            output=ap.simulation.Output(every=10),
            check=False,
        )
        made[f"pendulum on a stop by {method}"] = lambda method=method: run(
            ap.Dynamics(stopped_pendulum()),
            [[1.5], [1.0]],
            steps=800,
            dt=1e-3,
            method=method,
            stops=0.0,
            output=ap.simulation.Output(every=20),
        )
    for method in ("rk4", "euler", "midpoint"):
        made[f"four-bar by {method}"] = lambda method=method: run(
            ap.Dynamics(ap.load("four-bar")), v0=[[1.0], [2.0]], steps=100, dt=1e-3, method=method
        )
        made[f"prescribed motor by {method}"] = lambda method=method: run(
            ap.Dynamics(motor_robot()), [0.0, 0.4], [0.3], None, 80, 5e-3, method=method, prescribed={"motor": motor}
        )

    def law(t: Any, q: Any, v: Any) -> list[Any]:
        return [-5.0 * x - 1.0 * y + ap.sin(t) for x, y in zip(q, v, strict=True)]

    def remembering(t: Any, q: Any, v: Any, memory: Any) -> tuple[list[Any], list[Any]]:
        tau = [-5.0 * x - 1.0 * y - m for x, y, m in zip(q, v, memory, strict=True)]
        return tau, [m + 0.01 * x for m, x in zip(memory, q, strict=True)]

    planar = ap.Dynamics(ap.load("planar-2r"))
    made |= {
        "law": lambda: run(planar, [[0.3, 0.2], [0.1, 0.4]], steps=100, law=law),
        "law with a period": lambda: run(planar, [0.3, 0.2], steps=100, law=ap.simulation.Feedback(law, period=5e-3)),
        "law with memory": lambda: run(
            planar, [0.3, 0.2], steps=100, law=ap.simulation.Feedback(remembering, memory=[0.0, 0.0])
        ),
        "cost": lambda: run(
            planar,
            [0.3, 0.2],
            steps=100,
            law=law,
            cost=lambda t, q, v, tau: q[0] * q[0] + tau[1] * tau[1],
            final_cost=lambda q, v: v[0] * v[0],
        ),
        "payloads": lambda: run(
            ap.Dynamics(ap.load("puma").with_free("link6")),
            steps=40,
            parameters=[ap.load("puma").link("link6").body.parameters] * 2,
        ),
        "wrench": lambda: run(
            ap.Dynamics(ap.load("puma"), wrenches=["link6"]),
            steps=40,
            wrenches={"link6": [0.0, 0.0, 20.0, 0.0, 0.0, 0.1]},
        ),
        "torques by member and step": lambda: run(
            planar, torque=np.random.default_rng(1).normal(size=(3, 50, 2)), steps=50, saturate=True
        ),
        "single precision": lambda: run(
            ap.Dynamics(ap.load("puma")), starts, steps=40, output=ap.simulation.Output(dtype=np.float32)
        ),
        "two threads": lambda: run(ap.Dynamics(ap.load("puma")), starts, steps=40, threads=2),
        "delta": lambda: run(ap.Dynamics(ap.load("delta")), steps=40, dt=5e-4),
        "regulator": lambda: run(
            ap.Dynamics(ap.load("pendulum")), [[0.1], [0.2]], steps=200, law=pendulum_regulator(), reference=None
        ),
        "computed torque": lambda: run(
            ap.Dynamics(friction_robot("planar-2r"), friction=True, rotors=True),
            [0.1, 0.1],
            steps=200,
            law=ap.control.Design(ap.load("planar-2r"), ap.control.critical(20.0, 1e-3)),
            reference=ap.motion.Ramp([0.0, 0.0], [0.3, -0.2], 1.0, 4.0, names=ap.load("planar-2r").coordinate_names),
        ),
    }
    return made


def pendulum_regulator() -> Any:
    linear = ap.control.linearize(ap.load("pendulum"), [0.0])
    return ap.control.lqr(linear, [10.0, 1.0])


# ---- paths


def paths() -> dict[str, Callable[[], Any]]:
    """Return samples of paths, and time-optimal motions."""
    puma = ap.load("puma")
    effort = np.array([60.0, 100.0, 40.0, 3.0, 2.0, 1.0])

    def ramp() -> Any:
        return ap.motion.Ramp(puma.start, puma.start + 0.5, 1.0, 3.0, names=puma.coordinate_names)

    def spline(degree: int = 3) -> Any:
        points = np.random.default_rng(0).uniform(-1.5, 1.5, (6, 6))
        return ap.motion.Spline(np.arange(6.0), points, degree, names=puma.coordinate_names)

    def line() -> Any:
        return ap.motion.CartesianLine(
            puma, "tool", [0.6, 0.175, 0.25], [0.018, 0.757, 0.0], ap.motion.zyz(45, 60, 90), 8.6, (1, 1, 1)
        )

    def fourier() -> Any:
        draw = np.random.default_rng(2)
        return ap.motion.Fourier(0.2, draw.normal(size=(3, 6)), draw.normal(size=(3, 6)), puma.start)

    def fastest(path: Any, **limits: Any) -> Any:
        return ap.motion.time_optimal(path, puma, intervals=200, **limits).record(101)

    return {
        "ramp": lambda: ramp().record(101),
        "cubic spline": lambda: spline().record(101),
        "quintic spline": lambda: spline(5).record(101),
        "line": lambda: line().record(51),
        "fourier": lambda: fourier().record(101),
        "time-optimal ramp": lambda: fastest(ramp(), velocity=2.0, acceleration=5.0),
        "time-optimal spline": lambda: fastest(spline(), torque=effort, velocity=3.0),
        "time-optimal line": lambda: fastest(line(), torque=10.0 * effort, velocity=3.0, acceleration=20.0),
        "time-optimal five-bar": lambda: ap.motion.time_optimal(
            ap.motion.Ramp(
                ap.load("five-bar").start,
                ap.load("five-bar").start + 0.03,
                1.0,
                3.0,
                names=ap.load("five-bar").coordinate_names,
            ),
            ap.load("five-bar"),
            torque=5.0,
            velocity=2.0,
            intervals=100,
        ).record(51),
        "path of a record": lambda: ramp().record(21).path().record(101),
    }


# ---- kinematics


def kinematics() -> dict[str, Callable[[], Any]]:
    """Return inverse kinematics, assembly and maps of mechanisms."""
    motion = ap.motion
    puma, panda = ap.load("puma"), ap.load("panda")
    configurations = puma.start + 0.4 * np.random.default_rng(3).normal(size=(8, 6))
    five_bar = ap.Dynamics(ap.load("five-bar"))
    four_bar = reference_case("fourbar-grashof")

    def inverse() -> Any:
        targets = ap.Dynamics(panda).pose(panda.frame_names[-1])(
            panda.start + 0.2 * np.random.default_rng(4).normal(size=(6, 7))
        )
        return ap.kinematics.inverse.numerical(panda, panda.frame_names[-1])(targets)

    def lifted() -> Any:
        path = motion.Ramp([0.0], [0.8], 1.0, 2.0, names=["crank"])
        start = np.array([0.0, *four_bar.start[1:]])
        return motion.lift(four_bar, path, 51, q0=ap.kinematics.assemble(four_bar, start, hold="crank"))

    def map_of_five_bar() -> Any:
        system = five_bar.system
        names = system.coordinate_names
        axes = {name: np.linspace(x - 0.1, x + 0.1, 7) for name, x in zip(names, system.start, strict=True)}
        workspace = ap.kinematics.workspace(five_bar, axes)
        return [workspace.names, plain(workspace.values), workspace.margin, workspace.condition]

    return {
        "spherical wrist": lambda: ap.kinematics.inverse.spherical_wrist(puma)(
            ap.Dynamics(puma).pose("tool")(configurations)
        ),
        "numerical": inverse,
        "assemble four-bar": lambda: ap.kinematics.assemble(four_bar, four_bar.start + 0.1, hold="crank"),
        "assemble delta": lambda: ap.kinematics.assemble(
            reference_case("delta-loops"), reference_case("delta-loops").start
        ),
        "assemblies": lambda: ap.kinematics.assemblies(four_bar, hold=["crank"], tries=20),
        "lift": lifted,
        "mobility": lambda: ap.kinematics.mobility(reference_case("bricard")),
        "singularity": lambda: ap.kinematics.singularity(four_bar),
        "project velocity": lambda: ap.kinematics.project_velocity(four_bar, four_bar.start, [1.0, 0.5, 0.0]),
        "equilibrium": lambda: ap.kinematics.equilibrium(ap.load("pendulum"), [0.3], [0.5]),
        "equilibrium of a loop": lambda: ap.kinematics.equilibrium(ap.load("four-bar")),
        "forward kinematics": lambda: ap.kinematics.forward_kinematics(
            five_bar, five_bar.actuator_positions(five_bar.system.start) + np.array([0.05, -0.02])
        ),
        "condition": lambda: ap.kinematics.condition(five_bar, five_bar.system.start),
        "workspace": map_of_five_bar,
    }


# ---- control


def linear_systems() -> dict[str, Callable[[], Any]]:
    """Return linear systems, regulators and controllers without hardware."""
    control = ap.control
    puma = ap.load("puma")

    def matrices(linear: Any) -> Any:
        return [linear.A, linear.B, linear.states, linear.inputs, linear.period, linear.poles, linear.cyclic]

    def controlled(law: str) -> Any:
        robot = friction_robot("planar-2r")
        gains = control.critical(20.0, 1e-3, integral=control.LAWS[law].integral)
        controller = control.Controller(control.Design(robot, gains, law=law))
        plant = ap.hardware.Plant(robot)
        path = ap.motion.Ramp(robot.start, robot.start + 0.2, 1.0, 4.0, names=robot.coordinate_names)
        response = ap.hardware.closed_loop(controller, plant, ap.hardware.Reference.sampled(path, 1e-3), 0.05)
        return {part.name: getattr(response, part.name) for part in fields(response)}

    def closed() -> Any:
        design = control.Design(puma, control.critical(20.0, 1e-3, integral=True), law="tracking-integral")
        return matrices(control.linearize_closed_loop(control.Controller(design), puma, puma.start))

    made: dict[str, Callable[[], Any]] = {
        "puma": lambda: matrices(control.linearize(puma, puma.start)),
        "five-bar": lambda: matrices(control.linearize(ap.load("five-bar"), ap.load("five-bar").start)),
        "four-bar": lambda: matrices(control.linearize(ap.load("four-bar"), ap.load("four-bar").start)),
        "bicycle": lambda: matrices(
            control.linearize(ap.load("whipple-bicycle"), ap.load("whipple-bicycle").start, [0.0, 0.0, 4.0], [0.0])
        ),
        "lqr": lambda: [pendulum_regulator().K, pendulum_regulator().poles],
        "closed loop": closed,
        "placed gains": lambda: plain(control.placed([-5.0, -6.0, -7.0], 1e-3)),
    }
    for law in sorted(name for name, law in control.LAWS.items() if isinstance(law, control.Law)):
        made[f"response by {law}"] = lambda law=law: controlled(law)
    return made


class Swing:
    """All coordinates out and back from rest: one period of a cosine in one second."""

    duration = 1.0

    def __init__(self, start: Any, size: float, names: Any):
        self.start, self.size, self.names = np.asarray(start, float), size, tuple(names)

    def __call__(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rate, half = 2.0 * np.pi, 0.5 * self.size * np.ones(len(self.start))
        phase = rate * np.asarray(t, float)[..., None]
        return self.start + half * (1.0 - np.cos(phase)), half * rate * np.sin(phase), half * rate**2 * np.cos(phase)


def cabinets() -> dict[str, Callable[[], Any]]:
    """Return tasks on the simulated cabinet, with and without faults."""

    def task(name: str, size: float, seed: int = 1, faults: Any = None, calibrate: bool = False, **options: Any) -> Any:
        system = ap.load(name)
        clock = ap.hardware.VirtualClock(lateness=None if faults is None else faults.lateness(1e-3))
        cabinet = ap.hardware.standard_cabinet(system, clock, seed=seed, faults=faults)
        servo = ap.hardware.standard_servo(system, cabinet.info, **options)
        with tempfile.TemporaryDirectory() as folder:
            loop = ap.hardware.Loop(cabinet, servo, clock, log=Path(folder) / "run.log")
            try:
                outcome = ap.hardware.run_task(
                    loop,
                    lambda q: ap.hardware.Reference.sampled(Swing(q, size, system.coordinate_names), loop.period),
                    calibrate,
                )
            finally:
                loop.close()
            record = ap.Record.read(Path(folder) / "run.log")
            return [outcome.finished, outcome.state.name, outcome.sentence, outcome.ticks, plain(record)]

    def rig() -> Any:
        system = friction_robot("planar-2r")
        path = ap.motion.Ramp(system.start, system.start + 0.4, 1.0, 4.0, names=system.coordinate_names)
        recording = ap.hardware.Rig(system).record(path, 3)
        return [plain(recording.record), plain(recording.truth)]

    def fault(kind: str) -> Any:
        return lambda: task("puma", 0.2, faults=ap.hardware.Faults([ap.hardware.Injection(kind, 0.3)]))

    return {
        "puma": lambda: task("puma", 0.3),
        "puma with index search": lambda: task("puma", 0.1, calibrate=True),
        "five-bar": lambda: task("five-bar", 0.02),
        "pendulum": lambda: task("pendulum", 0.3, law="tracking"),
        "encoder loss": fault("encoder-loss"),
        "unknown fault": fault("no such fault"),
        "rig": rig,
    }


# ---- identification


def identification() -> dict[str, Callable[[], Any]]:
    """Return excitation, base parameters, all estimators and the verdict."""
    identify = ap.identify

    @cache
    def samples() -> Any:
        wanted = identify.select_parameters(ap.load("puma"), friction=True, width=0.1)
        draw = np.random.default_rng(0)
        truth = wanted.nominal.copy()
        truth[60:] = draw.uniform(0.2, 2.0, len(truth) - 60)
        q, v, a = wanted.sample(400, draw)
        tau = wanted.regressor(q, v, a) @ truth
        return wanted, (q, v, a, tau + 0.5 * draw.normal(size=tau.shape))

    def fitted(kind: str, **options: Any) -> Any:
        wanted, motion = samples()
        fit = getattr(identify, kind)(wanted, **options).fit(*motion)
        return [fit.base_parameters_, fit.parameters_, fit.score(*motion)]

    @cache
    def recorded() -> Any:
        robot = friction_robot("planar-2r")
        path = identify.excite(robot, friction=True, duration=3.0, harmonics=3, starts=1, iterations=5).path
        return robot, identify.process(ap.hardware.recorded(robot, path, seed=2), hold=True, band=10.0)

    def judged() -> Any:
        robot, data = recorded()
        wanted = identify.select_parameters(robot, friction=True)
        first, last = identify.split(data)
        fit = identify.LeastSquares(wanted).fit_record(first)
        verdict = identify.judge(fit, last)
        return [fit.base_parameters_, verdict.predicted, masked(verdict.to_markdown())]

    def described() -> str:
        robot, data = recorded()
        fit = identify.PhysicallyConsistent(identify.select_parameters(robot, friction=True)).fit_record(data)
        return masked(ap.to_toml(identify.identified_system(fit, negative="zero")))

    def excited(name: str, **options: Any) -> Any:
        plan = identify.excite(ap.load(name), duration=3.0, harmonics=3, starts=1, iterations=8, seed=4, **options)
        return [plan.condition, plain(plan.path.record(51))]

    def payload() -> Any:
        q, v, a = identify.select_parameters(ap.load("puma")).sample(200, np.random.default_rng(1))
        fit = identify.Payload(ap.load("puma"), body="link6").fit(
            q, v, a, ap.Dynamics(ap.load("puma")).inverse_dynamics(q, v, a)
        )
        return [fit.mass_, fit.parameters_]

    return {
        "base parameters of puma": lambda: base(identify.base_parameters(ap.load("puma"))),
        "base parameters of five-bar": lambda: base(identify.base_parameters(ap.load("five-bar"), friction=True)),
        "excite planar-2r": lambda: excited("planar-2r", velocity=2.0, friction=True),
        "excite five-bar": lambda: excited("five-bar", velocity=1.0),
        "excite by logdet": lambda: excited("planar-2r", velocity=2.0, criterion="logdet"),
        "least squares": lambda: fitted("LeastSquares"),
        "least squares by svd": lambda: fitted("LeastSquares", solver="svd"),
        "least squares by pinv": lambda: fitted("LeastSquares", solver="pinv", weighting=None),
        "ridge": lambda: fitted("Ridge"),
        "huber": lambda: fitted("Robust"),
        "tukey": lambda: fitted("Robust", loss="tukey"),
        "total": lambda: fitted("TotalLeastSquares"),
        "consistent": lambda: fitted("PhysicallyConsistent"),
        "described": lambda: fitted("Described"),
        "payload": payload,
        "recorded and judged": judged,
        "identified robot": described,
    }


def base(parameters: Any) -> Any:
    return [
        parameters.columns,
        parameters.matrix,
        parameters.rank,
        parameters.structural,
        masked(str(parameters.describe())),
    ]


# ---- sweeps, learning, files


def study(mass: float, speed: float, seed: int) -> dict[str, Any]:
    """Return a short run of the pendulum."""
    noise = float(np.random.default_rng(seed).normal())
    record = ap.simulate(ap.Dynamics(ap.load("pendulum")), [0.1 * mass], [speed], 0.1)
    return {"end": record.q[-1], "energy": record["energy"][-1], "noise": noise}


def failing(x: float) -> dict[str, float]:
    """Fail for every third job."""
    if x % 3 == 1:
        raise ValueError(f"x is {x}")
    return {"y": 2.0 * x}


def others() -> dict[str, Callable[[], Any]]:
    """Return sweeps, an environment for learning, files of robots and an FMU."""

    def swept(work: Callable[..., Any], table: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            results = ap.sweep(work, table, Path(folder) / "study.zarr", seed=3)
            failures = [(failure.number, failure.error) for failure in results.failures]
            return [{name: np.asarray(results[name]) for name in sorted(results)}, np.asarray(results.done), failures]

    def environment() -> Any:
        env = ap.gym_env(
            ap.load("pendulum"),
            lambda t, q, v, tau: -q[0] * q[0],
            actuators=ap.load("pendulum").actuator_names,
            action_limits=(-1.0, 1.0),
            horizon=5,
        )
        seen = [env.reset(seed=1)[0]]
        for k in range(5):
            seen.append(env.step(np.array([0.1 * k]))[:4])
        return plain(seen)

    def fmu() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = ap.to_fmu(ap.load("planar-2r"), Path(folder) / "arm.fmu")
            with zipfile.ZipFile(path) as archive:
                return {name: masked(archive.read(name).decode()) for name in sorted(archive.namelist())}

    def written(name: str, kind: str) -> Any:
        return lambda: masked(getattr(ap, f"to_{kind}")(ap.load(name)))

    made: dict[str, Callable[[], Any]] = {
        "sweep over a grid": lambda: swept(study, ap.grid(mass=[1.0, 2.0], speed=[0.0, 0.5, 1.0])),
        "sweep with failures": lambda: swept(failing, {"x": np.arange(7.0)}),
        "environment": environment,
        "fmu": fmu,
    }
    for kind in ("toml", "urdf", "mjcf"):
        for name in ("puma", "tree10", "four-bar", "delta"):
            made[f"{name} as {kind}"] = written(name, kind)
    return made
