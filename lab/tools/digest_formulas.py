"""Group `formulas`: the fused formula of every catalogue function, and of derived functions, for about 120 systems."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from digest_internals import numbers_of_formula, reference_case

import appell as ap

CONSTRAINED = (  # of tests/references/constraints.json
    "fourbar-grashof",
    "floating-fourbar",
    "slider-crank",
    "spatial-slider-crank",
    "bricard",
    "delta-loops",
    "rod-leg",
    "andrews-squeezer",
    "chaplygin-sleigh",
    "rolling-disk",
    "ball-on-turntable",
    "mobile-manipulator",
    "snakeboard",
)
FORMULATIONS = (
    "gibbs-appell",
    "mata",
    "gibbs-appell-vector",
    "gibbs-appell-4x4",
    "shafei",
    "gibbs-gradient",
    "newton-euler",
    "walker-orin",
    "balafoutis-patel",
    "kane",
    "lagrange",
)
FORWARD = ("ldl", "cholesky", "gauss-jordan", "articulated-body", "articulated-body-base")
MOTION = ("inverse_dynamics", "forward_dynamics", "state_rate", "mass_matrix", "bias", "gravity", "regressor")
FRAMES = ("pose", "jacobian", "jacobian_rate", "velocity", "acceleration")
REFERENCES = ("LOCAL", "LOCAL_WORLD_ALIGNED", "WORLD")
NOT_OF_TREES = (  # refused for trees; random trees leave them out, the zoo stores the refusals
    "joint_motion",
    "survey",
    "tree_velocity",
    "tree_acceleration",
    "basis",
    "gap",
    "row_jacobian",
    "witness",
    "constrained_acceleration",
    "constraint_multipliers",
    "constraint_forces",
    "mobility",
    "independent_velocity",
    "row_rates",
)
RANDOM_TREES = 50
SMALL_JOINTS = 7  # joints up to which derivatives of inverse and forward dynamics are stored
ONE_AXIS: tuple[Callable[..., Any], ...] = (ap.Revolute, ap.Continuous, ap.Prismatic)
SEVERAL_AXES: tuple[Callable[[], Any], ...] = (ap.Spherical, ap.Planar, ap.Floating)

Entry = tuple[str, Callable[[], Any]]


def formula(function: Any) -> list[Any]:
    """Return what a function computes: the fused formula and, where that has loops, the tape without loops too."""
    parts = [list(numbers_of_formula(function.fused))]
    if hasattr(function.fused, "stages"):
        parts.append(list(numbers_of_formula(function.tape)))
    return parts


def cases() -> Iterator[Entry]:
    """Yield keys such as `zoo/puma/inverse_dynamics` and what computes the formula."""
    for name in ap.zoo_names():
        yield from of_system(f"zoo/{name}", ap.load(name))
    for name in ap.zoo_names():
        yield from of_drives(f"zoo/{name}", ap.load(name))
    for name in CONSTRAINED:
        yield from of_system(f"constrained/{name}", reference_case(name), derivatives=name == "fourbar-grashof")
    yield from prescribed()
    for seed in range(RANDOM_TREES):
        yield from of_random_tree(seed)
    yield from of_formulations()
    yield from of_options()
    yield from of_derived_functions()
    yield from of_loops()


def of_system(label: str, system: Any, derivatives: bool = True, skip: Iterable[str] = ()) -> Iterator[Entry]:
    """Yield the whole catalogue of a system: functions of motion, of one frame and derivatives of small systems."""
    dyn = ap.Dynamics(system)
    for name in catalogue(dyn):
        if name not in skip:
            yield f"{label}/{name}", lambda name=name: formula(getattr(dyn, name))
    frame = system.frame_names[-1]
    for name in FRAMES:
        yield f"{label}/{name}", lambda name=name: formula(getattr(dyn, name)(frame))
    for constraint in getattr(system, "constraints", ()):
        name = constraint.name or type(constraint).__name__
        yield f"{label}/constraint_wrench {name}", lambda name=name: formula(dyn.constraint_wrench(name))
    if derivatives and system.nv <= SMALL_JOINTS:
        for name in ("inverse_dynamics", "forward_dynamics"):
            yield f"{label}/{name} by q, v", lambda name=name: formula(getattr(dyn, name).jacobian("q", "v"))


def catalogue(dyn: Any) -> list[str]:
    """Return the names of the functions of a catalogue, sorted."""
    return sorted(dyn.functions)


def of_drives(label: str, system: Any) -> Iterator[Entry]:
    """Yield functions of motion with friction and rotors."""
    for options in ({"friction": True}, {"rotors": True}, {"friction": True, "rotors": True}):
        title = "+".join(options)
        dyn = ap.Dynamics(system, **options)
        for name in (*MOTION, "friction", "base_regressor"):
            yield f"{label}/{title}/{name}", lambda dyn=dyn, name=name: formula(getattr(dyn, name))


def prescribed() -> Iterator[Entry]:
    """Yield the catalogues of two robots with prescribed motions."""
    base = reference_case("five-bar")
    motor = ap.Prescribed(ap.Gear({base.tree.velocity_names[0]: 1.0}, base.start[0]), name="motor")
    driven = base.tree.with_loops(*base.constraints, motor, home=base.start)
    yield from of_system("prescribed/five-bar", driven)
    arm = ap.load("puma")
    drive = ap.Prescribed(ap.Gear({arm.velocity_names[1]: 1.0}, name="motor"))
    yield from of_system("prescribed/puma", arm.with_loops(drive))


def of_random_tree(seed: int) -> Iterator[Entry]:
    """Yield the catalogue of a random tree; every fifth one with drives too."""
    tree = random_tree(seed)
    yield from of_system(f"random/{seed:02d}", tree, skip=NOT_OF_TREES)
    if seed % 5 == 0:
        yield from of_drives(f"random/{seed:02d}", tree)


def of_formulations() -> Iterator[Entry]:
    """Yield functions of motion by every formulation, inertia matrix and solver."""
    for robot in ("puma", "tree10", "box", "four-bar"):
        for formulation in FORMULATIONS:
            for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
                yield f"formulation/{robot}/{formulation}/{name}", of_choice(robot, name, formulation)
        for forward in FORWARD:
            yield f"formulation/{robot}/{forward}", of_choice(robot, "forward_dynamics", None, forward=forward)
    for robot in ("agile-wrist", "delta"):
        for formulation in ("differentiated", "explicit"):
            for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics", "coriolis"):
                yield f"formulation/{robot}/{formulation}/{name}", of_choice(robot, name, formulation)


def of_choice(robot: str, name: str, formulation: str | None, **options: Any) -> Callable[[], Any]:
    return lambda: formula(getattr(ap.Dynamics(ap.load(robot), formulation, **options), name))


def of_options() -> Iterator[Entry]:
    """Yield functions with outer wrenches, free bodies and in all reference axes."""
    for robot in ("puma", "tree10", "four-bar", "delta"):
        system = ap.load(robot)
        frame, body = system.frame_names[-1], system.body_names[-1]
        for reference in REFERENCES:
            dyn = ap.Dynamics(system, wrenches=[frame], reference=reference)
            for name in ("inverse_dynamics", "forward_dynamics"):
                yield f"wrench/{robot}/{reference}/{name}", lambda dyn=dyn, name=name: formula(getattr(dyn, name))
            for name in FRAMES[1:]:
                yield (
                    f"frame/{robot}/{reference}/{name}",
                    lambda dyn=dyn, name=name, frame=frame, axes=reference: formula(getattr(dyn, name)(frame, axes)),
                )
        for name in (*MOTION, "energy", "momentum", "center_of_mass"):
            yield (
                f"free body/{robot}/{name}",
                lambda system=system, body=body, name=name: formula(getattr(ap.Dynamics(freed(system, body)), name)),
            )


def freed(system: Any, body: str) -> Any:
    """Return the system with the inertial parameters of one body as arguments."""
    if getattr(system, "constraints", ()):
        return replace(system, tree=replace(system.tree, free=frozenset({body})))
    return replace(system, free=frozenset({body}))


def of_derived_functions() -> Iterator[Entry]:
    """Yield derivatives and selections of functions."""
    for robot in ("puma", "five-bar", "four-bar", "random"):
        dyn = ap.Dynamics(random_tree(3) if robot == "random" else ap.load(robot))
        derived: dict[str, Callable[[Any], Any]] = {
            "inverse by a": lambda d: d.inverse_dynamics.jacobian("a"),
            "inverse pullback": lambda d: d.inverse_dynamics.pullback("q", "v", "a"),
            "inverse directional": lambda d: d.inverse_dynamics.directional("q", "v"),
            "inverse hessian": lambda d: d.inverse_dynamics.hessian("q", "v"),
            "forward by tau": lambda d: d.forward_dynamics.jacobian("tau"),
            "forward pullback": lambda d: d.forward_dynamics.pullback("q", "v", "tau"),
            "gibbs gradient": lambda d: d.gibbs_function.gradient("a"),
            "mass matrix by q": lambda d: d.mass_matrix.jacobian("q"),
            "regressor columns": lambda d: d.regressor.columns([0, 3]),
            "base regressor packed": lambda d: d.base_regressor.packed().function,
            "pose by q": lambda d: d.pose(d.system.frame_names[-1]).jacobian("q"),
        }
        for name, make in derived.items():
            yield f"derived/{robot}/{name}", lambda make=make, dyn=dyn: formula(make(dyn))


def of_loops() -> Iterator[Entry]:
    """Yield functions of long trees, which run as loops."""
    for links in (20, 45):
        dyn = ap.Dynamics(random_tree(1000 + links, links, chain=True))
        for name in sorted(set(dyn.looped) | {"inverse_dynamics"}):
            yield f"loops/chain of {links}/{name}", lambda dyn=dyn, name=name: formula(getattr(dyn, name))
    for robot in ("puma", "tree10", "box"):
        dyn = ap.Dynamics(ap.load(robot), looped=True)
        for name in ("inverse_dynamics", "forward_dynamics", "state_rate", "bias", "gravity", "energy"):
            yield f"loops/{robot}/{name}", lambda dyn=dyn, name=name: formula(getattr(dyn, name))


def random_tree(seed: int, links: int | None = None, chain: bool = False) -> Any:
    """Return a tree of 1 to 12 links with joints of all kinds; every second one stands on a floating base.

    The numbers come from sums, products and square roots of Python's generator alone. They are the same on every
    processor, and they do not change when the generators of the tests do. Every third tree has axes along coordinates.
    """
    draw = random.Random(seed).random

    def between(low: float, high: float) -> float:
        return low + (high - low) * draw()

    def pick(options: Any) -> Any:
        return options[int(draw() * len(options))]

    def vector(size: float) -> tuple[float, float, float]:
        return between(-size, size), between(-size, size), between(-size, size)

    def matter() -> dict[str, Any]:
        """Return a body of four point masses, so that it can exist."""
        points = [(between(0.1, 1.0), vector(0.3)) for _ in range(4)]
        mass = sum(weight for weight, _ in points)
        com = tuple(sum(weight * at[k] for weight, at in points) / mass for k in range(3))
        xx, yy, zz, xy, xz, yz = (
            sum(weight * (at[i] - com[i]) * (at[j] - com[j]) for weight, at in points)
            for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        )
        return {"mass": mass, "com": com, "inertia": (yy + zz, -xy, -xz, xx + zz, -yz, xx + yy)}

    def drive() -> Any:
        coulomb = between(0.0, 1.0)
        static = coulomb + between(0.0, 1.0) if draw() < 0.5 else None
        friction = ap.Friction(between(0.0, 2.0), coulomb, static, between(0.01, 1.0), between(0.01, 1.0))
        return ap.Actuator(between(1.0, 100.0), between(0.0, 1e-3), friction, between(-1.0, 1.0), 50.0, 2.0)

    count = links or 1 + int(draw() * 12)
    floating = seed % 2 == 1 and not chain
    made = ap.Builder(f"random{seed}", base="floating" if floating else "fixed", gravity=vector(8.0))
    if floating:
        made.root_body(**matter())
    names: list[str | None] = [None]
    leaders: list[str] = []
    for k in range(count):
        parent = names[-1] if chain else pick(names)
        axis = ((1, 0, 0), (0, 1, 0), (0, 0, 1))[int(draw() * 3)] if seed % 3 == 0 or draw() < 0.5 else vector(1.0)
        several = not chain and draw() < 0.25
        mimic, actuator = None, ap.Actuator()
        if several:
            joint = pick(SEVERAL_AXES)()
        else:
            joint = pick(ONE_AXIS[:1] if chain else ONE_AXIS)(axis)
            if leaders and not chain and draw() < 0.15:
                mimic = ap.Mimic(pick(leaders), between(-2.0, 2.0), between(-1.0, 1.0))
            else:
                leaders.append(f"joint{k}")
                actuator = drive()
        made.link(
            f"link{k}",
            joint,
            parent=parent,
            xyz=vector(0.5),
            rpy=vector(3.0),
            joint_name=f"joint{k}",
            mimic=mimic,
            actuator=actuator,
            **matter(),
        )
        names.append(f"link{k}")
    made.frame("tool", on=names[-1], xyz=vector(0.3), rpy=vector(3.0))
    return made.build()
