"""The PUMA driven open loop by the torques of its line: Table 2 of Provenzano, Tables 6 and 7 of Mata 2002.

There is no feedback, and the motion is unstable: after some seconds a small initial error consists of its component
along the direction that grows fastest. The size of the error therefore depends on every detail of the step control. Its
ratios (velocity to position, acceleration to position) do not: they are properties of the arm and its line.

Table 2 prints errors of the moduli |r|, |ṙ|, |r̈|, not lengths of differences. On this line |ṙ| and |r̈| hardly change
with the direction of an error, so that the two measures have different ratios.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from appell.dynamics import Dynamics
from appell.motion import CartesianLine
from appell.show.plot.style import INK, label, legend_beside
from appell.simulation.options import Solver
from appell.simulation.run import simulate
from appell_lab.papers.call_chart import draw_calls, record
from appell_lab.papers.open_loop import METHODS, Replay, frame_motion, replay
from appell_lab.papers.page import Page
from appell_lab.papers.puma_lines import PaperLine

QUANTITIES = ("position, m", "velocity, m/s", "acceleration, m/s²")
PRINTED = {  # largest and mean error of the moduli of the tool's position, velocity and acceleration
    "CRBA": (("2.24416e-3", "1.98474e-4"), ("1.48353e-3", "1.01924e-4"), ("1.96068e-2", "1.73333e-3")),
    "ABA": (("2.24506e-3", "1.98552e-4"), ("1.48402e-3", "1.01960e-4"), ("1.96293e-2", "1.73432e-3")),
    "GA": (("2.24446e-3", "1.98500e-4"), ("1.48370e-3", "1.01937e-4"), ("1.96184e-2", "1.73377e-3")),
}
PRINTED_TIMES = {"CRBA": "0.57", "ABA": "0.65", "GA": "0.56"}
SAMPLES = 51  # every 0.1 s, the printed interval
Sizes = list[tuple[float, float]]  # largest and mean of position, velocity and acceleration
INITIAL_ERROR = 1e-10  # rad; it stays small in 5 s
STEPS = {  # of the open-loop simulation; machine code updates the inputs before it evaluates the forward dynamics
    "inverse kinematics": "appell.kinematics.inverse.wrist_solver.SphericalWrist.rows",
    "joint motion q, v, a": "appell.motion.path.Path.__call__",
    "inverse dynamics": "appell_lab.papers.open_loop._torque.<locals>.continuous",
    "forward dynamics": "appell.simulation.flow.FreeMotion._input_callback.<locals>.update_inputs",
    "integration": "appell.simulation.run.simulate",
    "motion of the end effector": "appell_lab.papers.open_loop.frame_motion",
}
PRINTED_STEPS = ("inverse kinematics", "inverse dynamics", "forward dynamics", "integration", "comparison")


def table_2(page: Page, robot, line: CartesianLine) -> None:
    """Show the comparison with Table 2 of Provenzano."""
    replays = {method: replay(line, robot, method, samples=SAMPLES) for method in METHODS}
    _errors(page, replays)
    feeds = _feeds(page, robot, line, replays["GA"])
    growth, left = _small_error(robot, line)
    _ratios(page, replays["GA"], feeds["in one go"], left)
    _what_it_shows(page, replays, growth)
    page.figure("puma_open_loop", lambda figure: _draw(figure, feeds))


def tables_6_and_7(page: Page, robot, line: CartesianLine) -> None:
    """Show the same quantities along Mata's line, whose printed numbers are not available."""
    replays = {method: replay(line, robot, method, samples=SAMPLES) for method in METHODS}
    q, v, a = replays["GA"].joint_errors
    page.measure("Mata's line, largest difference of the methods [rad]", _largest_difference(replays))
    page.table(
        "Table 6 of Mata 2002: mean joint errors along its line",
        ["", "rad", "rad/s", "rad/s²"],
        [[f"joint {k + 1}", *(float(x[:, k].mean()) for x in (q, v, a))] for k in range(q.shape[1])],
    )
    page.table("Table 7 of Mata 2002: work of each method", ["", *replays], _work(replays))
    page.note(
        "The numbers of Tables 6 and 7 are missing in the available copy of the paper. The four methods differ by at "
        f"most {_largest_difference(replays):.1e} rad."
    )
    page.console.print()


def flow_chart(page: Page, robot, line: PaperLine, number: str, errors: str) -> None:
    """Draw the flow chart of a paper from the calls of its procedure; `errors` is the compared property of `Replay`."""
    steps = STEPS | {"comparison": f"{Replay.__module__}.Replay.{errors}"}
    _, graph = record(steps, lambda: getattr(replay(line.trajectory(robot), robot, samples=SAMPLES), errors))
    author = line.paper.split()[0]
    name = f"{author}, Figure {number}"
    evaluations = graph.count("forward dynamics")
    page.measure(f"{name}, printed steps of 5 in the recorded order", graph.steps_in_order(PRINTED_STEPS))
    page.measure(
        f"{name}, inverse dynamics per evaluation of the forward dynamics",
        graph.calls["forward dynamics", "inverse dynamics"] / evaluations,
    )
    page.figure(
        f"{author.lower()}_figure_{number}",
        lambda figure: draw_calls(figure, graph, f"{line.paper}, Figure {number}: recorded calls of the simulation"),
    )


def _errors(page: Page, replays: Mapping[str, Replay]) -> None:
    page.measure("Provenzano's line, largest difference of the methods [rad]", _largest_difference(replays))
    page.measure("Table 2, largest position error [m]", _sizes(replays["GA"].modulus_errors)[0][0])
    ranked = [
        float(PRINTED["ABA"][k][j]) < float(PRINTED["GA"][k][j]) < float(PRINTED["CRBA"][k][j])
        for k in range(3)
        for j in range(2)
    ]
    page.measure("rows of 6 in the printed Table 2 with ABM < GAH < CRBM", sum(ranked))
    rows = []
    for k, name in enumerate(QUANTITIES):
        for j, kind in enumerate(("largest", "mean")):
            ours = [f"{_sizes(run.modulus_errors)[k][j]:.2e}" for run in (replays["GA"], replays["CRBA"])]
            rows.append([f"{name}, {kind}", *ours, *(printed[k][j] for printed in PRINTED.values())])
    page.table(
        "Table 2 of Provenzano: errors of the moduli along its line, Runge-Kutta 4(5), tolerance 1e-6, 0.1 s",
        ["", "GA", "CRBA", *(f"{method}, print" for method in PRINTED)],
        rows,
        note=f"At {SAMPLES} instants. Our four methods differ by at most {_largest_difference(replays):.1e} rad, from "
        "the eleventh decimal on. The paper states the tenth, but its own rows differ in the seventh decimal of a "
        "metre.",
    )
    page.table(
        "Work of each method on Provenzano's line",
        ["", *replays],
        [*_work(replays), ["time, s, printed", *(PRINTED_TIMES.get(method, "") for method in replays)]],
        note="The printed times are those of a 400 MHz Pentium II; ours are mostly Python, for the torques at every "
        "stage.",
    )


def _work(replays: Mapping[str, Replay]) -> list[list[str]]:
    return [
        ["evaluations", *(str(run.evaluations) for run in replays.values())],
        ["time, s", *(f"{run.seconds:.2f}" for run in replays.values())],
    ]


def _largest_difference(replays: Mapping[str, Replay]) -> float:
    q = [run.simulated.q for run in replays.values()]
    return max(float(np.abs(x - q[0]).max()) for x in q)


def _feeds(page: Page, robot, line: CartesianLine, continuous: Replay) -> dict[str, Replay]:
    runs = {
        "over 0.1 s intervals": continuous,
        "in one go": replay(line, robot, interval=None, samples=SAMPLES),
        "interpolated over 0.1 s": replay(line, robot, feed="interpolated", samples=SAMPLES),
        "held for 0.1 s": replay(line, robot, feed="held", samples=SAMPLES),
    }
    rows = []
    for name, run in runs.items():
        largest, mean = _sizes(run.modulus_errors)[0]
        rows.append([name, largest, mean, float(run.tool_errors[0].max()), run.evaluations])
    page.table(
        "How the torques are applied: error of the tool along Provenzano's line, m, tolerance 1e-6",
        ["torques", "of |r|, largest", "mean", "distance, largest", "evaluations"],
        rows,
        note="The first two evaluate the torques at every stage; they differ in how often the integration restarts.",
    )
    return runs


def _ratios(page: Page, intervals: Replay, one_go: Replay, left: tuple[np.ndarray, ...]) -> None:
    sources: dict[str, Sizes] = {
        "print": [(float(largest), float(mean)) for largest, mean in PRINTED["GA"]],
        "intervals": _sizes(intervals.modulus_errors),
        "in one go": _sizes(one_go.modulus_errors),
        "small error": _sizes(left),
        "distances": _sizes(intervals.tool_errors),
    }
    (p, v, a), print_ = sources["intervals"], sources["print"]
    page.measure("Table 2, velocity to position [1/s]", v[0] / p[0])
    page.measure("Table 2, acceleration to position [1/s²]", a[0] / p[0])
    shares = [
        (ours[1] / ours[0]) / (theirs[1] / theirs[0]) - 1.0 for ours, theirs in zip((p, v, a), print_, strict=True)
    ]
    page.measure("Table 2, largest relative difference of mean to largest", max(map(abs, shares)))
    rows = [
        ["velocity to position, 1/s", *(f"{v[0] / p[0]:.2f}" for p, v, _ in sources.values())],
        ["acceleration to position, 1/s²", *(f"{a[0] / p[0]:.2f}" for p, _, a in sources.values())],
        *(
            [f"mean to largest, {name}", *(f"{pair[k][1] / pair[k][0]:.4f}" for pair in sources.values())]
            for k, name in enumerate(("position", "velocity", "acceleration"))
        ),
    ]
    page.table(
        "Ratios of Table 2 of Provenzano",
        ["", *sources],
        rows,
        note=f"'Small error' is an initial error of {INITIAL_ERROR:g} rad in the direction that grows fastest, without "
        "any other error: the ratios of the arm itself. An error of millimetres shifts the first ratio by about 0.06 "
        "per millimetre, up or down by its sign. 'Distances' are lengths of differences, another measure.",
    )


def _what_it_shows(page: Page, replays: Mapping[str, Replay], growth: float) -> None:
    order = " < ".join(sorted(PRINTED, key=lambda method: float(PRINTED[method][0][0])))
    every_row = all(
        float(PRINTED["CRBA"][k][j]) < float(PRINTED["GA"][k][j]) < float(PRINTED["ABA"][k][j])
        for k in range(3)
        for j in range(2)
    )
    position = _sizes(replays["GA"].modulus_errors)[0][0]
    page.note(
        "The ratios are reproduced: Table 2 is the error of this motion, measured in moduli at steps of 0.1 s. Its "
        f"size is not: an initial error of the joints grows up to {growth:.1e}-fold in 5 s, so that details of the "
        f"step control determine it. With torques at every stage, the error is {position:.1e} m over 0.1 s intervals "
        "and thousands of times more in one go, where steps of 0.25 s keep the same tolerance; the printed error lies "
        "between.\nThe paper concludes that the error of GAH is smaller than that of CRBM and slightly larger than "
        f"that of ABM. Its table shows {order}{' in all six rows' if every_row else ''} (GA means GAH): the opposite. "
        "The three differ by 0.04 %, which is the effect of rounding in such a motion, not a property of a method; our "
        "methods agree to all digits shown."
    )
    page.console.print()


def _sizes(errors: tuple[np.ndarray, ...]) -> Sizes:
    return [(float(x.max()), float(x.mean())) for x in errors]


def _small_error(robot, line: CartesianLine) -> tuple[float, tuple[np.ndarray, ...]]:
    """Return the growth factor of an initial joint error in its worst direction, and the resulting errors of the moduli
    at the instants of Table 2."""
    dyn, t = Dynamics(robot), line.times(SAMPLES)
    q0, v0, _ = line(0.0)

    def motion(q):
        run = simulate(
            dyn,
            q,
            v0,
            line.duration,
            lambda t, *_: dyn.inverse_dynamics(*line(t)),
            solver=Solver(rtol=1e-11, atol=1e-13),
            progress=False,
            throw=True,
        )
        return run(t)

    undisturbed = motion(q0)
    columns = [
        (motion(q0 + INITIAL_ERROR * unit)[0][-1] - undisturbed[0][-1]) / INITIAL_ERROR for unit in np.eye(robot.nv)
    ]
    _, sizes, directions = np.linalg.svd(np.array(columns).T)
    tools = []
    for q, v in (undisturbed, motion(q0 + INITIAL_ERROR * directions[0])):
        a = dyn.forward_dynamics(q, v, dyn.inverse_dynamics(*line(t)))
        tools.append([np.linalg.norm(x, axis=-1) for x in frame_motion(dyn, "tool", (q, v, a))])
    return float(sizes[0]), tuple(np.abs(x - y) for x, y in zip(*tools, strict=True))


def _draw(figure, replays: Mapping[str, Replay]) -> None:
    axes = figure.subplots()
    for name, run in replays.items():
        axes.semilogy(run.t[1:], np.maximum(run.modulus_errors[0][1:], 1e-14), marker=".", label=name)
    largest = float(PRINTED["GA"][0][0])
    axes.axhline(largest, color=INK, linestyle="--", linewidth=1, label="largest printed")
    axes.set(
        xlabel=label("time t", "s"),
        ylabel=label("error of |r| of the tool", "m"),
        title="Open-loop error along Provenzano's line",
    )
    legend_beside(axes)
