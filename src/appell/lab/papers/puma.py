"""The PUMA of Provenzano et al., Mata et al. 2002 and Valera et al. 2003: straight lines, simulated from torques."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.lab.papers.page import Page
from appell.motion import CartesianLine, time_optimal, zyz
from appell.motion.inverse import spherical_wrist
from appell.motion.pictures.look import BLUE, GREY, RED
from appell.simulation.open_loop import METHODS, Replay, replay
from appell.simulation.run import simulate

EFFORT = np.array([60.0, 100.0, 40.0, 3.0, 2.0, 1.0])  # N m, chosen here: no paper prints the motors' limits


@dataclass(frozen=True)
class PaperLine:
    """A line as a paper gives it."""

    paper: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    angles: tuple[float, float, float]  # about z, y, z, degrees
    duration: float

    def trajectory(self, robot) -> CartesianLine:
        return CartesianLine(robot, "tool", self.start, self.end, zyz(*self.angles), self.duration, (1, 1, 1))


LINES = (
    PaperLine("Provenzano", (0.6, 0.175, 0.25), (0.244, 0.527, 0.25), (45, 60, 90), 5.0),
    PaperLine("Mata 2002", (0.5, 0.0, 0.05), (0.62, 0.3, 0.11), (0, 90, 180), 5.0),
    PaperLine("Valera 2003", (0.6, 0.175, 0.25), (0.018, 0.757, 0.0), (45, 60, 90), 8.6),
)

# Table 2 of Provenzano: largest and mean error of the tool's position, velocity and acceleration
TABLE_2 = {
    "CRBA": (("2.24416e-3", "1.98474e-4"), ("1.48353e-3", "1.01924e-4"), ("1.96068e-2", "1.73333e-3")),
    "ABA": (("2.24506e-3", "1.98552e-4"), ("1.48402e-3", "1.01960e-4"), ("1.96293e-2", "1.73432e-3")),
    "GA": (("2.24446e-3", "1.98500e-4"), ("1.48370e-3", "1.01937e-4"), ("1.96184e-2", "1.73377e-3")),
}
TIMES = {"CRBA": "0.57", "ABA": "0.65", "GA": "0.56"}


def run(page: Page) -> None:
    robot = load_tree("puma")
    lines = [line.trajectory(robot) for line in LINES]
    _lines(page, robot, lines)
    _configurations(page, robot)
    for paper, line in zip(LINES, lines, strict=True):
        page.figure(
            f"puma_line_{paper.paper.split()[0].lower()}", lambda figure, p=paper, x=line: _draw(figure, robot, p, x)
        )
    replays = {method: replay(lines[0], robot, method) for method in METHODS}
    _table_2(page, replays)
    other = _feeds(page, robot, lines[0], replays["GA"])
    _why(page, robot, lines[0], replays)
    page.figure("puma_open_loop", lambda figure: _draw_errors(figure, {"0.1 s intervals": replays["GA"], **other}))
    _table_6_and_7(page, {method: replay(lines[1], robot, method) for method in METHODS})
    _fastest(page, robot, lines[2])


def _lines(page: Page, robot, lines) -> None:
    inverse_dynamics, rows = Dynamics(robot).inverse_dynamics, []
    for paper, line in zip(LINES, lines, strict=True):
        q, v, a = line(line.times())
        tau = inverse_dynamics(q, v, a)
        length = float(np.linalg.norm(np.subtract(paper.end, paper.start)))
        rows.append(
            [
                paper.paper,
                _list(paper.start),
                _list(paper.end),
                f"{paper.duration:g}",
                f"{length / paper.duration:.4f}",
                f"{np.degrees(np.abs(v)).max():.2f}",
                f"{np.abs(tau).max():.2f}",
            ]
        )
    page.table(
        "Straight lines at constant ZYZ orientation, shoulder +, elbow up, wrist +",
        ["", "from, m", "to, m", "s", "m/s", "fastest joint, °/s", "largest torque, N m"],
        rows,
        note="The papers say 0.1 m/s; Mata's line, from its printed ends and duration, is travelled at 0.0657 m/s.",
    )


def _configurations(page: Page, robot) -> None:
    solver, line = spherical_wrist(robot), LINES[0]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = zyz(*line.angles), line.start
    signs = [f"{s} {e} {w}" for s in "+-" for e in "+-" for w in "+-"]
    rows = [[flags, *(f"{x:.3f}" for x in np.degrees(row))] for flags, row in zip(signs, solver(T), strict=True)]
    page.table(
        "The eight configurations at the start of Provenzano's and Valera's lines, degrees",
        ["shoulder elbow wrist", *robot.joint_names],
        rows,
    )


def _table_2(page: Page, replays: dict[str, Replay]) -> None:
    rows = []
    for k, name in enumerate(("position, m", "velocity, m/s", "acceleration, m/s²")):
        for j, kind in enumerate(("largest", "mean")):
            ours = [
                f"{(errors.max() if j == 0 else errors.mean()):.3e}"
                for errors in (r.tool_errors[k] for r in replays.values())
            ]
            rows.append([f"{name}, {kind}", *ours, *(TABLE_2[method][k][j] for method in TABLE_2)])
    rows.append(["evaluations", *(str(r.evaluations) for r in replays.values()), *("" for _ in TABLE_2)])
    rows.append(["time, s", *(f"{r.seconds:.2f}" for r in replays.values()), *TIMES.values()])
    page.table(
        "Table 2 of Provenzano: error of the tool along the line, Runge-Kutta 4(5), tolerance 1e-6, 0.1 s intervals",
        ["", *replays, *(f"{method}, printed" for method in TABLE_2)],
        rows,
        note="Printed times are of a 400 MHz Pentium II; ours go into Python, for the torques at every stage.",
    )
    q = [r.simulated.q for r in replays.values()]
    apart = max(float(np.abs(x - q[0]).max()) for x in q)
    page.note(f"The four methods differ by {apart:.1e} rad at most over the whole motion.")


def _feeds(page: Page, robot, line, continuous: Replay) -> dict[str, Replay]:
    other = {
        "no intervals": replay(line, robot, interval=None),
        "interpolated": replay(line, robot, feed="interpolated"),
        "held": replay(line, robot, feed="held"),
    }
    titles = {
        "0.1 s intervals": "evaluated continuously, integrated over 0.1 s intervals",
        "no intervals": "evaluated continuously, integrated in one go",
        "interpolated": "interpolated linearly over 0.1 s",
        "held": "held for 0.1 s",
    }
    rows = []
    for key, found in {"0.1 s intervals": continuous, **other}.items():
        errors = found.tool_errors[0]
        rows.append([titles[key], float(errors.max()), float(errors.mean()), found.evaluations])
    page.table(
        "How the torques reach the robot: tool error along Provenzano's line (m), tolerance 1e-6",
        ["torque", "largest", "mean", "evaluations"],
        rows,
    )
    return other


def _why(page: Page, robot, line, replays: dict[str, Replay]) -> None:
    growth = _growth(robot, line)
    position, velocity, _ = (float(errors.max()) for errors in replays["GA"].tool_errors)
    page.note(
        f"Why the printed 2.24e-3 m is not reached: nothing corrects the arm on its way, and the motion is unstable. "
        f"An error of the joints at the start grows up to {growth:.1e}-fold in the 5 s, so that details of the step "
        f"control decide the result. With torques evaluated at every stage, {position:.1e} m are left over 0.1 s "
        "intervals; in one go, where steps of 0.25 s keep the same tolerance, thousands of times more; with torques "
        "that are only known every 0.1 s the arm leaves its line altogether. The print lies between. But it is not one "
        f"of these: an error that grows at its own rate has a velocity {velocity / position:.1f} times its size a "
        "second, the printed one 0.66 times. What else went into it the paper does not say."
    )
    page.console.print()


def _growth(robot, line) -> float:
    """How many times a small error of the joints at the start is larger at the end, in the worst direction."""
    dyn = Dynamics(robot)
    q0, v0, _ = line(0.0)

    def end(q, v):
        run = simulate(
            dyn,
            q,
            v,
            line.duration,
            lambda t, *_: dyn.inverse_dynamics(*line(t)),
            rtol=1e-10,
            atol=1e-12,
            progress=False,
        )
        return run.q[-1]

    step, there = 1e-7, np.concatenate([q0, v0])
    base = end(q0, v0)
    columns = [(end(*np.split(there + step * unit, 2)) - base) / step for unit in np.eye(len(there))[: len(q0)]]
    return float(np.linalg.norm(np.array(columns).T, 2))


def _table_6_and_7(page: Page, replays: dict[str, Replay]) -> None:
    q, v, a = replays["GA"].joint_errors
    rows = [
        [f"joint {k + 1}", float(q[:, k].mean()), float(v[:, k].mean()), float(a[:, k].mean())]
        for k in range(q.shape[1])
    ]
    page.table("Table 6 of Mata 2002: mean joint errors along its line", ["", "rad", "rad/s", "rad/s²"], rows)
    page.table(
        "Table 7 of Mata 2002: work of each method",
        ["", *replays],
        [
            ["evaluations", *(str(r.evaluations) for r in replays.values())],
            ["time, s", *(f"{r.seconds:.2f}" for r in replays.values())],
        ],
        note="The numbers of Tables 6 and 7 did not survive in the copy at hand, so that ours stand alone.",
    )


def _fastest(page: Page, robot, line) -> None:
    fast = time_optimal(line, robot, torque=EFFORT)
    t = fast.times(20001)
    tau = Dynamics(robot).inverse_dynamics(*fast(t))
    excess = (np.abs(tau) - EFFORT).max()
    page.note(
        f"Valera's line as fast as torques of {_list(EFFORT)} N m allow, from rest to rest: {fast.duration:.4f} s "
        f"instead of {line.duration:g} s; the largest excess of a limit at 20,001 instants is {excess:.1e} N m."
    )

    def draw(figure):
        axes = figure.subplots()
        for k, name in enumerate(fast.names):
            axes.plot(t, tau[:, k] / EFFORT[k], label=name)
        axes.set(
            xlabel="t [s]",
            ylabel="torque / limit",
            title="Valera's line in the shortest time: one joint is always at its limit",
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    page.figure("puma_fastest", draw)


def _draw(figure, robot, paper: PaperLine, line: CartesianLine) -> None:
    figure.set_size_inches(11, 5)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.1))
    space = figure.add_subplot(grid[:, 0], projection="3d")
    for part, colour, name in ((0.0, BLUE, "start"), (0.5, GREY, "middle"), (1.0, RED, "end")):
        points = _skeleton(robot, line(part * line.duration)[0])
        space.plot(*points.T, color=colour, marker="o", markersize=4, linewidth=3, label=name)
    space.plot(
        *np.array([paper.start, paper.end]).T, color="black", linestyle="--", linewidth=1.2, label="line of the tool"
    )
    space.set(
        xlabel="x [m]",
        ylabel="y [m]",
        zlabel="z [m]",
        title=f"{paper.paper}: {_list(paper.start)} to {_list(paper.end)} m",
    )
    space.set_aspect("equal")
    space.view_init(elev=24, azim=-50)
    space.legend(loc="upper left", fontsize="small")
    t = line.times()
    tau = Dynamics(robot).inverse_dynamics(*line(t))
    heavy = np.abs(tau).max(axis=0) > 5.0
    for row, (chosen, title) in enumerate(((heavy, "Torques along the line"), (~heavy, ""))):
        axes = figure.add_subplot(grid[row, 1])
        axes.plot(t, tau[:, chosen], label=[name for name, shown in zip(line.names, chosen, strict=True) if shown])
        axes.set(xlabel="t [s]" if row else "", ylabel="torque [N m]", title=title)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")


def _skeleton(robot, q: np.ndarray) -> np.ndarray:
    """Points to draw the arm through: base, shoulder and its offset, elbow, wrist, and a hand along the last axis."""
    dyn = Dynamics(robot)
    poses = {name: dyn.pose(name)(q) for name in robot.link_names}
    shoulder, elbow, wrist = (poses[name] for name in ("link2", "link3", "link4"))
    beside = shoulder[:3, 3] + shoulder[:3, 2] * (shoulder[:3, 2] @ (elbow[:3, 3] - shoulder[:3, 3]))
    hand = wrist[:3, 3] + 0.1 * poses["link6"][:3, 2]
    return np.array([(0.0, 0.0, -0.4), shoulder[:3, 3], beside, elbow[:3, 3], wrist[:3, 3], hand])


def _draw_errors(figure, replays: dict[str, Replay]) -> None:
    axes = figure.subplots()
    for name, found in replays.items():
        axes.semilogy(found.t[1:], np.maximum(found.tool_errors[0][1:], 1e-14), label=name)
    axes.axhline(2.24446e-3, color="black", linestyle="--", linewidth=1, label="largest printed")
    axes.set(
        xlabel="t [s]",
        ylabel="distance of the tool from its line [m]",
        title="An open loop forgets nothing: error along Provenzano's line",
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _list(values) -> str:
    return ", ".join(f"{x:g}" for x in values)
