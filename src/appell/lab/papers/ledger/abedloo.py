"""Abedloo, Molaei, Taghirad 2014: no table, seven figures."""

from __future__ import annotations

from appell.lab.papers.ledger.item import Assumption, Erratum, Item, ItemKind, Ledger, Ruling

ABEDLOO = Ledger(
    "Abedloo 2014",
    items=(
        Item(ItemKind.FIGURE, "1", "a schematic of the wrist", Ruling.NOT_OF_DYNAMICS, reason="A drawing."),
        Item(ItemKind.FIGURE, "2", "a rigid body and its frame", Ruling.NOT_OF_DYNAMICS, reason="A drawing."),
        Item(
            ItemKind.FIGURE,
            "3",
            "kinematic structure of the wrist",
            Ruling.NOT_OF_DYNAMICS,
            reason="A drawing; `ap.draw(ap.load('agile-wrist'))` has ours.",
        ),
        Item(
            ItemKind.FIGURE,
            "4",
            "block diagram of simulator and controller",
            Ruling.NOT_OF_DYNAMICS,
            "agile-wrist",
            "Closed form against the simulator",
            "A diagram; the simulator of the page is built after it.",
        ),
        Item(
            ItemKind.FIGURE,
            "5",
            "trajectories of simulator and model",
            Ruling.REPRODUCED,
            "agile-wrist",
            "agile_wrist_trajectory",
        ),
        Item(
            ItemKind.FIGURE,
            "6",
            "torques of simulator and model, difference of order 1e-5 N m",
            Ruling.REPRODUCED,
            "agile-wrist",
            "agile_wrist_torques",
        ),
        Item(
            ItemKind.FIGURE,
            "7",
            "differences of the joints, of order 1e-7, 1e-6 and 1e-5",
            Ruling.REPRODUCED,
            "agile-wrist",
            "agile_wrist_errors",
        ),
        Item(
            ItemKind.CLAIM,
            "§II",
            "M, C and G of a spherical robot in closed form, without symbolic differentiation",
            Ruling.REPRODUCED,
            "agile-wrist",
            "The paper's explicit equations",
        ),
    ),
    assumptions=(
        Assumption("agile-wrist", "arcs of radius 0.1 m", "The paper prints a density by length and no radius."),
        Assumption("agile-wrist", "the platform's centre of mass is the centre of the wrist", "None is printed."),
    ),
    errata=(
        Erratum("eq. (31)", "is a product."),
        Erratum("eq. (36)", "is n₁·n₂, with a sign."),
        Erratum("eqs. (44), (45)", "turn by R_i2ᵀ."),
        Erratum("eq. (50)", "each row has its own h_i; h₁ is printed three times."),
        Erratum("eq. (51)", "is inverted: Q = J_actᵀ τ."),
    ),
)
