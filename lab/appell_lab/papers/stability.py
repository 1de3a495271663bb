"""Numerical stability: forward dynamics of two very unequal bodies in single precision, after Mata 2002, §5.1.

The second body, a hundred times as long and a hundred times as heavy as the first, turns by 360 degrees in 180 steps.
At each step float32 kernels of five methods are compared with the double-precision result.

Why articulated bodies in link coordinates lose no digits: an inertia matrix contains the inertia that a joint moves
with all joints outboard locked. Here M₁₁ is the inertia of the heavy body. The inertia of the light body alone follows
by subtracting M₁₂²/M₂₂, which is as large, so that digits are lost in proportion to the condition number of M. The
articulated-body algorithm removes the motion of the joint from a body's inertia, one rank at a time, before passing it
inboard, and never adds what it later subtracts. In base coordinates it does the same at a distance from the joints,
where moments are again differences of large numbers.
"""

from __future__ import annotations

import numpy as np

from appell.compile.function import Function
from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.formulate.formulations import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, forward_method
from appell.model.robot import Robot
from appell.show.plot.style import BLUE, GREY, INK, RED, label, legend_below
from appell_lab.counts.clock import seconds_of
from appell_lab.counts.kernels import kernel
from appell_lab.counts.measure import FORWARD, INERTIA
from appell_lab.papers.page import Page

METHODS = {
    "ABA, link coordinates": FORWARD_DYNAMICS["articulated-body"],
    "ABA, base coordinates": FORWARD_DYNAMICS["articulated-body-base"],
    "CRBA, Walker-Orin": forward_method("gauss-jordan", INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["walker-orin"]),
    "CRBA, Featherstone": forward_method(
        "gauss-jordan", INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["composite-bodies"]
    ),
    "GA, Mata": forward_method("gauss-jordan", INVERSE_DYNAMICS["gibbs-appell"], MASS_MATRIX["hessian-loops"]),
}
ROBOTS = ("puma", "panda", "stanford", "tree10", "two-body")
LENGTHS, BODY_WIDTH = (0.02, 2.0), 0.02  # m
PRINTED = {  # Table 5: largest and average difference
    "ABA, base coordinates": (0.4976, 0.01324),
    "CRBA, Walker-Orin": (1.2922, 0.275063),
    "GA, Mata": (0.534002, 0.0087611),
}


def positions() -> np.ndarray:
    """Return q of the 180 steps: the first joint at 0, the second advancing by 2 degrees per step."""
    turned = np.radians(np.arange(0.0, 360.0, 2.0))
    return np.stack([np.zeros_like(turned), turned], axis=-1)


def double_precision() -> tuple[np.ndarray, np.ndarray]:
    """Return accelerations at rest without torques, and condition numbers of the inertia matrix, at all positions."""
    robot, q = load_tree("two-body"), positions()
    rest = np.zeros(2)
    matrix = kernel(robot, MASS_MATRIX["gibbs-appell"], INERTIA, plain=True)(q)
    return kernel(robot, METHODS["ABA, link coordinates"], FORWARD, plain=True)(q, rest, rest), np.linalg.cond(matrix)


def single_precision() -> dict[str, np.ndarray]:
    """Return the same accelerations by every method in float32, computed from the bodies without base parameters."""
    robot, q, rest = load_tree("two-body"), positions().astype(np.float32), np.zeros(2, np.float32)
    return {name: kernel(robot, method, FORWARD, plain=True)(q, rest, rest) for name, method in METHODS.items()}


def run(page: Page) -> None:
    exact, condition = double_precision()
    accelerations = single_precision()
    rows = []
    for name, single in accelerations.items():
        change = exact[:, 1] - single[:, 1].astype(float)
        printed = PRINTED.get(name)
        rows.append(
            [
                name,
                f"{np.abs(change).max():.3g}",
                f"{np.abs(change).mean():.3g}",
                f"{change.mean():+.2g}",
                *(f"{x:.3g}" for x in printed or ()),
                *([] if printed else ["", ""]),
            ]
        )
    page.table(
        "Mata 2002, Table 5: double minus single precision, acceleration of joint 2 in rad/s²",
        ["float32", "max |Δ|", "mean |Δ|", "mean Δ", "printed max", "printed average"],
        rows,
        note=f"Condition number of M {condition.min():.4g} to {condition.max():.4g}; at q2 = 0 the accelerations are "
        f"{exact[0, 0]:.3f} and {exact[0, 1]:.3f} rad/s².",
    )
    page.note(_verdict(accelerations, exact))
    _measures(page, accelerations, exact, condition)
    _solvers(page, exact)
    page.figure("mata-figure-1", _draw_bodies)
    page.figure("mata-figure-2", lambda figure: _draw(figure, exact, condition, accelerations))
    _robots(page)


def _errors(accelerations: dict[str, np.ndarray], exact: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return the largest and the mean |Δ| of joint 2 by method."""
    changes = {name: np.abs(exact[:, 1] - single[:, 1].astype(float)) for name, single in accelerations.items()}
    return {name: (float(x.max()), float(x.mean())) for name, x in changes.items()}


def _measures(page: Page, accelerations: dict[str, np.ndarray], exact: np.ndarray, condition: np.ndarray) -> None:
    """Measure what the ledger of Mata 2002 judges."""
    errors = _errors(accelerations, exact)
    for name, (largest, _) in PRINTED.items():
        page.measure(f"largest error over print, {name.partition(',')[0]}", errors[name][0] / largest)
    for k, kind in enumerate(("largest", "mean")):
        ratio = errors["CRBA, Walker-Orin"][k] / errors["GA, Mata"][k]
        page.measure(f"{kind} error of CRBA over that of GA, Gauss-Jordan", ratio)
    for frame in ("base", "link"):
        ratio = errors["GA, Mata"][0] / errors[f"ABA, {frame} coordinates"][0]
        page.measure(f"largest error of GA over that of ABA in {frame} coordinates", ratio)
    page.measure("lowest condition number", condition.min())
    page.measure("highest condition number", condition.max())
    page.measure("length of the second body over that of the first", LENGTHS[1] / LENGTHS[0])


def _solvers(page: Page, exact: np.ndarray) -> None:
    """Compare GA with CRBA for other solvers of the linear system, which the claim of the paper does not exclude."""
    robot, q, rest = load_tree("two-body"), positions().astype(np.float32), np.zeros(2, np.float32)
    rows = []
    for title, solver in (("Gauss-Jordan", "gauss-jordan"), ("Cholesky", "cholesky"), ("LDLᵀ", "ldl")):
        methods = {
            "CRBA": forward_method(solver, INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["walker-orin"]),
            "GA": forward_method(solver, INVERSE_DYNAMICS["gibbs-appell"], MASS_MATRIX["hessian-loops"]),
        }
        single = {name: kernel(robot, method, FORWARD, plain=True)(q, rest, rest) for name, method in methods.items()}
        errors = _errors(single, exact)
        rows.append([title, *(f"{errors[name][k]:.3g}" for k in (0, 1) for name in methods)])
        if title != "Gauss-Jordan":
            for k, kind in enumerate(("largest", "mean")):
                page.measure(f"{kind} error of CRBA over that of GA, {title}", errors["CRBA"][k] / errors["GA"][k])
    page.table(
        "Is GA more stable than CRBA with other solvers? Errors of joint 2 in float32, rad/s²",
        ["solver", "max |Δ|, CRBA", "GA", "mean |Δ|, CRBA", "GA"],
        rows,
        note="The paper uses Gauss-Jordan elimination. CRBA is Walker and Orin's.",
    )


def _verdict(accelerations: dict[str, np.ndarray], exact: np.ndarray) -> str:
    """Return a summary of what of the printed table is reproduced, with the numbers of this run."""
    change = {name: exact[:, 1] - single[:, 1].astype(float) for name, single in accelerations.items()}
    worst = {name: np.abs(x).max() for name, x in change.items()}
    size = {name: np.abs(x).mean() for name, x in change.items()}
    crba, ours, base = "CRBA, Walker-Orin", "GA, Mata", "ABA, base coordinates"
    larger = "larger than" if worst[crba] > worst[ours] else "no larger than"
    better = worst[base] / worst["ABA, link coordinates"]
    return (
        f"The printed maxima are reproduced in order of magnitude, and that of CRBA is {larger} that of GA. The "
        f"printed ABA corresponds to articulated bodies in base coordinates; in link coordinates they are {better:.0f} "
        "times more accurate. By the printed averages GA is 30 times more accurate than CRBA; by mean |Δ| it is "
        f"{size[crba] / size[ours]:.1f} times. The averages seem to mix two measures: for CRBA 0.275 has the size of "
        f"our mean |Δ|, {size[crba]:.3f}; for GA 0.0088 has that of our signed mean, {abs(change[ours].mean()):.4f}, "
        "in which errors cancel. Float32 errors depend on every rounding, so that another program of the same method "
        "gives other digits. Nothing here is adjusted to the print."
    )


def _robots(page: Page) -> None:
    """Compare errors and times of float32 forward dynamics of common robots, by the default method and by ABA."""
    rows = []
    for name in ROBOTS:
        robot = load_tree(name)
        ways = [Dynamics(robot, forward=forward).forward_dynamics for forward in (None, "articulated-body")]
        arguments = _states(robot)
        exact = ways[0](*(x.astype(float) for x in arguments))
        errors = [_relative(way(*arguments), exact) for way in ways]
        times = [_seconds(way, arguments) for way in ways]
        rows.append(
            [
                name,
                *(f"{np.quantile(error, share):.0e}" for share in (0.5, 0.99) for error in errors),
                f"{np.quantile(errors[0], 0.99) / np.quantile(errors[1], 0.99):.1f}",
                f"{times[1] / times[0]:.2f}",
            ]
        )
    page.table(
        "Forward dynamics in float32: the default, Gibbs-Appell with LDLᵀ, against ABA in link coordinates",
        ["", "median, LDLᵀ", "ABA", "99 %, LDLᵀ", "ABA", "ratio", "time, ABA / LDLᵀ"],
        rows,
        note="Error of a relative to its largest component, for 2048 random states. For forward dynamics in float32 of "
        "very unequal bodies use Dynamics(robot, forward='articulated-body'); for other robots it gains at most one "
        "digit. It is not the default because of its time (last column); see decision 0035.",
    )


def _states(robot: Robot, count: int = 2048) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q = np.stack([robot.random_configuration(rng) for _ in range(count)])
    v, tau = rng.normal(size=(2, count, robot.nv))
    return q.astype(np.float32), v.astype(np.float32), 5.0 * tau.astype(np.float32)


def _relative(result: np.ndarray, exact: np.ndarray) -> np.ndarray:
    return np.abs(result.astype(float) - exact).max(axis=-1) / np.abs(exact).max(axis=-1)


def _seconds(function: Function, arguments: tuple[np.ndarray, ...], runs: int = 200) -> float:
    out = np.empty((len(arguments[0]), *function.outputs[0].shape), np.float32)
    return min(seconds_of(lambda: function(*arguments, out=out)) for _ in range(runs))


def _draw_bodies(figure) -> None:
    """Draw Figure 1, and the neighbourhood of the first joint."""
    robot = load_tree("two-body")
    overview, detail = figure.subplots(1, 2)
    dyn, q = Dynamics(robot), np.array([0.0, np.radians(30.0)])
    for axes, title, half in ((overview, "The two bodies, q2 = 30°", None), (detail, "Near the first joint", 0.03)):
        for link, length, colour in zip(robot.links, LENGTHS, (RED, BLUE), strict=True):
            pose = dyn.pose(link.name)(q)
            corners = np.array([(0, -1), (1, -1), (1, 1), (0, 1), (0, -1)]) * (length, BODY_WIDTH / 2)
            x, y = (pose[:2, :2] @ corners.T) + pose[:2, 3:4]
            axes.fill(x, y, facecolor=colour, alpha=0.35, edgecolor=colour, label=f"{link.name}, {length:g} m")
            axes.plot(*pose[:2, 3], "o", color=INK, markersize=3)
        axes.set(title=title, aspect="equal", xlabel=label("x", "m"), ylabel=label("y", "m"))
        if half is not None:
            axes.set(xlim=(-half, half), ylim=(-half, half))
    legend_below(figure, overview, 2)


def _draw(figure, exact: np.ndarray, condition: np.ndarray, accelerations: dict[str, np.ndarray]) -> None:
    degrees = np.degrees(positions()[:, 1])
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    above.plot(degrees, exact[:, 0], color=GREY, linewidth=5.0, alpha=0.5, label="double precision")
    for name in ("CRBA, Walker-Orin", "GA, Mata", "ABA, base coordinates", "ABA, link coordinates"):
        above.plot(degrees, accelerations[name][:, 0], linewidth=1.0, label=f"{name}, single precision")
    above.set(ylabel=label("acceleration of joint 1", "rad/s²"))
    above.set(title="Accelerations of joint 1 in single precision, and the condition number")
    legend_below(figure, above, 2)
    below.plot(degrees, condition, color=INK)
    below.set(xlabel=label("q2", "°"), ylabel="condition number", ylim=(0, None), xlim=(0, 360))
    below.set_xticks(range(0, 361, 45))
