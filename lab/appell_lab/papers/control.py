"""The open controller of Valera et al. 2003: Figures 3 to 5, the laws of Table 4, and the time per control step."""

from __future__ import annotations

import numpy as np

from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.hardware.loop.summary import last_motion
from appell.motion import CartesianLine, Record
from appell.show.plot.style import BLUE, FIGURE_WIDTH_IN, GREY, INK, figure_title, label, legend_below
from appell_lab.bench.control_step import median_seconds, puma_control_step
from appell_lab.papers.cabinet_run import cabinet_run, ramp, spline
from appell_lab.papers.control_hardware import hardware
from appell_lab.papers.control_laws import printed_form, table_4
from appell_lab.papers.page import Page
from appell_lab.papers.puma_lines import VALERA_LINE, distance_from_line, draw_arm

PRINTED_STEP = {"Pentium, 150 MHz (Valera 2003)": 0.225, "Pentium II, 350 MHz (Valera 2003)": 0.061}  # ms


def run(page: Page) -> None:
    robot = load("puma")
    hardware(page, robot)
    line = straight_line(robot)
    page.measure("largest distance of the tool from Valera's line [m]", distance_from_line(robot, VALERA_LINE, line))
    motion = line(line.times())
    one, other = (Dynamics(robot, name).inverse_dynamics(*motion) for name in ("gibbs-appell", "newton-euler"))
    page.measure("difference of the torques from Newton-Euler's along Valera's line [N m]", np.abs(one - other).max())
    page.figure("valera_figure_3", lambda figure: _draw_arm(figure, robot, line))
    driven = cabinet_run(robot, "tracking-integral", lambda q: line, start=line(0.0)[0])
    page.figure("valera_figure_4", lambda figure: _draw_torques(figure, robot, line, driven))
    motions = {"ramp": ramp, "spline": spline}
    runs = {name: cabinet_run(robot, "tracking-integral", motion) for name, motion in motions.items()}
    page.figure("valera_figure_5", lambda figure: _draw_positions(figure, runs))
    _following(page, {"straight line": driven, **runs})
    table_4(page, robot)
    printed_form(page, robot)
    _step_time(page)


def straight_line(robot) -> CartesianLine:
    """Return the line of Figures 3 and 4, with the wrist flipped so that joint 4 stays within its range."""
    return VALERA_LINE.trajectory(robot, (1, 1, -1))


def _following(page: Page, runs: dict[str, Record]) -> None:
    rows, largest = [], {}
    for name, log in runs.items():
        span = last_motion(log)
        error = np.abs(log["q"][span] - log["qd"][span]).max(axis=0)
        largest[name] = 1e3 * error.max()
        rows.append([name, *(f"{1e3 * x:.2f}" for x in error)])
    page.measure("largest following error of ramp and spline [mrad]", max(largest["ramp"], largest["spline"]))
    page.table(
        "Largest following error on the simulated cabinet, mrad",
        ["reference", *(f"joint {k + 1}" for k in range(6))],
        rows,
        note="Figure 5 shows a real PUMA that follows 'without problems' and prints no numbers. Here the arm has "
        "static friction, 12-bit converters, encoders of 200 and 250 lines and amplifiers with gain errors of up to 1 "
        "%; one step per 1 ms, all poles at -20/s. The straight line starts and ends at full speed, as in the paper, "
        "so that the torques of Figure 4 start and end with a peak (clipped there).",
    )


def _step_time(page: Page) -> None:
    exercise = puma_control_step()
    compiled, step, tick = (median_seconds(call) for call in (exercise.compiled, exercise.step, exercise.loop.tick))
    ours = {
        "appell, one tick with all supervision": tick,
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
        "dynamics, limits, anti-windup, alarms. Medians of this run; the printed times are from 2003.",
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
        axes.plot(
            clock, driven["tau"][span, k], color=GREY, linewidth=0.6, label="commanded by the loop, with friction"
        )
        axes.plot(t, tau[:, k], color=BLUE, label="required, no friction")
        low, high = np.percentile(np.append(driven["tau"][span, k], tau[:, k]), (0.5, 99.5))
        margin = 0.15 * (high - low)
        axes.set(title=f"joint {k + 1}", xlim=(0.0, line.duration), ylim=(low - margin, high + margin))
    for axes in figure.axes[3:]:
        axes.set_xlabel(label("time t", "s"))
    for axes in figure.axes[::3]:
        axes.set_ylabel(label("torque", "N m"))
    legend_below(figure, figure.axes[0], 2)
    figure_title(figure, "Figure 4: torques along the line")


def _draw_positions(figure, runs: dict[str, Record]) -> None:
    grid = figure.subplots(6, len(runs), sharex="col")
    figure.set_size_inches(FIGURE_WIDTH_IN, 9.0)
    for column, (name, log) in enumerate(runs.items()):
        span = last_motion(log)
        t = log["t"][span] - log["t"][span][0]
        for k in range(6):
            axes = grid[k, column]
            axes.plot(t, log["q"][span, k], color=BLUE, linewidth=2.5, alpha=0.6, label="arm")
            axes.plot(t, log["qd"][span, k], color=INK, linestyle="--", linewidth=1.0, label="reference")
            axes.set_ylabel(label(f"q{k + 1}", "rad") if column == 0 else "")
        grid[0, column].set_title(f"{name} reference")
        grid[-1, column].set(xlabel=label("time t", "s"), xlim=(0.0, float(t[-1])))
    legend_below(figure, grid[0, 0], 2)
    figure_title(figure, "Figure 5: positions on the simulated cabinet")
