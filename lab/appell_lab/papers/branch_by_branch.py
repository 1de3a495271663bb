"""Shafei 2018, §3 to §5 and the Appendix: a tree robot assembled branch by branch, and the number of operations.

Patterns are read from the equations at a configuration without symmetry: an entry is drawn where it is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.algebra.vector import ZERO
from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.formulate.formulations import INVERSE_DYNAMICS, MASS_MATRIX
from appell.formulate.recursion import joint_forces, link_transforms, velocities
from appell.formulate.shafei import BranchEquations, assembled_matrix, assembled_vector, branch_equations, split
from appell.formulate.tree import Tree
from appell.model.robot import Robot
from appell.show.plot.style import COLORS, figure_title
from appell.simulation.contact.impact import impact_equations
from appell_lab.fuzz.random_robots import random_links
from appell_lab.papers.branch_counts import show_counts
from appell_lab.papers.page import Page
from appell_lab.papers.patterns import draw_pattern, mirrored
from appell_lab.references.peer_tree import our_robot

KINDS = {"A": COLORS[0], "B": COLORS[1], "C": COLORS[1], "D": COLORS[2], "E": COLORS[3], "F": COLORS[4]}
TREES = 30  # random trees for the comparison of formulations
Cells = list[list[str]]


def run(page: Page) -> None:
    robot = load_tree("tree10")
    tree = Tree.of(robot)
    rng = np.random.default_rng(2018)
    q, v = rng.uniform(-1.0, 1.0, (2, robot.nv))
    parts = branch_equations(tree, q.tolist(), v.tolist())
    _table(page, robot, parts)
    dyn = Dynamics(robot)
    pairs = (assembled_matrix(tree, parts), dyn.mass_matrix(q)), (assembled_vector(tree, parts), -dyn.bias(q, v))
    off = [np.abs(np.abs(one) - np.abs(other)).max() / np.abs(other).max() for one, other in pairs]
    page.measure("relative difference of the assembled from the tree's equations", max(off))
    page.figure("shafei_figures_2_3", lambda figure: _draw_branches(figure, robot, parts[:1], crossed=True))
    page.figure("shafei_figures_5_6", lambda figure: _draw_branches(figure, robot, parts))
    page.figure("shafei_figures_7_8", lambda figure: _draw_assembled(figure, robot, tree, parts))
    page.figure("shafei_figure_9", lambda figure: _draw_jacobian(figure, robot, q))
    page.figure("shafei_figure_11", lambda figure: _draw_impact(figure, robot, tree, parts, q))
    _agreement(page)
    _missing_term(page)
    show_counts(page)


def _table(page: Page, robot: Robot, parts: Sequence[BranchEquations]) -> None:
    rows = []
    for m, part in enumerate(parts, start=1):
        links = [link for link in part.branch.links if link.name not in part.base]
        virtual = [link.name for link in links if not link.inertia.mass]
        names = ", ".join(link.name for link in links)
        rows.append([str(m), names, ", ".join(virtual) or "none", ", ".join(_names(robot, part.order))])
    page.table(
        "The branches of the robot (Figure 4) according to §3.1.3",
        ["", "links", "massless, as part of an earlier branch", "coordinates"],
        rows,
        note="The following figures are read from the computed equations: a cell is drawn where an entry is not zero. "
        "Crossed cells follow by symmetry and are not computed. Joints are named as in the paper, translations X1 and "
        "X2.",
    )


def _names(robot: Robot, links: Sequence[str]) -> list[str]:
    return [robot.link(name).joint.name for name in links]


def _paper_order(robot: Robot) -> tuple[list[str], np.ndarray]:
    """Return the coordinates in the order of the paper, q₁ ... q₁₀, X₁, X₂, and their indices in ours."""
    return [*robot.velocity_names[2:], *robot.velocity_names[:2]], np.roll(np.arange(robot.nv), -2)


def _letters(part: BranchEquations) -> tuple[Cells, Cells]:
    """Return the blocks A to D of the matrix of a branch and E, F of its right side, for non-zero entries."""
    slides = [name in part.base for name in part.order]
    matrix = [
        ["ABCD"[2 * below + right] if x else "" for x, right in zip(row, slides, strict=True)]
        for row, below in zip(part.matrix, slides, strict=True)
    ]
    return matrix, [["EF"[below] if x else ""] for x, below in zip(part.vector, slides, strict=True)]


def _draw_branches(figure, robot: Robot, parts: Sequence[BranchEquations], crossed: bool = False) -> None:
    rows, pairs = (1, 1) if len(parts) < 2 else (2, 2)
    grid = figure.subplots(rows, 2 * pairs, squeeze=False, width_ratios=(6, 1) * pairs).ravel()
    figure_title(
        figure,
        "Inertia matrix and right side of a branch, Figures 2 and 3"
        if crossed
        else "Inertia matrices and right sides of the four branches, Figures 5 and 6",
    )
    for m, part in enumerate(parts):
        names, (matrix, vector) = _names(robot, part.order), _letters(part)
        left, right = grid[2 * m : 2 * m + 2]
        draw_pattern(left, mirrored(matrix) if crossed else matrix, names, names, KINDS)
        draw_pattern(right, vector, names, ["ℜ"], KINDS)
        left.set_title(f"branch {m + 1}", pad=18)


def _draw_assembled(figure, robot: Robot, tree: Tree, parts: Sequence[BranchEquations]) -> None:
    names, order = _paper_order(robot)
    matrix: np.ndarray = np.array(assembled_matrix(tree, parts))
    right: np.ndarray = np.array(assembled_vector(tree, parts))
    shares = [np.array(assembled_matrix(tree, [part])) != 0.0 for part in parts]
    forces = [np.array(assembled_vector(tree, [part])) != 0.0 for part in parts]
    cells = [[_members(shares, (i, j)) if matrix[i, j] else "" for j in order] for i in order]
    vector = [[_members(forces, (i,)) if right[i] else ""] for i in order]
    colours = dict(zip("1234", (COLORS[0], COLORS[2], COLORS[3], COLORS[4]), strict=True))
    one, two = figure.subplots(1, 2, width_ratios=(5, 1))
    draw_pattern(one, cells, names, names, colours)
    draw_pattern(two, vector, names, ["ℜ"], colours)
    one.set_title("Inertia matrix (Figure 7) and right side (Figure 8): branches that contribute to each entry", pad=18)


def _members(shares: Sequence[np.ndarray], at: tuple[int, ...]) -> str:
    return "".join(str(m) for m, share in enumerate(shares, start=1) if share[at])


def _normal_rows(robot: Robot, q: np.ndarray, points: Sequence[str]) -> np.ndarray:
    """Return nᵀJ of points on circles about the origin."""
    dyn, rows = Dynamics(robot), []
    for name in points:
        x = dyn.pose(name)(q)[:3, 3]
        rows.append(-x @ dyn.jacobian(name, "LOCAL_WORLD_ALIGNED")(q)[:3] / np.linalg.norm(x))
    return np.array(rows)


def _draw_jacobian(figure, robot: Robot, q: np.ndarray) -> None:
    names, order = _paper_order(robot)
    dyn, points = Dynamics(robot), [frame.name for frame in robot.frames]
    J = np.vstack([dyn.jacobian(name, "LOCAL_WORLD_ALIGNED")(q)[:3] for name in points])[:, order]
    rows = [f"{name}, X{axis}" if axis == 1 else f"X{axis}" for name in points for axis in (1, 2, 3)]
    cells = [["j" if abs(x) > 1e-12 else "" for x in row] for row in J]
    axes = figure.subplots()
    draw_pattern(axes, [list(column) for column in zip(*cells, strict=True)], names, rows, {"j": COLORS[0]})
    axes.tick_params(axis="x", rotation=90)
    axes.set_title("Transpose of the Jacobian matrix (Figure 9): three columns per point", pad=34)


def _draw_impact(figure, robot: Robot, tree: Tree, parts: Sequence[BranchEquations], q: np.ndarray) -> None:
    names, order = _paper_order(robot)
    M = np.array(assembled_matrix(tree, parts))[np.ix_(order, order)]
    struck = ("O5", "O9")
    left, _ = impact_equations(M, _normal_rows(robot, q, struck)[:, order], 1.0)
    n, rows = len(M), [*names, *struck]
    cells = [
        [("I" if max(i, j) < n else "−Jᵀn" if i < n else "nᵀJ") if abs(x) > 1e-12 else "" for j, x in enumerate(row)]
        for i, row in enumerate(left)
    ]
    axes = figure.subplots()
    draw_pattern(axes, cells, rows, rows, {"I": COLORS[0], "−": COLORS[1], "n": COLORS[2]})
    axes.set_title("Matrix of the impact of O5 and O9 together (Figure 11)", pad=18)


def _agreement(page: Page) -> None:
    """Compare the Appendix with all other formulations on random trees with joints of all kinds."""
    rng = np.random.default_rng(4)
    trees = [Tree.of(our_robot(random_links(rng, 9, ordinary=True), (0.5, -1.0, -9.0))) for _ in range(TREES)]
    motions = [[*_motion(rng, tree.robot)] for tree in trees]
    rows = []
    for kind, methods in (("inverse dynamics", INVERSE_DYNAMICS), ("inertia matrix", MASS_MATRIX)):
        for name, method in methods.items():
            if name == "shafei" or method.needs:
                continue
            worst = 0.0
            for tree, motion in zip(trees, motions, strict=True):
                arguments = motion if methods is INVERSE_DYNAMICS else motion[:1]
                one, other = (np.array(way(tree, *arguments), float) for way in (methods["shafei"], method))
                worst = max(worst, float(np.abs(one - other).max() / max(1.0, np.abs(other).max())))
            rows.append([kind, name, f"{worst:.1e}"])
    page.measure("largest difference of the Appendix on random trees", max(float(row[2]) for row in rows))
    page.table(
        f"The Appendix against the other formulations on {TREES} random trees with joints of all kinds",
        ["", "formulation", "largest difference"],
        rows,
        note="Relative to the largest entry. Revolute, prismatic, spherical and floating joints, with and without "
        "branches.",
    )


def _motion(rng: np.random.Generator, robot: Robot):
    yield robot.random_configuration(rng, within_limits=False).tolist()
    yield from rng.normal(size=(2, robot.nv)).tolist()


def _missing_term(page: Page) -> None:
    """Show the torques of ω × B₂ω, which (13) omits."""
    rows = []
    for name in ("tree10", "puma"):
        tree, rng = Tree.of(load_tree(name)), np.random.default_rng(13)
        q, v, _ = _motion(rng, tree.robot)
        step, still = link_transforms(tree, q), [0.0] * len(v)
        omegas = velocities(tree, step, v)
        moments = {}
        for link in tree.links:
            omega, (_, B2) = omegas[link.name].angular, split(link.inertia)
            moments[link.name] = ZERO, omega.cross(B2 @ omega)
        moving, resting = (np.array(INVERSE_DYNAMICS["shafei"](tree, q, rate, still)) for rate in (v, still))
        missing = np.array(joint_forces(tree, step, moments))
        rows.append([name, f"{np.abs(moving - resting).max():.4g}", f"{np.abs(missing).max():.2g}"])
        if name == "puma":
            page.measure("largest torque of the term that (13) leaves out, PUMA [N m]", np.abs(missing).max())
    page.table(
        "What equation (13) leaves out: forces of ω × B₂ω at random velocities",
        ["", "largest velocity force, N m", "largest share of the missing term, N m"],
        rows,
        note="(13) has ½ ω̇·J ω̇ for rotation, without ω̇·(ω × J ω). The term is zero in a plane and negligible for "
        "thin rods in space; other bodies have much of their inertia in B₂. The formulation 'shafei' includes the "
        "term.",
    )
