"""Results of the papers that need only the compiled dynamics: operation counts, accelerations and energies."""

from __future__ import annotations

import numpy as np

from appell.compile.function import Function
from appell.describe.dh import DH, from_dh
from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.model.robot import Robot
from appell.show.plot.style import BLUE, GREY, RED, SMALL_PT, label
from appell_lab.papers.page import Page

# multiplications and additions for six joints: Mata et al. 2002, tables 1 to 4
PRINTED = {
    "inverse_dynamics": (96 * 6 - 101, 84 * 6 - 100),
    "bias": (96 * 6 - 108, 83 * 6 - 105),
    "mass_matrix": (482, 426),
    "forward_dynamics": (1042, 905),
}
WALL = 2.5  # m, radius of the circle about the tree robot of Shafei 2018


def run(page: Page) -> None:
    _counts(page)
    _two_body(page)
    _tree(page)


def _counts(page: Page) -> None:
    puma, general = Dynamics(load_tree("puma")), Dynamics(general_arm())
    rows = []
    for name, (mul, add) in PRINTED.items():
        ours, any_arm = _operations(getattr(puma, name)), _operations(getattr(general, name))
        ratio = (mul + add) / sum(ours)
        rows.append([name.replace("_", " "), f"{mul} + {add}", _sum(any_arm), _sum(ours), f"{ratio:.1f}"])
    page.table(
        "Multiplications + additions for six revolute joints",
        ["", "Mata 2002, any arm", "appell, general arm", "appell, PUMA", "print / PUMA"],
        rows,
        note="The printed counts hold for every arm with six joints. Ours are counted on the compiled program of one "
        "arm: an arm in general position, and the PUMA, whose zeros are folded. Equal expressions are computed once, "
        "and only base parameters are used.",
    )


def general_arm(joints: int = 6) -> Robot:
    """Return an arm of revolute joints in general position: no angle, length or inertia can be folded."""
    rng = np.random.default_rng(6)
    rows = []
    for _ in range(joints):
        twist, length, offset = rng.uniform(0.3, 1.2, 3)
        spread = rng.normal(size=(3, 3))
        inertia = spread @ spread.T
        matter = 0.5 * np.trace(inertia) * np.eye(3) - 0.5 * inertia + np.eye(3)
        mass, com = rng.uniform(1.0, 5.0), rng.normal(0.0, 0.2, 3)
        rows.append(DH(twist, length, offset, mass=mass, com=com, inertia=matter.tolist()))
    return from_dh(rows, name="general arm")


def _operations(function: Function) -> tuple[int, int]:
    count = function.count()
    return count.mul, count.add


def _sum(operations: tuple[int, int]) -> str:
    return f"{operations[0]} + {operations[1]}"


def _two_body(page: Page) -> None:
    dyn = Dynamics(load_tree("two-body"))
    degrees = np.arange(0.0, 360.0, 2.0)
    q = np.stack([np.zeros_like(degrees), np.radians(degrees)], axis=-1)
    still = np.zeros_like(q)
    condition = np.linalg.cond(dyn.mass_matrix(q))
    double = dyn.forward_dynamics(q, still, still)
    single = dyn.forward_dynamics(*(array.astype(np.float32) for array in (q, still, still)))
    error = np.abs(single - double).max(axis=-1)
    page.compare(
        "Two bodies of Mata 2002, section 5.1, in double precision",
        [
            ("lowest condition number of M", float(condition.min()), "1.33E4"),
            ("highest condition number of M", float(condition.max()), "5.41E4"),
            ("acceleration of joint 1 at q2 = 0, rad/s²", float(double[0, 0]), "-492.108"),
            ("acceleration of joint 2 at q2 = 0, rad/s²", float(double[0, 1]), "492.132"),
        ],
        against="reference",
        note="The reference is an independent computation; the paper prints only differences between precisions.",
    )
    page.table(
        "The same in single precision: difference from double, rad/s²",
        ["", "appell", "Mata 2002, Gibbs-Appell", "Mata 2002, CRBA"],
        [
            ["largest", f"{error.max():.4f}", "0.5340", "1.2922"],
            ["mean", f"{error.mean():.4f}", "0.0088", "0.2751"],
        ],
        note="The paper does not state how it averages over 180 positions, and single precision depends on the order "
        "of every operation: only orders of magnitude can be compared.",
    )
    page.figure("two-body", lambda figure: _draw_two_body(figure, degrees, condition, error))


def _draw_two_body(figure, degrees, condition, error) -> None:
    above, below = figure.subplots(2, 1, sharex=True)
    above.plot(degrees, condition, color=BLUE)
    above.set(ylabel="condition number", title="Condition number of the inertia matrix", ylim=(0, None))
    below.plot(degrees, error, color=RED)
    below.set(title="Error of float32 accelerations", ylabel=label("largest error", "rad/s²"), ylim=(0, None))
    below.set(xlabel=label("q2", "°"), xlim=(0, 360))
    below.set_xticks(range(0, 361, 45))


def _tree(page: Page) -> None:
    robot = load_tree("tree10")
    kinetic, potential = Dynamics(robot).energy(robot.start, np.zeros(robot.nv))
    page.measure("energy of the tree robot at its start [J]", float(kinetic + potential))
    page.measure("degrees of freedom of the tree robot", robot.nv)
    page.compare("The tree robot of Shafei 2018 at its start", [("energy, J", float(kinetic + potential), "18.66")])
    page.figure("tree10", lambda figure: _draw_tree(figure, robot))


def _draw_tree(figure, robot: Robot) -> None:
    axes = figure.subplots()
    dyn = Dynamics(robot)
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    axes.plot(WALL * np.cos(angle), WALL * np.sin(angle), color=GREY, linewidth=1.2)
    poses = [dyn.pose(link.name)(robot.start) for link in robot.links if link.body is not None]
    rods = np.array([(pose[:2, 3], (pose @ [1.0, 0.0, 0.0, 1.0])[:2]) for pose in poses])
    for rod in rods:
        axes.plot(*rod.T, color=BLUE, linewidth=4, solid_capstyle="round")
    for frame in robot.frames:
        x, y = dyn.pose(frame.name)(robot.start)[:2, 3]
        axes.plot(x, y, "o", color="white", markeredgecolor=BLUE, markersize=5)
        axes.text(*_clear_of(rods, np.array([x, y])), frame.name, ha="center", va="center", fontsize=SMALL_PT)
    axes.set(
        title="Ten rods in a circular wall, at the start",
        aspect="equal",
        xlabel=label("X1", "m"),
        ylabel=label("X2", "m"),
    )


def _clear_of(rods: np.ndarray, joint: np.ndarray, away: float = 0.25) -> np.ndarray:
    """Return the position around a joint that is farthest from all rods, for its name."""
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    candidates = joint + away * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    along = np.linspace(0.0, 1.0, 30)[:, None, None]
    matter = (rods[None, :, 0] * (1.0 - along) + rods[None, :, 1] * along).reshape(-1, 2)
    return candidates[np.linalg.norm(candidates[:, None] - matter, axis=-1).min(axis=1).argmax()]
