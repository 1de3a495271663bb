"""`appell optimize ROBOT --to GOAL`: compute the motion of least effort or least time to a configuration or a pose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import appell as ap
from appell.cli import options
from appell.cli.input import (
    PICTURES,
    RECORDS,
    check_target,
    configuration_if_given,
    margin_of,
    numbers,
    pairs,
    read_system,
    warnings_printed,
    with_floor,
)
from appell.cli.options import OUTPUT, SIMULATE, SOLVER, START, new_app, option
from appell.cli.output import Printer, table, verdict
from appell.errors import ArgumentError, check_number, unknown_name
from appell.progress import Bar

if TYPE_CHECKING:
    from appell.model.system import System

CRITERION_NAMES = ("effort", "time")
SLOWNESS = 3.0  # default duration, relative to a motion at full speed
MIN_DURATION_S = 0.5
MARGIN = 0.02  # distance of a default start from a limit, relative to the range
FREE_DURATION = (0.05, 4.0)  # bounds of the duration for least time, relative to the default
MAX_TORQUE_RATIO = 30.0  # limits of torque above this multiple of the torque that holds the robot do not set the effort
EFFORT_SHARE = 1e-2  # weight of the effort in the least time: all torques at their limits count this much per s

app = new_app()


@app.command(
    rich_help_panel=SIMULATE,
    epilog="Example: [bold]appell optimize panda --to tool:0.4,0.3,0.5 --least time --plot motion.png[/].",
)
def optimize(
    robot: options.RobotName,
    to: Annotated[
        str,
        option(
            "Goal, at rest: a configuration in rad or m, all coordinates (0,0.5,1) or some joints (elbow=0.5); or a "
            "frame with its position in m and optionally its roll, pitch and yaw in rad (tool:0.4,0.3,0.5,0,3.14,0).",
            START,
        ),
    ],
    q: Annotated[
        str,
        option(
            "Initial configuration as in --to; by default the home configuration, moved into the limits.",
            START,
        ),
    ] = "",
    least: Annotated[str, option("What is minimal: effort (squares of relative torques) or time.", SOLVER)] = "effort",
    duration: Annotated[
        float | None,
        option("Duration in s, for least effort; by default three times that at full speed, at least 0.5 s.", SOLVER),
    ] = None,
    steps: Annotated[int, option("Number of steps.", SOLVER)] = 100,
    iterations: Annotated[int, option("Largest number of iterations.", SOLVER)] = 300,
    tolerance: Annotated[float, option("KKT residual of a solution.", SOLVER)] = 1e-8,
    no_limits: Annotated[
        bool, option("Ignore limits of torques, speeds and positions of the robot.", SOLVER, "--no-limits")
    ] = False,
    margin: options.Margin = "none",
    floor: options.Floor = None,
    friction: Annotated[bool, option("Include viscous friction.", options.MODEL, "--friction")] = False,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    output: options.Output = None,
    plot: options.Plot = None,
    view: Annotated[bool, option("Show the motion in the browser until Ctrl-C.", OUTPUT, "--view")] = False,
    port: options.Port = 0,
    no_browser: options.NoBrowser = False,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Compute the motion of least effort or least time from rest to rest, within the limits of the robot.

    The model has the rotors, but not the friction of the robot, unless --friction is given; dry friction is left out.
    """
    for path, endings in ((output, RECORDS), (plot, PICTURES)):
        check_target(path, force, endings)
    if least not in CRITERION_NAMES:
        raise ArgumentError(unknown_name("--least", least, CRITERION_NAMES, "appell optimize"))
    system = with_floor(read_system(robot, base, physical), floor)
    start = inner_start(system) if not q else np.asarray(configuration_if_given(q, system), float)
    from appell.control.friction_parts import smooth

    dyn = smooth(system) if friction else ap.Dynamics(system, rotors=True)
    given = reaching(dyn, start, to, least, duration, steps, not no_limits, margin_of(margin))
    with Bar(f"optimize {system.name}, {steps} steps", delay=0.0), warnings_printed():
        motion: Any = ap.optimize(
            dyn,
            start,
            steps=steps,
            iterations=iterations,
            tolerance=tolerance,
            progress=False,
            **given,
        )
    out, data = Printer(json), _summary(motion, system, least)
    out.answer(data, *_shown(data))
    if omitted := _without_friction(system, friction):
        hint = "" if friction else " --friction includes viscous friction."
        out.say(f"Left out: {'dry ' * friction}friction of {', '.join(omitted)}; the robot needs larger torques.{hint}")
    out.files(motion, output, plot)
    if view:
        out.page(motion.view(port=port, open_browser=not no_browser, wait=False))
    if not motion.solved:
        raise typer.Exit(1)


def _without_friction(system: System, viscous: bool) -> list[str]:
    """Return the drives with friction that the model leaves out."""
    kinds = ("coulomb", "static") if viscous else ("viscous", "coulomb", "static")
    return [name for name, drive in system.drives.items() if any(getattr(drive.friction, kind) for kind in kinds)]


def inner_start(system: System) -> np.ndarray:
    """Return the home configuration, moved by at least a part of the range inside the limits if it is outside."""
    start, (low, high) = np.asarray(system.start, float), (system.limits.lower, system.limits.upper)
    margin = np.where(np.isfinite(high - low), MARGIN * (high - low), 0.0)
    outside = (start < low) | (start > high)
    return np.where(outside, np.clip(start, low + margin, high - margin), start)


def reaching(
    dyn: ap.Dynamics,
    start: np.ndarray,
    to: str,
    least: str,
    duration: float | None,
    steps: int,
    limited: bool,
    margin: float | None = None,
) -> dict[str, Any]:
    """Return the arguments of `ap.optimize` for a motion from rest at `start` to rest at a goal, as text."""
    system = dyn.system
    goal, meet = _goal(dyn, start, to)
    limit, usual_torque = system.limits.torque, _usual_torques(dyn, start)
    # a limit far above all torques of the motion would make the cost too small beside the tolerance
    weights = 1.0 / np.where(limit < MAX_TORQUE_RATIO * usual_torque, limit, usual_torque)

    def effort(t, q, v, tau):
        return ap.square(tau * weights)

    speed = np.where(np.isfinite(system.limits.speed), system.limits.speed, 1.0)
    change = np.abs(system.difference(start, goal))
    slowest = change / speed if len(change) == len(speed) else change
    usual = max(MIN_DURATION_S, SLOWNESS * float(slowest.max(initial=0.0)))
    if least == "time":
        if duration is not None:
            raise ArgumentError("--duration is given for the least time.", expected="--least effort --duration SECONDS")
        if not limited or not np.isfinite(system.limits.torque).all():
            raise ArgumentError(
                f"the torques of {system.owner} are not limited, so that the least time is zero.",
                expected="torque limits of all actuators",
            )
        T = usual
        time: dict[str, Any] = {"duration": tuple(part * usual for part in FREE_DURATION)}
        time["cost"] = lambda t, q, v, tau: 1.0 + EFFORT_SHARE / system.nu * effort(t, q, v, tau)
    else:
        T = usual if duration is None else duration
        check_number("--duration", T, least=0.0, above=True)
        time = {"dt": T / steps, "cost": effort}
    options = {"hessian": "exact", "meet": meet, "limits": limited, "margin": margin}
    return {**time, **options, "guess": _guess(dyn, start, goal, T, steps)}


def _goal(dyn: ap.Dynamics, start: np.ndarray, to: str) -> tuple[np.ndarray, Any]:
    """Return a configuration at the goal, and the rows that the end of the motion must meet."""
    system = dyn.system
    frame, colon, text = to.partition(":")
    if not to:
        raise ArgumentError("--to is empty.", expected="a configuration, or a frame with its position")
    if not colon:
        target = np.asarray(configuration_if_given(to, system, "--to"), float)
        if "=" in to and system.is_tree and system.is_flat:  # other joints stay where they start
            named = pairs(to.split(","), "--to")
            target = np.array([target[k] if n in named else start[k] for k, n in enumerate(system.coordinate_names)])
        turned = {k for span in system.quaternions for k in range(span.start, span.stop)}
        plain = [k for k in range(system.nq) if k not in turned]

        def at_configuration(q, v):
            rows = {f"goal of '{system.coordinate_names[k]}'": q[k] - target[k] for k in plain}
            for number, span in enumerate(system.quaternions):
                rows[f"goal of orientation {number + 1}"] = ap.turn(q[span], target[span])
            return rows | {"rest": v}

        return target, at_configuration
    values = numbers(text, "--to")
    if len(values) not in (3, 6):
        raise ArgumentError(f"--to {to} has {len(values)} numbers.", expected=f"{frame}:x,y,z or {frame}:x,y,z,r,p,y")
    pose = np.eye(4)
    pose[:3, 3] = values[:3]
    if len(values) == 6:
        pose[:3, :3] = _rotation(*values[3:])
    if not isinstance(system, ap.Robot):
        raise ArgumentError(f"{system.owner} is not a tree.", expected="--to with a configuration")
    solver = ap.kinematics.inverse.numerical(system, frame, weight=float(len(values) == 6))
    inverse = solver(pose, start=start)
    if not inverse.reached:
        raise ArgumentError(
            f"no configuration of {system.owner} brings '{frame}' to {text}.", expected="a pose within its reach"
        )
    function, R = dyn.pose(frame), pose[:3, :3]

    def at_pose(q, v):
        here = function(q)
        rows = {f"goal of '{frame}'": here[:3, 3] - pose[:3, 3], "rest": v}
        if len(values) == 6:
            error = R.T @ here[:3, :3]
            rows[f"orientation of '{frame}'"] = [
                error[2, 1] - error[1, 2],
                error[0, 2] - error[2, 0],
                error[1, 0] - error[0, 1],
            ]
        return rows

    return np.asarray(inverse.q, float), at_pose


def _rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    (a, b, c), (x, y, z) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    about = np.array([[c, -z, 0], [z, c, 0], [0, 0, 1]]), np.array([[b, 0, y], [0, 1, 0], [-y, 0, b]])
    return about[0] @ about[1] @ np.array([[1, 0, 0], [0, a, -x], [0, x, a]])


def _usual_torques(dyn: ap.Dynamics, start: np.ndarray) -> np.ndarray:
    """Return torques of the size that holds the robot, for actuators without limits, at least 1 N m or N."""
    if dyn.system.nu != dyn.system.nv:
        return np.ones(dyn.system.nu)
    return np.maximum(1.0, np.abs(np.asarray(dyn.gravity(start), float)).max(initial=1.0)) * np.ones(dyn.system.nu)


def _guess(dyn: ap.Dynamics, start: np.ndarray, goal: np.ndarray, duration: float, steps: int) -> dict[str, np.ndarray]:
    """Return a motion from rest to rest along the shortest way, whose acceleration is continuous."""
    system = dyn.system
    s = np.linspace(0.0, 1.0, steps + 1)[:, None]
    change = np.asarray(system.difference(start, goal), float)
    position, rate = s**3 * (10.0 - 15.0 * s + 6.0 * s**2), 30.0 * s**2 * (1.0 - s) ** 2
    guess = {"q": np.array([system.integrate(start, part * change) for part in position[:, 0]])}
    if len(change) == system.nv and not system.is_constrained:
        guess["v"] = rate * change / duration
        if system.nu == system.nv and system.nq == system.nv:
            a = (60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)) * change / duration**2
            guess["tau"] = np.asarray(dyn.inverse_dynamics(guess["q"], guess["v"], a), float)[:-1]
    return guess


def _summary(motion: Any, system: Any, least: str) -> dict[str, Any]:
    """Return the outcome and the extremes of every actuator as data."""
    limits = system.limits
    rows = [
        {"actuator": name, "largest": np.abs(motion.tau[:, k]).max(), "limit": limits.torque[k]}
        for k, name in enumerate(system.actuator_names)
    ]
    return {
        "robot": system.name,
        "least": least,
        "duration": motion.t[-1],
        "steps": len(motion) - 1,
        "cost": motion.cost,
        "iterations": motion.iterations,
        "residuals": motion.residuals,
        "solved": motion.solved,
        "message": motion.reason,
        "goal": motion.q[-1],
        "actuators": rows,
        "units": {"duration": "s", "largest, limit": "N m or N", "goal": "rad or m"},
    }


def _shown(data: dict[str, Any]) -> list[Any]:
    heads = {"actuator": "actuator", "largest": ("largest, N m or N", ".5g"), "limit": ("limit, N m or N", ".5g")}
    size = f"{data['duration']:.6g} s, {data['steps']} steps, cost {data['cost']:.6g}"
    title = f"{data['robot']}, least {data['least']}: {size}"
    return [title, table(data["actuators"], heads), verdict(data["message"], data["solved"])]
