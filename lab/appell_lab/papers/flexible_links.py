"""Flexible links: frequencies of beams and manoeuvres of flexible arms beside published or independent numbers.

Where no published number is known with enough digits, an independent computation is named: characteristic equations,
a power series of the rotating beam, chains of rigid segments with springs (Hencky), and Exudyn's ANCF cables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.dynamics import Dynamics
from appell.dynamics.vibration import frequencies
from appell.model.actuator import Actuator
from appell.model.beam import beam
from appell.model.body import Body
from appell.model.constraint import Gear, Point, Prescribed
from appell.model.frame import Frame
from appell.model.joints import Fixed, Prismatic, Revolute
from appell.model.robot import ConstrainedRobot, Joint, Link, Robot
from appell.model.shapes import box, rod
from appell.show.plot.style import label, line_style
from appell.simulation import Solver, simulate
from appell_lab.papers.page import Page

SOURCES = (
    "Frequencies of a clamped beam: β L = 1.87510, 4.69409, 7.85476, 10.99554 (textbooks); with a tip mass: Hindawi, "
    "Mathematical Problems in Engineering 2017, 1568019, Table 1.",
    "A. D. Wright, C. E. Smith, R. W. Thresher, J. L. C. Wang: Vibration modes of centrifugally stiffened beams. "
    "Journal of Applied Mechanics 49, 1982; the numbers are from memory of the widely reprinted table.",
    "A. G. Greenhill 1881: critical height of a column under its own weight, ρ A g L³ / EI = 7.8373.",
    "T. R. Kane, R. R. Ryan, A. K. Banerjee: Dynamics of a cantilever beam attached to a moving base. Journal of "
    "Guidance, Control, and Dynamics 10, 1987; J. C. Simo, L. Vu-Quoc 1986: the spin-up manoeuvre.",
    "Slider-crank with a flexible rod: dimensions of the widely used benchmark (crank 0.15 m at 150 rad/s, steel rod "
    "of 0.3 m and 6 mm diameter, slider of half the mass of the rod).",
)
CLAMPED = (3.516015, 22.03449, 61.69721, 120.9019)  # (β L)²
TIP_MASS = (1.557298, 16.25009, 50.89584, 105.1983)  # a load with the mass of the beam
FLAP = {0: (3.516, 22.0345), 1: (3.6816, 22.181), 2: (4.1373, 22.6149), 5: (6.4495, 25.4461), 10: (11.2023, 33.6404)}
GREENHILL = 7.8373
SPIN_TIMES = (2.5, 5.0, 6.0, 6.5, 7.0, 7.5, 10.0, 15.0)  # s
SPIN_EXUDYN = (
    -0.151281,
    -0.468435,
    -0.543590,
    -0.569934,
    -0.571296,
    -0.559117,
    -0.362873,
    0.001301,
)  # 8 ANCF cables, m
UNIT: dict[str, Any] = {"EI": 1.0, "mass_per_length": 1.0}


def run(page: Page) -> None:
    for source in SOURCES:
        page.note(f"[dim]{source}[/]")
    page.console.print()
    _beams(page)
    _rotating(page)
    _spin_up(page)
    _pendulum(page)
    _slider_crank(page)


def on_hinge(body: Any, gravity: Sequence[float] = (0.0, 0.0, 0.0)) -> Robot:
    """Return a beam on one revolute joint about z."""
    link = Link("beam", None, Joint("hinge", Revolute()), body)
    return Robot("beam", (link,), frames=(Frame("tip", "beam", at="tip"),), gravity=gravity)  # type: ignore[arg-type]


def clamped(robot: Robot, **motion: Any) -> np.ndarray:
    """Return the angular frequencies with the hinge held, rad/s."""
    return 2.0 * np.pi * frequencies(robot, held="hinge", **motion).hertz


def critical_weight() -> float:
    """Return ρ A g L³ / EI at which an upright beam buckles under its own weight."""
    column = beam(1.0, bending=(6, 0), shapes="polynomials", **UNIT)

    def lowest(weight: float) -> float:
        stiffness = Dynamics(on_hinge(column, (-weight, 0.0, 0.0))).gravity.jacobian("q")(np.zeros(7))
        return float(np.linalg.eigvalsh(stiffness[1:, 1:])[0])

    return brentq(lowest, 7.0, 9.0, xtol=1e-8)


def _beams(page: Page) -> None:
    ours = clamped(on_hinge(beam(1.0, bending=(4, 0), **UNIT)))
    loaded = on_hinge(beam(1.0, bending=(4, 0), tip_load=(1.0, 0.0), **UNIT)).with_payload(Body(1.0), "tip")
    rows = _compared("clamped, mode", ours, CLAMPED) + _compared("tip mass, mode", clamped(loaded), TIP_MASS)
    rows += _compared("critical weight", [critical_weight()], [GREENHILL])
    columns = ["", "appell", "published", "difference"]
    page.table("Frequencies of beams, ω √(ρ A L⁴ / EI), and buckling", columns, rows)


def _rotating(page: Page) -> None:
    rows = []
    for eta, published in FLAP.items():
        hub = Link("hub", None, Joint("hinge", Revolute()), box(1.0, 0.1, 0.1, 0.1))
        blade = Link("blade", "hub", Joint("clamp", Fixed()), beam(1.0, bending=(0, 8), shapes="polynomials", **UNIT))
        rotor = Robot("rotor", (hub, blade), gravity=(0.0, 0.0, 0.0))  # type: ignore[arg-type]
        spin = np.array([float(eta), *(0.0,) * 8])
        rows += _compared(f"η = {eta}, flap", clamped(rotor, v=spin)[:2], published)
    page.table("Rotating beam: flapping frequencies at the spin η", ["", "appell", "published", "difference"], rows)


def spin_up(stiffening: bool | str, times: Sequence[float] | np.ndarray = SPIN_TIMES) -> np.ndarray:
    """Return the tip deflection (m) of a beam that is spun up to 6 rad/s in 15 s, with three modes."""
    robot = on_hinge(beam(10.0, EI=1.4e4, mass_per_length=1.2, bending=(3, 0), stiffening=stiffening))
    n, inversion = robot.nq, Dynamics(robot).joint_inversion

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        acceleration = 0.4 * (1.0 - np.cos(2.0 * np.pi * t / 15.0)) if t < 15.0 else 0.0
        return np.concatenate([y[n:], inversion(y[:n], y[n:], [acceleration])[1]])

    solution = solve_ivp(rate, (0.0, times[-1]), np.zeros(2 * n), "DOP853", times, rtol=1e-8, atol=1e-10)
    return solution.y[1:n].sum(axis=0)


def _spin_up(page: Page) -> None:
    second, full, without = (spin_up(kind) for kind in (True, "full", False))
    rows = [
        [f"{t:g} s", f"{a:.4f}", f"{b:.4f}", f"{c:.4g}", f"{e:.4f}", f"{a - e:+.4f}"]
        for t, a, b, c, e in zip(SPIN_TIMES, second, full, without, SPIN_EXUDYN, strict=True)
    ]
    page.table(
        "Spin-up: deflection of the tip, m",
        ["", "second order", "all terms", "no stiffening", "Exudyn", "difference"],
        rows,
        note="The published curve (from memory of the figure) has its largest deflection of about -0.58 m near 6.5 s; "
        "Exudyn's and appell's are computations. The difference is that of the default, second order, from eight ANCF "
        "cables of Exudyn 1.13.6. Without stiffening the motion diverges.",
    )
    times = np.linspace(0.05, 20.0, 400)
    page.figure("spin-up", lambda figure: _draw_tip(figure, times, spin_up(True, times)))


def _draw_tip(figure: Any, times: np.ndarray, tip: np.ndarray) -> None:
    axis = figure.subplots()
    axis.plot(times, tip, **line_style(0))
    axis.set(title="Spin-up of a beam", xlabel=label("time t", "s"), ylabel=label("deflection of the tip", "m"))


def hencky(segments: int, EI: float, mass_per_length: float, length: float) -> Robot:
    """Return a chain of rigid segments with springs, half a segment at both ends, hinged at its root."""
    size, links = length / segments, []
    sizes = [0.5 * size] + [size] * (segments - 1) + [0.5 * size]
    for k, here in enumerate(sizes):
        spring = Actuator(stiffness=EI / size) if k else Actuator()
        at = Pose(translation=Vec3(sizes[k - 1] if k else 0.0, 0.0, 0.0))
        joint = Joint(f"joint{k}", Revolute(), at, actuator=spring)
        body = rod(mass_per_length * here, here, com=(0.5 * here, 0.0, 0.0))
        links.append(Link(f"segment{k}", f"segment{k - 1}" if k else None, joint, body))
    end = Frame("tip", links[-1].name, Pose(translation=Vec3(sizes[-1], 0.0, 0.0)))
    return Robot("chain", tuple(links), frames=(end,), gravity=(0.0, -9.81, 0.0))  # type: ignore[arg-type]


def falling_tip(robot: Robot, time: float = 0.4) -> np.ndarray:
    """Return the position of the tip (m) after falling from the horizontal."""
    dyn = Dynamics(robot)
    motion = simulate(dyn, until=time, solver=Solver(rtol=1e-9, atol=1e-10), progress=False, t_eval=[time])
    return np.asarray(dyn.pose("tip", motion.q[-1]))[:2, 3]


def _pendulum(page: Page) -> None:
    size: dict[str, Any] = {"EI": 5.0, "mass_per_length": 0.5}
    coarse, fine = (falling_tip(hencky(n, length=0.8, **size)) for n in (6, 12))
    exact = fine + (fine - coarse) / 3.0  # the error of the chain is of second order
    rows = []
    for modes in (1, 2, 3):
        ours = falling_tip(on_hinge(beam(0.8, bending=(modes, 0), **size), (0.0, -9.81, 0.0)))
        rows += [
            [f"{modes} modes, {axis}", f"{x:.5f}", f"{y:.5f}", f"{x - y:+.1e}"]
            for axis, x, y in zip("xy", ours, exact, strict=True)
        ]
    page.table(
        "Flexible pendulum after 0.4 s: tip, m",
        ["", "appell", "segments", "difference"],
        rows,
        note="Chains of 6 and 12 rigid segments with springs, extrapolated: an independent computation by appell.",
    )


CRANK, ROD, CRANK_SPEED = 0.15, 0.3, 150.0  # m, m, rad/s
ROD_EI, ROD_MASS_PER_LENGTH = 2e11 * np.pi * 0.006**4 / 64.0, 7870.0 * np.pi * 0.006**2 / 4.0  # steel, 6 mm
CRANK_TIMES = (0.004, 0.012, 0.02, 0.028, 0.036)  # s
EXUDYN_MIDDLES = (0.012076, 0.006771, 0.003243, 0.000088, -0.009993)  # by benchmarks/slider_crank.py


def slider_crank(rod: Sequence[Link], pin: Frame) -> ConstrainedRobot:
    """Return a slider-crank with a prescribed crank, without gravity; `pin` is the end of its rod."""
    crank = Link("crank", None, Joint("crank_joint", Revolute()), box(0.1, 0.1, 0.1, 0.1))
    block = box(0.5 * ROD_MASS_PER_LENGTH * ROD, 0.01, 0.01, 0.01)
    slider = Link("slider", None, Joint("slide", Prismatic(Vec3(1.0, 0.0, 0.0))), block)
    tree = Robot("slider-crank", (crank, *rod, slider), frames=(pin,), gravity=(0.0, 0.0, 0.0))  # type: ignore[arg-type]
    loops = Prescribed(Gear({"crank_joint": 1.0})), Point("pin", "slider", name="wrist")
    return tree.with_loops(*loops, home=[0.0] * (tree.nq - 1) + [CRANK + ROD])


def flexible_slider_crank(modes: int) -> ConstrainedRobot:
    """Return a slider-crank whose rod bends in modes of a beam with pinned ends."""
    body = beam(ROD, EI=ROD_EI, mass_per_length=ROD_MASS_PER_LENGTH, bending=(modes, 0), ends="pinned")
    joint = Joint("rod_joint", Revolute(), Pose(translation=Vec3(CRANK, 0.0, 0.0)))
    return slider_crank([Link("rod", "crank", joint, body)], Frame("pin", "rod", at="tip"))


def segmented_slider_crank(segments: int) -> ConstrainedRobot:
    """Return a slider-crank whose rod is a chain of rigid segments with springs."""
    chain = hencky(segments, ROD_EI, ROD_MASS_PER_LENGTH, ROD)
    first, *others = chain.links
    at = replace(first.joint, placement=Pose(translation=Vec3(CRANK, 0.0, 0.0)))
    return slider_crank([replace(first, parent="crank", joint=at), *others], replace(chain.frames[0], name="pin"))


def turning_crank(robot: ConstrainedRobot, times: Sequence[float] = CRANK_TIMES) -> Any:
    """Return the record of one run from the dead centre, with a straight rod that rotates like a rigid one."""
    start = [-CRANK_SPEED * (1.0 + CRANK / ROD) if name == "joint0" else 0.0 for name in robot.velocity_names]
    motion = {robot.prescribed[0]: lambda t: (CRANK_SPEED * t, CRANK_SPEED, 0.0)}
    solver = Solver(rtol=1e-8, atol=1e-10)
    return simulate(robot, v0=start, until=times[-1], t_eval=times, prescribed=motion, solver=solver, progress=False)


def bent_middle(robot: ConstrainedRobot, q: np.ndarray) -> np.ndarray:
    """Return the deflection of the middle of the rod from the line between its ends, relative to its length."""
    if robot.flexible:
        modes = q[:, robot.tree.modal_span(robot.tree.link("rod"))[0]]
        return modes @ np.sin(0.5 * np.pi * np.arange(1, modes.shape[1] + 1)) / ROD
    angles = np.cumsum(q[:, 1:-1], axis=1)  # of the segments, relative to the crank
    sizes = ROD * np.array([0.5, *(1.0,) * (angles.shape[1] - 2), 0.5]) / (angles.shape[1] - 1)
    ends = np.cumsum(sizes * np.exp(1j * angles), axis=1)
    k = angles.shape[1] // 2
    return (0.5 * (ends[:, k - 1] + ends[:, k]) * np.conj(ends[:, -1]) / np.abs(ends[:, -1])).imag / ROD


def _slider_crank(page: Page) -> None:
    middles = []
    for robot in (flexible_slider_crank(3), segmented_slider_crank(6), segmented_slider_crank(12)):
        middles.append(bent_middle(robot, turning_crank(robot).q))
    ours, coarse, fine = middles
    exact = fine + (fine - coarse) / 3.0
    page.table(
        "Slider-crank with a flexible rod: deflection of the middle relative to the length",
        ["", "appell", "Exudyn", "difference", "segments"],
        [
            [f"{1e3 * t:g} ms", f"{x:.6f}", f"{y:.6f}", f"{x - y:+.1e}", f"{z:.6f}"]
            for t, x, y, z in zip(CRANK_TIMES, ours, EXUDYN_MIDDLES, exact, strict=True)
        ],
        note="Three modes with pinned ends. Exudyn 1.13.6: eight ANCF cables. Segments: rods of 6 and 12 rigid "
        "segments with springs in the same loop, extrapolated, computed by appell. Both are independent of the "
        "equations of flexible links, and neither is a published number: none with enough digits is known to us.",
    )


def _compared(name: str, ours: Sequence[float] | np.ndarray, published: Sequence[float]) -> list[list[str]]:
    pairs = enumerate(zip(ours, published, strict=True), start=1)
    return [[f"{name} {k}", f"{x:.7g}", f"{y:g}" if y > 1e3 else f"{y}", f"{x / y - 1.0:+.1e}"] for k, (x, y) in pairs]
