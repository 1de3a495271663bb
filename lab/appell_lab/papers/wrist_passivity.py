"""Abedloo 2014, eq. (47): the paper's Coriolis matrix beside ours, and the symmetric part of Ṁ - 2C.

Let S be the symmetric part of ½Ṁ - C. Under a controller that feeds C back, the energy ½ xᵀM x of its error x changes
at the spurious rate xᵀS x. Relative to the energy, the largest rate is twice the largest eigenvalue of M⁻¹S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.formulate.spherical import HALVES
from appell.model.mechanism import Mechanism
from appell.show.plot.style import label, legend_beside
from appell_lab.papers.page import Page
from appell_lab.references.verification import paper_trajectory

TIMES = np.linspace(0.0, 4.0, 401)


@dataclass(frozen=True)
class Passivity:
    """Properties of a Coriolis matrix along the trajectory: C v, vᵀ(Ṁ - 2C)v, symmetric part of ½Ṁ - C, growth rate."""

    force: np.ndarray
    along: np.ndarray
    symmetric: np.ndarray
    growth: np.ndarray


def halves(wrist: Mechanism) -> Function:
    """Return the paper's C(q, v), with the term of (47) in halves."""
    bodies: Any = Dynamics(wrist, "explicit").equations.bodies
    robot, inputs = bodies.explicit, {"q": wrist.nq, "v": wrist.nv}
    doc = "The Coriolis matrix of Abedloo 2014 as printed."
    return Function.of("coriolis", inputs, lambda q, v: {"C": robot.coriolis(q, v, HALVES)}, doc, wrist.owner)


def passivity(dyn: Dynamics, matrix) -> Passivity:
    """Evaluate a Coriolis matrix C(q, v) along the trajectory of the paper."""
    q, v, _ = paper_trajectory(TIMES)
    M, C = dyn.mass_matrix(q), matrix(q, v)
    rest = np.einsum("tijk,tk->tij", dyn.mass_matrix.jacobian("q")(q), v) - 2.0 * C
    symmetric = 0.25 * (rest + rest.swapaxes(1, 2))
    growth = [2.0 * eigh(S, M_t, eigvals_only=True)[-1] for S, M_t in zip(symmetric, M, strict=True)]
    along = np.einsum("ti,tij,tj->t", v, rest, v)
    return Passivity(np.einsum("tij,tj->ti", C, v), along, symmetric, np.array(growth))


def show_passivity(page: Page, wrist: Mechanism) -> None:
    dyn, explicit = Dynamics(wrist), Dynamics(wrist, "explicit")
    matrices = {
        "ours, differentiated": passivity(dyn, dyn.coriolis),
        "ours, (47) assigned to ψ̇": passivity(dyn, explicit.coriolis),
        "the paper's, (47) in halves": passivity(dyn, halves(wrist)),
    }
    reference = matrices["ours, differentiated"].force
    page.measure("growth of ½ xᵀM x, (47) in halves [1/s]", matrices["the paper's, (47) in halves"].growth.max())
    page.table(
        "The Coriolis matrix of (47) in halves, as printed, beside ours, 401 instants",
        [
            "",
            "difference of C v, N m",
            "|vᵀ(Ṁ - 2C)v|, W",
            "|symmetric part of ½Ṁ - C|, N m s",
            "growth of ½ xᵀM x, 1/s",
        ],
        [
            [
                name,
                *(f"{np.abs(x).max():.1e}" for x in (one.force - reference, one.along, one.symmetric)),
                f"{one.growth.max():.2g}",
            ]
            for name, one in matrices.items()
        ],
        note="Largest values. In halves, C gives the same forces and no power along v itself, but Ṁ - 2C is not skew: "
        "for an error x other than v, ½ xᵀM x may grow at the rate of the last column without any force. Stability "
        "proofs of controllers that rely on the skew matrix (passivity) do not hold for this C.",
    )
    page.figure("agile_wrist_passivity", lambda figure: _draw(figure, matrices))


def _draw(figure, matrices: dict[str, Passivity]) -> None:
    axes = figure.subplots()
    for style, (name, one) in zip(("-", "--", "-"), matrices.items(), strict=True):
        axes.plot(TIMES, one.growth, style, label=name)
    axes.set_xlabel(label("time t", "s"))
    axes.set_ylabel(label("largest growth rate of ½ xᵀM x", "1/s"))
    axes.set_title("Spurious growth of energy; zero for a passive Coriolis matrix")
    legend_beside(axes)
