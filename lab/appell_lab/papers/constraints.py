"""Loops, wheels and skates: the classic benchmarks of constrained motion beside their published numbers.

Andrews' squeezer has three loops in a plane. Bricard's linkage has one loop that moves although it has as many
constraint rows as joints. The bicycle, the disk, the sleigh and the snakeboard have nonholonomic constraints. Results
are compared with closed forms where they exist, and otherwise with independent programs that compute with 40 and 50
digits.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from appell.control.linear import linearize
from appell.dynamics import Dynamics
from appell.show.plot.style import COLORS, GREY, label, legend_beside, line_style
from appell.simulation import Solver, simulate
from appell_lab.papers.classics import Disk, Sleigh, andrews_squeezer, bricard, snakeboard, squeezing
from appell_lab.papers.page import Page
from appell_lab.papers.whipple import CANONICAL, MEIJAARD, STABLE_SPEEDS, Canonical, bicycle, state_matrix

SOURCES = (
    "Test Set for Initial Value Problem Solvers, F. Mazzia, C. Magherini, Bari 2008: Andrews' squeezing mechanism.",
    "IFToMM library of computational benchmark problems, M. González, F. González, A. Luaces, J. Cuadrado, Engineering "
    "with Computers 26, 2010: Bricard's mechanism.",
    "J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab: Linearized dynamics equations for the balance and "
    "steer of a bicycle. Proceedings of the Royal Society A 463, 2007.",
    "Ju. I. Neimark, N. A. Fufaev: Dynamics of Nonholonomic Systems. AMS 1972: rolling disk, sleigh of Chaplygin.",
    "J. Ostrowski, A. Lewis, R. Murray, J. Burdick: Nonholonomic mechanics and locomotion: the snakeboard. ICRA 1994.",
)
TIGHT: dict[str, Any] = {"solver": Solver(rtol=1e-12, atol=1e-12), "progress": False}

SQUEEZED = (  # at 0.03 s: coordinate, solution of the test set, and quadrature of the energy with 40 digits
    ("beta", "15.81077119629904", "15.810771195153707097"),
    ("theta", "-15.75637105984298", "-15.75637105841183947"),
    ("gamma", "0.04082224013073101", "0.040822240119645804858"),
    ("phi", "-0.5347301163226948", "-0.53473011634207959377"),
    ("delta", "0.5244099658805304", "0.52440996587995406937"),
    ("omega", "0.5347301163226948", "0.53473011634207959377"),
    ("epsilon", "1.048080741042263", "1.0480807410419378731"),
)
BRICARD = ("0.2", "-0.260866537928412168", "-1.61321429952613371")  # s, angle and rate of the first bar, by quadrature
SNAKEBOARD = (  # s, position of the board, its heading, speed along it: by reduced equations
    (1.0, ("0.3982490238507516", "0.2762834239975343", "0.7631283350561693", "0.48450340780331785")),
    (2.0, ("0.7928264602904301", "0.5351000529869273", "0.2588953267266207", "0.46686084247438797")),
)


def run(page: Page) -> None:
    for source in SOURCES:
        page.note(f"[dim]{source}[/]")
    page.console.print()
    _squeezer(page)
    _bricard(page)
    _bicycle(page)
    _disk(page)
    _sleigh(page)
    _snakeboard(page)


def digits(ours: float, theirs: str) -> float:
    """Return how many digits two numbers share."""
    error = abs(Decimal(float(ours)) - Decimal(theirs)) / max(abs(Decimal(theirs)), Decimal("1e-300"))
    return 17.0 if error == 0 else min(17.0, -math.log10(float(error)))


def _squeezer(page: Page) -> None:
    robot = andrews_squeezer()
    motion = simulate(Dynamics(robot), until=0.03, torque=squeezing, **TIGHT)
    end = dict(zip(robot.coordinate_names, motion.q[-1], strict=True))
    rows = [
        [
            name,
            f"{end[name]:.15g}",
            exact[:18],
            printed,
            f"{digits(end[name], exact):.1f}",
            f"{digits(float(exact), printed):.1f}",
        ]
        for name, printed, exact in SQUEEZED
    ]
    page.table(
        "Andrews' squeezer after 0.03 s, rad",
        ["", "appell", "by quadrature", "test set", "digits", "digits of the set"],
        rows,
        note="The test set prints sixteen digits. The energy integral, with closed-form positions and 40 digits, "
        "confirms nine of them: the printed solution is as if evaluated 1e-12 s late. Parameters and initial values "
        "agree.",
    )
    page.figure("andrews-squeezer", lambda figure: _angles(figure, motion, robot.coordinate_names, "Andrews' squeezer"))


def _bricard(page: Page) -> None:
    robot, (until, angle, rate) = bricard(), BRICARD
    short = simulate(Dynamics(robot), v0=[-1.0], until=float(until), **TIGHT)
    long = simulate(Dynamics(robot), v0=[-1.0], until=10.0, solver=Solver(rtol=1e-10, atol=1e-10), progress=False)
    q, v = short(float(until))
    page.table(
        "Bricard's linkage",
        ["", "appell", "by quadrature", "digits"],
        [
            [f"angle of bar 1 after {until} s, rad", f"{q[0]:.15g}", angle, f"{digits(q[0], angle):.1f}"],
            ["its rate, rad/s", f"{v[0]:.15g}", rate, f"{digits(v[0], rate):.1f}"],
        ],
        note=f"{len(robot.row_names)} rows of rank {robot.rank} on {robot.tree.nv} joints: by its number of rows it "
        f"could not move; {', '.join(robot.idle_rows)} carries no force. In 10 s the energy stays within "
        f"{np.ptp(long.energy):.1e} J of {long.energy[0]:.4g} J.",
    )
    page.figure("bricard", lambda figure: _angles(figure, long, robot.coordinate_names, "Bricard's linkage"))


def _bicycle(page: Page) -> None:
    robot = bicycle()
    canonical, rows = Canonical.of(robot), []
    for name, i, k, printed in CANONICAL:
        ours = getattr(canonical, name)[i, k]
        rows.append([f"{name}, {i + 1}{k + 1}", f"{ours:.14f}", printed, f"{digits(ours, printed):.1f}"])
    about = "From the nonlinear bicycle, four bodies with rolling wheels, linearised about straight running; the paper "
    about += "derives the linear equations by hand. By a computation with 50 digits the last printed one is not always "
    about += "correct."
    columns = ["", "appell", "printed", "digits"]
    page.table("Whipple's bicycle, the benchmark of Meijaard 2007: its matrices", columns, rows, note=about)
    rows = []
    eigenvalues = {
        speed: np.linalg.eigvals(state_matrix(robot, speed)) for speed in dict.fromkeys(row[0] for row in MEIJAARD)
    }
    for speed, name, real, imaginary in MEIJAARD:
        printed_pole = complex(float(real), float(imaginary))
        pole = min(eigenvalues[speed], key=lambda pole: abs(pole - printed_pole))
        rows.append([f"{speed:g} m/s, {name}", f"{pole.real:.14f}", real, f"{digits(pole.real, real):.1f}"])
        if printed_pole.imag:
            rows.append(["", f"{pole.imag:.14f} i", f"{imaginary} i", f"{digits(pole.imag, imaginary):.1f}"])
    ends = canonical.stable_range()
    for name, ours, printed in zip(("stable from, m/s", "stable up to, m/s"), ends, STABLE_SPEEDS, strict=True):
        rows.append([name, f"{ours:.14f}", printed, f"{digits(ours, printed):.1f}"])
    page.table("The same: eigenvalues, Table 2", columns, rows)
    page.figure("bicycle-eigenvalues", lambda figure: _draw_poles(figure, canonical, ends))


def _disk(page: Page) -> None:
    disk = Disk()
    robot = disk.robot()
    dyn, rows = Dynamics(robot), []
    for theta, yaw in ((1.1, 2.0), (0.8, -3.5), (1.4, 0.9)):
        spin = disk.steady_spin(theta, yaw)
        q = [0.0, 0.0, 0.0, disk.radius * math.sin(theta), math.pi / 2 - theta, 0.0]
        a = dyn.forward_dynamics(q, [yaw, 0.0, spin - yaw * math.cos(theta)], np.zeros(robot.nu))
        rows.append([f"{theta:g} rad, {yaw:g} rad/s", spin, f"{np.abs(a).max():.1e}"])
    page.table(
        "A disk that rolls round: the spin of steady motion, by formula, and what acceleration is left, rad/s²",
        ["axis from vertical, yaw rate", "spin, rad/s", "left"],
        rows,
    )
    rows = []
    for spin in (2.0, disk.critical_spin, 6.0):
        system = linearize(robot, robot.start, [0.0, 0.0, spin], np.zeros(robot.nu))
        poles = system.part(["q_lean", "v_lean", "v_place_w"]).poles
        square = max((poles**2).real, key=abs)
        rows.append([f"{spin:.6g} rad/s", f"{square:.10g}", f"{disk.slope(spin):.10g}"])
    page.table(
        "The same disk rolling straight ahead: the square of its eigenvalue, 1/s²",
        ["spin", "appell", "formula"],
        rows,
        note=f"It stays upright above {disk.critical_spin:.6g} rad/s.",
    )
    page.figure("rolling-disk", lambda figure: _draw_disk(figure, dyn, disk))


def _sleigh(page: Page) -> None:
    body = Sleigh()
    motion = simulate(Dynamics(body.robot()), None, [-1.2, 0.1], 6.0, **TIGHT)
    v, w = body.velocities(-1.2, 0.1, motion.t)
    error = np.abs(motion.v - np.stack([v, w], axis=-1)).max()
    page.note(
        f"Chaplygin's sleigh: within {error:.1e} m/s of its closed form, v = V tanh, ω = V √(m/J) / cosh, for 6 s."
    )
    page.figure(
        "chaplygin-sleigh",
        lambda figure: _draw_path(figure, motion, "A sleigh pushed backwards reverses its direction"),
    )


def _snakeboard(page: Page) -> None:
    robot = snakeboard()
    motion = simulate(Dynamics(robot), None, [0.5, 1.0, 0.0, 0.0], 2.0, torque=_pumping, **TIGHT)
    rows = []
    for t, numbers in SNAKEBOARD:
        q, v = motion(t)
        for name, ours, theirs in zip(
            ("x, m", "y, m", "heading, rad", "speed, m/s"), (*q[:3], v[0]), numbers, strict=True
        ):
            rows.append([f"{t:g} s, {name}", f"{ours:.15g}", theirs, f"{digits(ours, theirs):.1f}"])
    page.table("A snakeboard driven by its rotor", ["", "appell", "reduced equations", "digits"], rows)
    long = simulate(Dynamics(robot), None, [0.5, 1.0, 0.0, 0.0], 20.0, torque=_pumping, progress=False)
    page.figure("snakeboard", lambda figure: _draw_path(figure, long, "Path of a snakeboard driven by its rotor"))


def _pumping(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
    wheel_angle = 0.4 * math.cos(2.0 * t)
    return [
        0.3 * math.sin(2.0 * t),
        -0.6 * (q[4] - wheel_angle) - 0.1 * v[2],
        -0.6 * (q[5] + wheel_angle) - 0.1 * v[3],
    ]


# ---- figures


def _angles(figure, motion, names, title: str) -> None:
    axis = figure.subplots()
    for k, name in enumerate(names):
        width = 3.4 - 0.4 * k  # decreasing, so that equal angles stay visible
        axis.plot(motion.t, motion.q[:, k], **line_style(k), linewidth=width, label=name)
    axis.set(title=title, xlabel=label("time t", "s"), ylabel=label("angle", "rad"))
    legend_beside(axis)


def _draw_poles(figure, canonical: Canonical, stable: tuple[float, float]) -> None:
    axis, speeds = figure.subplots(), np.linspace(0.0, 10.0, 201)
    poles = np.array([canonical.poles(speed) for speed in speeds])
    for k in range(poles.shape[1]):
        axis.plot(speeds, poles[:, k].real, ".", markersize=2.5, color=COLORS[0], label="real part" if not k else None)
        pair = np.where(poles[:, k].imag > 0, poles[:, k].imag, np.nan)
        axis.plot(speeds, pair, ".", markersize=2.5, color=COLORS[1], label="imaginary part" if not k else None)
    axis.axvspan(*stable, color=GREY, alpha=0.2)
    axis.axhline(0.0, color=GREY, linewidth=0.8)
    axis.set(xlabel=label("speed", "m/s"), ylabel=label("eigenvalue", "1/s"), ylim=(-10.0, 10.0))
    axis.set_title("Whipple's bicycle: stable where all real parts are negative")
    legend_beside(axis, markerscale=4)


def _draw_disk(figure, dyn: Dynamics, disk: Disk) -> None:
    for k, (axis, spin) in enumerate(zip(figure.subplots(1, 2), (0.8, 1.2), strict=True)):
        start = [0.0, 0.0, 0.0, disk.radius * math.cos(0.1), 0.1, 0.0]
        motion = simulate(dyn, start, [0.0, 0.0, spin * disk.critical_spin], 8.0, progress=False)
        _plot_path(axis, motion, COLORS[k])
        axis.set_title(f"{spin:g} of the critical spin")


def _draw_path(figure, motion, title: str) -> None:
    axis = figure.subplots()
    _plot_path(axis, motion, COLORS[0])
    axis.set_title(title)


def _plot_path(axis, motion, color: str) -> None:
    q, _ = motion(np.linspace(motion.t[0], motion.t[-1], 1000))
    axis.plot(q[:, 0], q[:, 1], color=color)
    axis.set(xlabel=label("x", "m"), ylabel=label("y", "m"), aspect="equal")
