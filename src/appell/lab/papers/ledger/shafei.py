"""Shafei, Shafei 2018: three tables, nineteen figures."""

from __future__ import annotations

from appell.lab.papers.ledger.item import Assumption, Erratum, Item, ItemKind, Ledger, Ruling

_PATTERN = "A pattern of blocks without numbers."

SHAFEI = Ledger(
    "Shafei 2018",
    items=(
        Item(
            ItemKind.TABLE,
            "1",
            "operations of inertia matrix and right side: three formulations",
            Ruling.NOT_REACHABLE,
            "counts",
            "Shafei 2018, Table 1",
            "How it was counted is not stated; every text of ours needs fewer.",
        ),
        Item(
            ItemKind.TABLE,
            "2",
            "parameters of the robot: lengths, masses, inertias, gravity, restitution",
            Ruling.REPRODUCED,
            "dynamics",
            "The tree robot of Shafei 2018",
        ),
        Item(
            ItemKind.TABLE,
            "3",
            "angle of attack, relative velocity and impulse of five impacts",
            Ruling.REPRODUCED,
            "impacts",
            "Table 3 of Shafei 2018",
            "To two or three digits.",
        ),
        Item(
            ItemKind.FIGURE,
            "1",
            "a tree robot inside a curved wall",
            Ruling.REPRODUCED,
            "dynamics",
            "tree10",
        ),
        Item(ItemKind.FIGURE, "2", "inertia matrix of a branch", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        Item(ItemKind.FIGURE, "3", "right side of a branch", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        Item(
            ItemKind.FIGURE,
            "4",
            "the tree robot of twelve degrees of freedom",
            Ruling.REPRODUCED,
            "dynamics",
            "tree10",
        ),
        Item(ItemKind.FIGURE, "5", "inertia matrices of the four branches", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        Item(ItemKind.FIGURE, "6", "right sides of the four branches", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        Item(ItemKind.FIGURE, "7", "inertia matrix of the robot", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        Item(ItemKind.FIGURE, "8", "right side of the robot", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        Item(ItemKind.FIGURE, "9", "Jacobian matrix of a point", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        Item(ItemKind.FIGURE, "10", "the robot at an impact", Ruling.NOT_OF_DYNAMICS, reason="A drawing."),
        Item(ItemKind.FIGURE, "11", "matrix of an impact of two points", Ruling.NOT_OF_DYNAMICS, reason=_PATTERN),
        *(
            Item(
                ItemKind.FIGURE,
                number,
                f"operations over the number of {what}",
                Ruling.NOT_REACHABLE,
                "counts",
                f"shafei-figure-{number}",
                "As Table 1; the order of the three formulations comes out.",
            )
            for number, what in (("12", "links"), ("13", "branches"))
        ),
        *(
            Item(
                ItemKind.FIGURE,
                number,
                what,
                Ruling.REPRODUCED,
                "impacts",
                f"shafei_figure_{number}",
            )
            for number, what in (
                ("14", "X₁ of the points over time"),
                ("15", "velocities along X₁"),
                ("16", "X₂ of the points over time"),
                ("17", "velocities along X₂"),
                ("18", "configurations at the impacts"),
                ("19", "kinetic, potential and total energy"),
            )
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "the energy stays at 18.66 J",
            Ruling.REPRODUCED,
            "impacts",
            "Energy of the robot",
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "O2 and O4 strike at 1.08 s",
            Ruling.REFUTED,
            "impacts",
            "Table 3 of Shafei 2018",
            "The text contradicts Table 3, whose 0.5698 s is right.",
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "40 hours of processor time",
            Ruling.NOT_REACHABLE,
            "impacts",
            "Energy of the robot",
            "Another machine and method; ours takes less than a second.",
        ),
    ),
    assumptions=(
        Assumption(
            "impacts", "a wall of radius 2.5 m about the origin", "Not printed; it follows from the first impact."
        ),
        Assumption(
            "impacts",
            "the base starts at exactly -(1 + √3)/2 m",
            "The printed -1.366 breaks the symmetry of the start, and with it that of the impacts.",
        ),
        Assumption(
            "counts",
            "branches that meet in one point which moves in the plane",
            "The robot of Table 1 is not described beyond n_b and n_m.",
        ),
    ),
    errata=(
        Erratum("eqs. (7), (8)", "are derivatives by q."),
        Erratum("eqs. (13), (14), (17), (41)", "miss ω × B₂ω; planar motion is not affected."),
        Erratum("§6", "1.08 s for the impact of O2 and O4 is 0.5698 s."),
    ),
)
