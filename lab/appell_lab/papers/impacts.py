"""The tree robot of Shafei 2018 inside a round wall: Table 3, the energy, Figures 14 to 19, and a movie."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.motion.record import Record
from appell.show.plot.drawing import Picture
from appell.show.plot.style import COLORS, GREY, RED, label, legend_beside
from appell.show.stage.shape import Shape
from appell.simulation import Circle, Contact, simulate
from appell.simulation.contact.contact import Contacts
from appell.simulation.options import IMPACT_LAWS
from appell_lab.papers.impact_times import TABLE_3, TIGHT, WALL
from appell_lab.papers.page import Page
from appell_lab.papers.printed_digits import show_printed_digits

UNTIL = 1.5  # s
TWINS = {"O5": "O1", "O4": "O2", "O10": "O7", "O11": "O8"}  # pairs of symmetric points: dashed over solid
ENERGY = "18.66"
CPU_HOURS = 40.0
FRICTION = 0.3  # chosen here; the wall of the paper is smooth


def run(page: Page) -> None:
    robot = load_tree("tree10")
    dyn = Dynamics(robot)
    wall = Contact("all", Circle(WALL), restitution=1.0, friction=0.0)
    begun = time.process_time()
    motion = simulate(dyn, until=UNTIL, contacts=wall, impact_law="newton", **TIGHT)
    seconds = time.process_time() - begun
    _table(page, motion)
    page.compare(
        "Energy of the robot, J",
        [
            ("at the start", float(motion.energy[0]), ENERGY),
            (f"after {UNTIL} s and {len(motion.impacts)} impacts", float(motion.energy[-1]), ENERGY),
        ],
        note=f"It varies by {np.ptp(motion.energy):.1e} J. The run took {seconds:.2g} s of processor time; "
        f"the paper reports {CPU_HOURS:g} hours.",
        against="Shafei 2018",
    )
    show_printed_digits(page, dyn, motion)
    points = Contacts(dyn, wall)
    _measures(page, motion, points)
    _laws(page, dyn)
    for number, quantity, component, title in (
        (14, "position", 0, label("X₁ of the points", "m")),
        (15, "velocity", 0, label("velocity along X₁", "m/s")),
        (16, "position", 1, label("X₂ of the points", "m")),
        (17, "velocity", 1, label("velocity along X₂", "m/s")),
    ):
        page.figure(
            f"shafei_figure_{number}",
            lambda figure, q=quantity, c=component, text=title: _draw_points(figure, motion, points, q, c, text),
        )
    page.figure("shafei_figure_10", lambda figure: _draw_first_impact(figure, dyn, motion, points))
    page.figure("shafei_figure_18", lambda figure: _draw_configurations(figure, dyn, motion, points))
    page.figure("shafei_figure_19", lambda figure: _draw_energy(figure, dyn, motion))
    page.movie("shafei_motion", lambda path: motion.movie(path, slower=2.0, overwrite=True))


def _table(page: Page, motion: Record) -> None:
    rows = []
    for event, (t, angle, speed, impulse, points) in zip(motion.impacts, TABLE_3, strict=True):
        if event.points != points:
            page.note(f"[red]points {event.points} instead of the printed {points}[/]")
        where = " and ".join(event.points)
        rows += [
            (f"time of the impact of {where}, s", event.time, t),
            ("   angle of attack, degrees", float(event.angles[0]), angle),
            ("   relative velocity, m/s", float(2.0 * event.normal_speeds[0]), speed),
            ("   impulse on each, N s", float(event.impulses[0]), impulse),
        ]
    page.compare(
        "Table 3 of Shafei 2018",
        rows,
        note="The relative velocity is the jump of the normal velocity, twice the approach speed for e = 1. An "
        "independent implementation gives our values to ten digits. The tables below examine the differences from the "
        "print.",
        against="Shafei 2018",
    )


def _measures(page: Page, motion: Record, points: Contacts) -> None:
    """Measure what the ledger judges."""
    events = motion.impacts
    page.measure(
        "impacts with the printed points", sum(e.points == row[-1] for e, row in zip(events, TABLE_3, strict=True))
    )
    differences = []
    for event, row in zip(events, TABLE_3, strict=True):
        numbers = (event.time, event.angles[0], 2.0 * event.normal_speeds[0], event.impulses[0])
        differences += [abs(x - float(p)) / (float(p) or 90.0) for x, p in zip(numbers, row[:4], strict=True)]
    page.measure("largest relative difference from Table 3", max(differences))
    page.measure("angle of attack of the first impact [°]", events[0].angles[0])
    page.measure("time of the impact of O2 and O4 [s]", events[1].time)
    page.measure(
        "relative velocity of the third impact over that of the second",
        events[2].normal_speeds[0] / events[1].normal_speeds[0],
    )
    page.measure("impulse of the second impact over that of the third", events[1].impulses[0] / events[2].impulses[0])
    page.measure("energy at the end [J]", motion.energy[-1])
    page.measure("range of the energy [J]", np.ptp(motion.energy))
    position = [array.name for array in points.motion.outputs].index("position")
    x = points.motion(*motion(np.linspace(0.0, UNTIL, 301)))[position]
    names = [frame.name for frame in points.frames]
    pairs = [(names.index(one), names.index(other)) for one, other in TWINS.items()]
    mirrored = max(float(np.abs(x[:, i, :2] - x[:, j, :2] * (-1.0, 1.0)).max()) for i, j in pairs)
    page.measure("largest asymmetry of symmetric points [m]", mirrored)


def _laws(page: Page, dyn: Dynamics) -> None:
    """Compare the impact laws on this motion, without and with friction at the wall."""
    rows = []
    for friction in (0.0, FRICTION):
        for law in IMPACT_LAWS:
            wall = Contact("all", Circle(WALL), restitution=1.0, friction=friction)
            motion = simulate(dyn, until=UNTIL, contacts=wall, impact_law=law, **TIGHT)
            second, last = motion.impacts[1], motion.impacts[-1]
            cells = [f"{second.time:.6f}", f"{second.impulses[0]:.4f}", f"{last.time:.6f}", f"{motion.energy[-1]:.6f}"]
            rows.append([law, f"{friction:g}", str(len(motion.impacts)), *cells])
    page.table(
        "The same motion under other impact laws",
        ["law", "μ", "impacts", "second, s", "impulse, N s", "last, s", "energy at the end, J"],
        rows,
        note="The paper has Newton's law without friction. Without friction all laws agree. With friction they "
        "differ in when friction acts during an impact, and energy is lost although e = 1.",
    )


def _draw_points(figure, motion: Record, points: Contacts, quantity: str, component: int, title: str) -> None:
    axis = figure.subplots()
    names = [array.name for array in points.motion.outputs]
    names_of_points = [frame.name for frame in points.frames]
    single = [name for name in names_of_points if name not in TWINS]
    for number, (first, last) in enumerate(_flights(motion)):
        t = np.linspace(first, np.nextafter(last, first), 120)
        values = points.motion(*motion(t))[names.index(quantity)][..., component]
        for k, name in enumerate(names_of_points):
            twin = TWINS.get(name)
            color = COLORS[single.index(twin or name) % len(COLORS)]
            label_once = name if number == 0 else None
            axis.plot(
                t,
                values[:, k],
                color=color,
                alpha=1.0 if twin else 0.5,
                linestyle="--" if twin else "-",
                label=label_once,
            )
    _mark(axis, motion)
    axis.set_xlabel(label("time t", "s"))
    axis.set_ylabel(title)
    axis.set_title("The eleven points; dashed: second point of each symmetric pair; dotted: impacts")
    legend_beside(axis)


def _flights(motion: Record) -> list[tuple[float, float]]:
    """Return the intervals between impacts."""
    times = [motion.t[0], *(event.time for event in motion.impacts), motion.t[-1]]
    return list(pairwise(times))


def _mark(axis, motion: Record) -> None:
    for event in motion.impacts:
        axis.axvline(event.time, color=GREY, linewidth=0.8, linestyle=":")


def _draw_configurations(figure, dyn: Dynamics, motion: Record, points: Contacts) -> None:
    shape, names = Shape(dyn), [frame.name for frame in points.frames]
    position = [array.name for array in points.motion.outputs].index("position")
    times = [0.0, *(event.time for event in motion.impacts), UNTIL]
    grid = figure.subplots(2, 4).ravel()
    for axis in grid[len(times) :]:
        axis.axis("off")
    for axis, t in zip(grid, times, strict=False):
        picture = Picture(axis, shape.at(motion(t)[0]), shape.system.gravity, motion.walls)
        axis.axis("off")
        struck = [event for event in motion.impacts if event.time == t]
        for event in struck:
            x = picture.camera.project(
                points.motion(*motion(t))[position][[names.index(name) for name in event.points]]
            )
            axis.plot(x[:, 0], x[:, 1], "o", color=RED, markersize=6, zorder=6)
        axis.set_title(f"t = {t:.4f} s" + (f", {', '.join(struck[0].points)}" if struck else ""))


def _draw_first_impact(figure, dyn: Dynamics, motion: Record, points: Contacts) -> None:
    """Draw the points of the first impact with their velocities before and after, the normal and the angle α."""
    axis, event = figure.subplots(), motion.impacts[0]
    shape, names = Shape(dyn), [frame.name for frame in points.frames]
    q = motion(event.time)[0]
    picture = Picture(axis, shape.at(q), shape.system.gravity, motion.walls)
    outputs = [array.name for array in points.motion.outputs]
    for number, (point, angle) in enumerate(zip(event.points, event.angles, strict=True)):
        k = names.index(point)
        before, after = (points.motion(q, v) for v in (event.v_before, event.v_after))
        point_at, normal = before[outputs.index("position")][k], before[outputs.index("frame")][k][0]
        velocities = [state[outputs.index("velocity")][k] for state in (before, after)]
        start = point_at - 0.15 * velocities[0]
        for tail, tip, color, name in (
            (start, point_at, GREY, "velocity before"),
            (point_at, point_at + 0.15 * velocities[1], RED, "velocity after"),
            (point_at, point_at + 0.6 * normal, COLORS[0], "normal"),
        ):
            (x0, y0), (x1, y1) = picture.camera.project(np.array([tail, tip]))[:, :2]
            axis.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.6})
            axis.plot([], [], color=color, label=name if number == 0 else None)
        axis.annotate(
            f"{point}, α = {angle:.2f}°", picture.camera.project(point_at)[:2], (6, -14), textcoords="offset points"
        )
    axis.set_title(f"The first impact, t = {event.time:.4f} s")
    legend_beside(axis)


def _draw_energy(figure, dyn: Dynamics, motion: Record) -> None:
    axis = figure.subplots()
    for number, (first, last) in enumerate(_flights(motion)):
        t = np.linspace(first, np.nextafter(last, first), 120)
        kinetic, potential = dyn.energy(*motion(t))
        for k, (name, values) in enumerate(
            (("kinetic", kinetic), ("potential", potential), ("total", kinetic + potential))
        ):
            axis.plot(t, values, color=COLORS[k], label=name if number == 0 else None)
    _mark(axis, motion)
    axis.set_xlabel(label("time t", "s"))
    axis.set_ylabel(label("energy", "J"))
    axis.set_title("Energy of the robot; dotted: impacts")
    legend_beside(axis)
