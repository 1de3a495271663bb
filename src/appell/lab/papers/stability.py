"""Numerical stability: forward dynamics of two very unequal bodies in single precision, after Mata 2002, §5.1.

The second body, a hundred times as long as the first and a hundred times as heavy, is turned once round in 180 steps.
At each step float32 kernels of five methods are compared with the double precision result.
"""

from __future__ import annotations

import numpy as np

from appell.describe.load import load_tree
from appell.formulate.methods import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, forward_method
from appell.lab.counts.kernels import kernel
from appell.lab.counts.measure import FORWARD, INERTIA
from appell.lab.papers.page import Page

METHODS = {
    "ABA, link coordinates": FORWARD_DYNAMICS["articulated-body"],
    "ABA, base coordinates": FORWARD_DYNAMICS["articulated-body-base"],
    "CRBA, Walker-Orin": forward_method("gauss-jordan", INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["walker-orin"]),
    "CRBA, Featherstone": forward_method(
        "gauss-jordan", INVERSE_DYNAMICS["newton-euler"], MASS_MATRIX["composite-bodies"]
    ),
    "GA, Mata": forward_method("gauss-jordan", INVERSE_DYNAMICS["gibbs-appell"], MASS_MATRIX["hessian-loops"]),
}
PRINTED = {  # Table 5: largest and average difference
    "ABA, base coordinates": (0.4976, 0.01324),
    "CRBA, Walker-Orin": (1.2922, 0.275063),
    "GA, Mata": (0.534002, 0.0087611),
}


def positions() -> np.ndarray:
    """q of the 180 steps: the first joint at 0, the second turning by 2 degrees a step."""
    turned = np.radians(np.arange(0.0, 360.0, 2.0))
    return np.stack([np.zeros_like(turned), turned], axis=-1)


def double_precision() -> tuple[np.ndarray, np.ndarray]:
    """Accelerations at rest without torques, and the condition number of the inertia matrix, at all positions."""
    robot, q = load_tree("two-body"), positions()
    rest = np.zeros(2)
    matrix = kernel(robot, MASS_MATRIX["gibbs-appell"], INERTIA, plain=True)(q)
    return kernel(robot, METHODS["ABA, link coordinates"], FORWARD, plain=True)(q, rest, rest), np.linalg.cond(matrix)


def single_precision() -> dict[str, np.ndarray]:
    """The same accelerations by every method in float32, on the robot's own bodies."""
    robot, q, rest = load_tree("two-body"), positions().astype(np.float32), np.zeros(2, np.float32)
    return {name: kernel(robot, method, FORWARD, plain=True)(q, rest, rest) for name, method in METHODS.items()}


def run(page: Page) -> None:
    exact, condition = double_precision()
    found = single_precision()
    rows = []
    for name, single in found.items():
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
        "Mata 2002, Table 5: double less single precision, acceleration of joint 2 in rad/s²",
        ["float32", "max |Δ|", "mean |Δ|", "mean Δ", "printed max", "printed average"],
        rows,
        note=f"Condition number of M {condition.min():.4g} to {condition.max():.4g}; at q2 = 0 the accelerations are "
        f"{exact[0, 0]:.3f} and {exact[0, 1]:.3f} rad/s².",
    )
    page.note(_verdict(found, exact))
    page.figure("mata-figure-2", lambda figure: _draw(figure, exact, condition, found))


def _verdict(found: dict[str, np.ndarray], exact: np.ndarray) -> str:
    """What of the printed table comes out and what does not, in this run's numbers."""
    change = {name: exact[:, 1] - single[:, 1].astype(float) for name, single in found.items()}
    worst = {name: np.abs(x).max() for name, x in change.items()}
    size = {name: np.abs(x).mean() for name, x in change.items()}
    crba, ours, base = "CRBA, Walker-Orin", "GA, Mata", "ABA, base coordinates"
    larger = "larger than" if worst[crba] > worst[ours] else "no larger than"
    better = worst[base] / worst["ABA, link coordinates"]
    return (
        f"The printed maxima come out in order of magnitude, and that of CRBA is {larger} that of GA. The printed "
        f"ABA is like articulated bodies in base coordinates; in link coordinates they are {better:.0f} times "
        "better. The printed averages make GA 30 times better than CRBA; by mean |Δ| it is "
        f"{size[crba] / size[ours]:.1f} times. They seem to mix two things: for CRBA 0.275 is of the size of our "
        f"mean |Δ|, {size[crba]:.3f}, for GA 0.0088 of that of our signed mean, {abs(change[ours].mean()):.4f}, in "
        "which errors cancel. Float32 errors depend on every rounding, so that another program of the same method "
        "gives other digits; nothing here is adjusted towards the print."
    )


def _draw(figure, exact: np.ndarray, condition: np.ndarray, found: dict[str, np.ndarray]) -> None:
    degrees = np.degrees(positions()[:, 1])
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for name in ("CRBA, Walker-Orin", "GA, Mata", "ABA, base coordinates", "ABA, link coordinates"):
        above.plot(degrees, found[name][:, 0], linewidth=1.0, label=f"{name}, single precision")
    above.plot(degrees, exact[:, 0], "k--", linewidth=1.2, label="double precision")
    above.set(ylabel="acceleration of joint 1 [rad/s²]")
    above.legend(fontsize=8, loc="lower center")
    below.plot(degrees, condition, "k")
    below.set(xlabel="q2 [degrees]", ylabel="condition number of M", yscale="log")
    for axes in (above, below):
        axes.grid(alpha=0.3)
