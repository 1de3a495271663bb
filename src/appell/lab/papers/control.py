"""The open controller of Valera et al. 2003: Figures 3 to 5, the laws of Table 4, and the time of a control step."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path as FilePath

import numpy as np

from appell.control.cabinet.simulated import SimulatedCabinet
from appell.control.clock import VirtualClock
from appell.control.loop.control_loop import Loop
from appell.control.loop.reference import Reference
from appell.control.loop.summary import last_motion
from appell.control.loop.task import run_task, standard_plant, standard_servo
from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import SimulationError
from appell.lab.bench.control_exercise import median_seconds, puma_exercise
from appell.lab.papers.page import Page
from appell.lab.papers.puma_lines import VALERA_LINE, draw_arm
from appell.motion import CartesianLine, Path, Ramp, Record, Spline
from appell.motion.pictures.look import BLUE, GREY, RED

PRINTED_STEP = {"Pentium, 150 MHz (Valera 2003)": 0.225, "Pentium II, 350 MHz (Valera 2003)": 0.061}  # ms
LAWS = ("pid", "pd-gravity", "point-to-point", "tracking", "tracking-integral")
FREQUENCY = {"point-to-point": 8.0}  # 1/s; half a radian at once with poles at -20/s would be too fast for the arm
PAYLOAD = 2.0  # kg, unknown to every model
HOLD = 3.0  # s at the end of a motion


def run(page: Page) -> None:
    robot = load("puma")
    line = straight_line(robot)
    page.figure("valera_figure_3", lambda figure: _draw_arm(figure, robot, line))
    driven = _cabinet_run(robot, "tracking-integral", lambda q: line, start=line(0.0)[0])
    page.figure("valera_figure_4", lambda figure: _draw_torques(figure, robot, line, driven))
    motions = {"ramp": _ramp, "spline": _spline}
    runs = {name: _cabinet_run(robot, "tracking-integral", motion) for name, motion in motions.items()}
    page.figure("valera_figure_5", lambda figure: _draw_positions(figure, runs))
    _following(page, {"straight line": driven, **runs})
    _table_4(page, robot)
    _step_time(page)


def straight_line(robot) -> CartesianLine:
    """The line of Figures 3 and 4, with the wrist turned so that joint 4 stays within the arm's range."""
    return VALERA_LINE.trajectory(robot, (1, 1, -1))


def _cabinet_run(robot, law: str, motion: Callable[[np.ndarray], Path], start=None, payload: float = 0.0) -> Record:
    """A task on the simulated PUMA 600 cabinet, from power-on to rest."""
    servo, clock = standard_servo(robot, law, FREQUENCY.get(law, 20.0)), VirtualClock()
    period = servo.design.period
    cabinet = SimulatedCabinet(
        standard_plant(robot, servo.wiring, payload), clock, servo.wiring.start if start is None else start
    )

    def reference(q: np.ndarray) -> Reference:
        trajectory = motion(q)
        if servo.design.law.tracks:
            return Reference.sampled(trajectory, period)
        return Reference.hold(trajectory(trajectory.duration)[0], period, trajectory.duration)

    with tempfile.TemporaryDirectory() as folder:
        loop = Loop(cabinet, servo, clock, log=FilePath(folder) / "run.log")
        outcome = run_task(loop, reference, settle=HOLD if payload else 0.3)
        loop.close()
        if not outcome.finished:
            raise SimulationError(f"the run of law '{law}' was stopped: {outcome.sentence}.")
        return Record.read(FilePath(folder) / "run.log")


def _ramp(q: np.ndarray) -> Ramp:
    return Ramp(q, q + _way(q), 0.6, 2.0)


def _spline(q: np.ndarray) -> Spline:
    way = _way(q)
    return Spline([0.0, 1.0, 2.0, 3.0], [q, q + way, q + 0.3 * way, q + 0.8 * way], degree=5)


def _way(q: np.ndarray) -> np.ndarray:
    return np.array([0.6, -0.4, -0.4, 0.5, -0.5, 0.6])


def _following(page: Page, runs: dict[str, Record]) -> None:
    rows = []
    for name, log in runs.items():
        span = last_motion(log)
        error = np.abs(log["q"][span] - log["qd"][span]).max(axis=0)
        rows.append([name, *(f"{1e3 * x:.2f}" for x in error)])
    page.table(
        "Largest following error on the simulated cabinet, mrad",
        ["reference", *(f"joint {k + 1}" for k in range(6))],
        rows,
        note="Figure 5 shows a real PUMA that follows 'without problems' and prints no numbers. Here the arm, with "
        "friction that sticks, stands behind 12-bit converters, encoders of 200 and 250 lines and amplifiers that are "
        "off by up to 1 %; one step in 1 ms, all poles at -20/s. The straight line starts and ends at full speed, as "
        "the paper's does, so that Figure 4 begins and ends with a kick (cut off there).",
    )


def _table_4(page: Page, robot) -> None:
    rows = []
    for law in LAWS:
        log = _cabinet_run(robot, law, _spline, payload=PAYLOAD)
        span = last_motion(log)
        error = log["q"][span] - log["qd"][span]
        moving = "" if law == "point-to-point" else f"{1e3 * np.abs(error).max():.2f}"
        rows.append([law, moving, f"{1e3 * np.abs(error[-1]).max():.2f}"])
    page.table(
        f"The controllers of Table 4 and two baselines, with {PAYLOAD:g} kg that no model knows",
        ["law", "largest error, mrad", f"error {HOLD:g} s after the motion, mrad"],
        rows,
        note="A spline from rest to rest, as in Figure 5; point to point jumps to its end, so that it has no error on "
        "the way. All poles lie at -20/s, of point to point at -8/s; the torque laws' gains are scaled by each "
        "joint's inertia.",
    )


def _step_time(page: Page) -> None:
    exercise = puma_exercise()
    compiled, step, tick = (median_seconds(call) for call in (exercise.compiled, exercise.step, exercise.loop.tick))
    ours = {
        "appell, a whole tick with all supervision": tick,
        "appell, one step called from Python": step,
        "appell, its compiled part": compiled,
    }
    rows = [[name, f"{ms:.3f}", ""] for name, ms in PRINTED_STEP.items()]
    rows += [
        [name, f"{1e3 * x:.5f}", f"{PRINTED_STEP['Pentium II, 350 MHz (Valera 2003)'] / (1e3 * x):.0f}"]
        for name, x in ours.items()
    ]
    page.table(
        "Time of one control step, ms",
        ["", "ms", "times faster than the Pentium II"],
        rows,
        note="Signals in, torques and converter codes out: positions and velocities from counts, the law with inverse "
        "dynamics, limits, anti-windup, alarms. Medians of this run; other machines, another quarter century.",
    )


# ---- figures


def _draw_arm(figure, robot, line: CartesianLine) -> None:
    axes = figure.add_subplot(projection="3d")
    draw_arm(axes, robot, VALERA_LINE, line)
    axes.set_title("Figure 3: the prescribed line, 0.86 m in 8.6 s")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 0.9))


def _draw_torques(figure, robot, line: CartesianLine, driven: Record) -> None:
    t = line.times(400)
    tau = Dynamics(robot).inverse_dynamics(*line(t))
    span = last_motion(driven)
    clock = driven["t"][span] - driven["t"][span][0]
    for k, axes in enumerate(figure.subplots(2, 3, sharex=True).ravel()):
        axes.plot(clock, driven["tau"][span, k], color=GREY, linewidth=0.6, label="given by the loop, with friction")
        axes.plot(t, tau[:, k], color=BLUE, label="required, no friction")
        low, high = np.percentile(np.append(driven["tau"][span, k], tau[:, k]), (0.5, 99.5))
        room = 0.15 * (high - low)
        axes.set(title=f"joint {k + 1}, Nm", xlim=(0.0, line.duration), ylim=(low - room, high + room))
    for axes in figure.axes[3:]:
        axes.set_xlabel("time [s]")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle("Figure 4: torques along the line", x=0.01, ha="left", fontsize=11)


def _draw_positions(figure, runs: dict[str, Record]) -> None:
    grid = figure.subplots(6, len(runs), sharex="col")
    figure.set_size_inches(9, 9)
    for column, (name, log) in enumerate(runs.items()):
        span = last_motion(log)
        t = log["t"][span] - log["t"][span][0]
        for k in range(6):
            axes = grid[k, column]
            axes.plot(t, log["q"][span, k], color=BLUE, label="arm")
            axes.plot(t, log["qd"][span, k], color=RED, linestyle="--", linewidth=1.1, label="reference")
            axes.set_ylabel(f"q{k + 1} [rad]" if column == 0 else "")
        grid[0, column].set_title(f"{name} reference")
        grid[-1, column].set(xlabel="time [s]", xlim=(0.0, float(t[-1])))
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle("Figure 5: positions on the simulated cabinet", x=0.01, ha="left", fontsize=11)
