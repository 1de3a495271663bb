"""The PUMA of Provenzano et al., Mata et al. 2002 and Valera et al. 2003: data, straight lines and torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from appell.describe.dh import DH, from_dh
from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.kinematics.inverse import spherical_wrist
from appell.model.robot import Robot
from appell.motion import CartesianLine, time_optimal, zyz
from appell.show.plot.style import GRID_COLOR, label, legend_beside
from appell_lab.papers.page import Page
from appell_lab.papers.puma_lines import (
    LINES,
    MATA_LINE,
    PROVENZANO_LINE,
    VALERA_LINE,
    PaperLine,
    distance_from_line,
    draw_arm,
)
from appell_lab.papers.puma_open_loop import flow_chart, table_2, tables_6_and_7

EFFORT = np.array([60.0, 100.0, 40.0, 3.0, 2.0, 1.0])  # N m, chosen here: no paper prints the torque limits

# Tables 5 to 7 of Valera 2003 and the inertias below them: twist / (π/2), a, d, mass, centre of mass, inertia about it
PRINTED = (
    (0, 0.0, 0.0, 10.521, (0.0, -0.054, 0.0), (1.612, 0.5091, 1.612)),
    (-1, 0.0, 0.0, 15.781, (0.1398, 0.0, 0.1491), (0.4898, 8.0783, 8.2672)),
    (0, 0.432, -0.15, 8.767, (-0.32e-3, -0.197, 0.0), (3.3768, 0.3009, 3.3768)),
    (1, -0.02, -0.433, 1.052, (0.0, 0.0, -0.057), (0.181, 0.181, 0.1273)),
    (-1, 0.0, 0.0, 1.052, (0.0, -0.007, 0.0), (0.0735, 0.0735, 0.1273)),
    (1, 0.0, 0.0, 0.351, (0.0, 0.0, 0.0372), (0.0071, 0.0071, 0.0141)),
)
TOOL = 0.1  # m beyond the wrist, to show the effect of a tool


def run(page: Page) -> None:
    robot = load_tree("puma")
    lines = {paper: paper.trajectory(robot) for paper in LINES}
    _data(page, robot)
    _lines(page, robot, lines)
    _assumed(page, robot)
    _configurations(page, robot)
    for paper, line in lines.items():
        page.figure(
            f"puma_line_{paper.paper.split()[0].lower()}", lambda figure, p=paper, x=line: _draw(figure, robot, p, x)
        )
    table_2(page, robot, lines[PROVENZANO_LINE])
    flow_chart(page, robot, PROVENZANO_LINE, "2", "modulus_errors")
    tables_6_and_7(page, robot, lines[MATA_LINE])
    flow_chart(page, robot, MATA_LINE, "4", "joint_errors")
    _fastest(page, robot, lines[VALERA_LINE])


def printed_arm(sign: float) -> Robot:
    """Return the arm of the printed tables; `sign` is -1 for the printed s = (a, d sin α, -d cos α), 1 for Craig's."""
    rows = [
        DH(twist=0.5 * np.pi * turns, length=a, offset=sign * d, mass=mass, com=com, inertia=inertia)
        for turns, a, d, mass, com, inertia in PRINTED
    ]
    return from_dh(rows, name=f"Tables 5 to 7, d times {sign:g}")


def _data(page: Page, robot: Robot) -> None:
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 100, robot.nv))
    difference = np.abs(
        Dynamics(printed_arm(-1.0)).inverse_dynamics(q, v, a) - Dynamics(robot).inverse_dynamics(q, v, a)
    )
    page.measure("largest difference of the torques of the printed arm [N m]", difference.max())
    page.table(
        "Tables 5 to 7 of Valera 2003: the arm, a PUMA 600",
        ["joint", "α", "a, m", "d, m", "mass, kg", "centre of mass, m", "inertia about it, kg m²"],
        [
            [
                str(k),
                {0: "0", 1: "π/2", -1: "-π/2"}[row[0]],
                *(f"{x:g}" for x in row[1:4]),
                *(" ".join(f"{x:g}" for x in y) for y in row[4:]),
            ]
            for k, row in enumerate(PRINTED, start=1)
        ],
        note="With the printed translation (a, d sin α, -d cos α), the torques equal those of the zoo's 'puma' to "
        f"{difference.max():.0e} N m. Only with this sign do the centres of mass lie in the links: that of link 2 at "
        "the shoulder offset, that of link 3 along the forearm. Provenzano and Mata 2002 do not print the data of "
        "their PUMA.",
    )


def _lines(page: Page, robot: Robot, lines: dict[PaperLine, CartesianLine]) -> None:
    inverse_dynamics, rows = Dynamics(robot).inverse_dynamics, []
    for paper, line in lines.items():
        q, v, a = line(line.times())
        tau = inverse_dynamics(q, v, a)
        length = float(np.linalg.norm(np.subtract(paper.end, paper.start)))
        author = paper.paper.split()[0]
        page.measure(f"speed on {author}'s line [m/s]", length / paper.duration)
        page.measure(f"largest distance of the tool from {author}'s line [m]", distance_from_line(robot, paper, line))
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
        note="The papers state 0.1 m/s; by its printed end points and duration, Mata's line has 0.0657 m/s.",
    )


def _assumed(page: Page, robot: Robot) -> None:
    hand = TOOL * zyz(*PROVENZANO_LINE.angles)[:, 2]
    before = replace(
        PROVENZANO_LINE,
        start=tuple(np.subtract(PROVENZANO_LINE.start, hand)),
        end=tuple(np.subtract(PROVENZANO_LINE.end, hand)),
    )
    readings = {
        "as assumed": (robot, PROVENZANO_LINE, (1, 1, 1)),
        f"a tool of {TOOL:g} m along the hand": (robot, before, (1, 1, 1)),
        "the printed d with Craig's sign": (printed_arm(1.0), PROVENZANO_LINE, (1, 1, 1)),
        "shoulder -": (robot, PROVENZANO_LINE, (-1, 1, 1)),
        "elbow down": (robot, PROVENZANO_LINE, (1, -1, 1)),
        "wrist -": (robot, PROVENZANO_LINE, (1, 1, -1)),
    }
    rows = []
    for name, (arm, paper, configuration) in readings.items():
        line = paper.trajectory(arm, configuration)
        q, v, a = line(line.times())
        torque = np.abs(Dynamics(arm).inverse_dynamics(q, v, a)).max(axis=0)
        rows.append([name, f"{np.degrees(np.abs(v)).max():.2f}", *(f"{x:.3f}" for x in torque)])
    page.table(
        "Assumed tool, sign and configuration, and the effect of other readings of Provenzano's line",
        ["", "fastest joint, °/s", *(f"τ{k + 1}" for k in range(robot.nv))],
        rows,
        note="Largest torques, N m. The papers print neither a tool nor a configuration.",
    )


def _configurations(page: Page, robot: Robot) -> None:
    solver, line = spherical_wrist(robot), PROVENZANO_LINE
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = zyz(*line.angles), line.start
    signs = [f"{s} {e} {w}" for s in "+-" for e in "+-" for w in "+-"]
    rows = [[flags, *(f"{x:.3f}" for x in np.degrees(row))] for flags, row in zip(signs, solver(T), strict=True)]
    page.table(
        "The eight configurations at the start of Provenzano's and Valera's lines, degrees",
        ["shoulder elbow wrist", *robot.joint_names],
        rows,
    )


def _fastest(page: Page, robot: Robot, line: CartesianLine) -> None:
    fast = time_optimal(line, Dynamics(robot), velocity=np.inf, torque=EFFORT)
    t = fast.times(20001)
    tau = Dynamics(robot).inverse_dynamics(*fast(t))
    excess = (np.abs(tau) - EFFORT).max()
    page.note(
        f"Valera's line as fast as torques of {_list(EFFORT)} N m allow, from rest to rest: {fast.duration:.4f} s "
        f"instead of {line.duration:g} s; the largest violation of a limit at 20,001 instants is {excess:.1e} N m."
    )

    def draw(figure):
        axes = figure.subplots()
        for k, name in enumerate(fast.names):
            axes.plot(t, tau[:, k] / EFFORT[k], label=name)
        axes.axhspan(-1.0, 1.0, color=GRID_COLOR, alpha=0.5, zorder=0)
        axes.set(
            xlabel=label("time t", "s"),
            ylabel="torque / limit",
            title="Valera's line in the shortest time: one joint is always at its limit",
        )
        legend_beside(axes)

    page.figure("puma_fastest", draw)


def _draw(figure, robot: Robot, paper: PaperLine, line: CartesianLine) -> None:
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.1))
    space = figure.add_subplot(grid[:, 0], projection="3d")
    draw_arm(space, robot, paper, line)
    space.set_title(f"{paper.paper}: from {_list(paper.start)}\nto {_list(paper.end)} m")
    space.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
    t = line.times()
    tau = Dynamics(robot).inverse_dynamics(*line(t))
    heavy = np.abs(tau).max(axis=0) > 5.0
    for row, (chosen, title) in enumerate(((heavy, "Torques along the line"), (~heavy, ""))):
        axes = figure.add_subplot(grid[row, 1])
        axes.plot(t, tau[:, chosen], label=[name for name, shown in zip(line.names, chosen, strict=True) if shown])
        axes.set(xlabel=label("time t", "s") if row else "", ylabel=label("torque", "N m"), title=title)
        legend_beside(axes)


def _list(values) -> str:
    return ", ".join(f"{x:g}" for x in values)
