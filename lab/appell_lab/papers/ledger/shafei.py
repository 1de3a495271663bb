"""Shafei, Shafei 2018: three tables, nineteen figures."""

from __future__ import annotations

from appell_lab.papers.ledger.item import Assumption, Erratum, Item, ItemKind, Ledger, Ruling

_PATTERN = "Read from the computed equations: a cell is drawn where an entry is not zero."


def _pattern(number: str, prints: str, title: str) -> Item:
    return Item(ItemKind.FIGURE, number, prints, Ruling.REPRODUCED, "branch-by-branch", title, _PATTERN)


SHAFEI = Ledger(
    "Shafei 2018",
    items=(
        Item(
            ItemKind.TABLE,
            "1",
            "additions of the present work, 146n² + 643n + 165 per branch",
            Ruling.REPRODUCED,
            "branch-by-branch",
            "The Appendix step by step",
            "With full matrices and without (30): the leading term is the printed one, the total is within 5 %.",
        ),
        Item(
            ItemKind.TABLE,
            "1",
            "multiplications of the present work, 253.5n² + 815.5n + 297 per branch",
            Ruling.NOT_REACHABLE,
            "branch-by-branch",
            "The Appendix step by step",
            "The way of counting is not stated; with full matrices the Appendix needs 58n² fewer.",
        ),
        Item(
            ItemKind.TABLE,
            "1",
            "operations of the other two formulations, extended to trees",
            Ruling.NOT_REACHABLE,
            "branch-by-branch",
            "Shafei 2018, Table 1",
            "The extended algorithms and the way of counting are not printed; each of our versions needs fewer.",
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
            "Seven of twenty numbers agree to their last digit, the others within 1.2 %; if impacts are applied up to "
            "0.1 ms early or late, sixteen agree.",
        ),
        Item(
            ItemKind.FIGURE,
            "1",
            "a tree robot inside a curved wall",
            Ruling.REPRODUCED,
            "dynamics",
            "tree10",
        ),
        _pattern("2", "inertia matrix of a branch", "shafei_figures_2_3"),
        _pattern("3", "right side of a branch", "shafei_figures_2_3"),
        Item(
            ItemKind.FIGURE,
            "4",
            "the tree robot of twelve degrees of freedom",
            Ruling.REPRODUCED,
            "dynamics",
            "tree10",
        ),
        _pattern("5", "inertia matrices of the four branches", "shafei_figures_5_6"),
        _pattern("6", "right sides of the four branches", "shafei_figures_5_6"),
        _pattern("7", "inertia matrix of the robot", "shafei_figures_7_8"),
        _pattern("8", "right side of the robot", "shafei_figures_7_8"),
        _pattern("9", "Jacobian matrix of all points", "shafei_figure_9"),
        Item(
            ItemKind.FIGURE,
            "10",
            "the robot at an impact: normal, velocities, angle of attack",
            Ruling.REPRODUCED,
            "impacts",
            "shafei_figure_10",
            "At the first impact of the simulation.",
        ),
        _pattern("11", "matrix of an impact of two points", "shafei_figure_11"),
        *(
            Item(
                ItemKind.FIGURE,
                number,
                f"operations over the number of {what}",
                Ruling.NOT_REACHABLE,
                "branch-by-branch",
                f"shafei-figure-{number}",
                "As for Table 1: one of its six curves is reproduced, and the ranking of the three formulations.",
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
            "§3",
            "branches with shared links massless, added up, give the equations of the tree",
            Ruling.REPRODUCED,
            "branch-by-branch",
            "The Appendix against the other formulations",
        ),
        Item(
            ItemKind.CLAIM,
            "§3",
            "rotation contributes only ½ ω̇·J ω̇ to the Gibbs function, (13)",
            Ruling.REFUTED,
            "branch-by-branch",
            "What equation (13) leaves out",
            "ω̇·(ω × J ω) is missing; the claim holds for planar motion only.",
        ),
        Item(
            ItemKind.CLAIM,
            "§5",
            "3x3 matrices need the fewest operations, 4x4 with Lagrange the most, the combination lies between",
            Ruling.REPRODUCED,
            "branch-by-branch",
            "Shafei 2018, Table 1",
        ),
        Item(
            ItemKind.CLAIM,
            "§5",
            "the combination is a compromise between operations and lengthy formulas",
            Ruling.NOT_REACHABLE,
            "branch-by-branch",
            "Shafei 2018, Table 1",
            "The length of formulas is not measured; 3x3 matrices alone need less than half of the operations.",
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "the robot stays symmetric through all impacts",
            Ruling.REPRODUCED,
            "impacts",
            "shafei_figure_14",
            "From the exact start; points that touch at the same time are solved together.",
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "impulses do not follow relative velocities alone: 8.62 and 8.64 m/s, 31.42 and 4.12 N s",
            Ruling.REPRODUCED,
            "impacts",
            "Table 3 of Shafei 2018",
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "the stability of the responses depends strongly on the step",
            Ruling.REPRODUCED,
            "impacts",
            "Is it the tolerance of the integrator?",
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "the start X1 = X2 = -1.366 m is symmetric",
            Ruling.REFUTED,
            "impacts",
            "The same from the printed digits",
            "It is symmetric at -(1 + √3)/2. From the printed digits the pairs separate at the first impact, and nine "
            "impacts occur instead of five.",
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
            "The text contradicts Table 3, whose 0.5698 s is correct.",
        ),
        Item(
            ItemKind.CLAIM,
            "§6",
            "40 hours of processor time",
            Ruling.NOT_REACHABLE,
            "impacts",
            "Energy of the robot",
            "Another machine and another method; our run takes less than a second.",
        ),
    ),
    assumptions=(
        Assumption(
            "impacts",
            "a wall of radius 2.5 m about the origin",
            "Not printed: time and angle of the first impact give 2.4997 and 2.5001 m (see the table).",
        ),
        Assumption(
            "impacts",
            "the base starts at exactly -(1 + √3)/2 m",
            "The printed -1.366 breaks the symmetry of the start, and with it that of the impacts.",
        ),
        Assumption(
            "impacts", "gravity along -X₂", "Only its magnitude is printed; with this direction the energy is 18.66 J."
        ),
        Assumption(
            "branch-by-branch",
            "T¨ᵥ of (30) by a recursion",
            "The Appendix uses it in step 4 without stating how it is computed.",
        ),
        Assumption(
            "branch-by-branch",
            "for a body that is not a straight rod, B₁ holds mass, first moment and ∫ x² dm, and B₂ the rest",
            "The paper has rods along x only; for them this is the split of the paper.",
        ),
        Assumption(
            "branch-by-branch",
            "branches that meet in one point that moves in the plane",
            "The robot of Table 1 is not described beyond n_b and n_m.",
        ),
    ),
    errata=(
        Erratum("eqs. (7), (8)", "are derivatives with respect to q."),
        Erratum("eqs. (13), (14), (17), (41)", "miss ω × B₂ω; planar motion is not affected."),
        Erratum(
            "eqs. (I), (II)", "in the available copy the factors U₁ₖ T^ₖ₋₁ and U₃ T₀ of A, B and C lack transposes."
        ),
        Erratum(
            "Appendix, steps 1 and 2", "compute T and R of all pairs; later steps use Tᵢ, T^ᵢ and neighbours only."
        ),
        Erratum(
            "Table 2",
            "5.89 is not 2 · 2.94: J' alone violates the triangle inequality by 0.2 %; with the line mass the rods are "
            "possible bodies.",
        ),
        Erratum(
            "Table 3",
            "|ṙ⁺ - ṙ⁻| is that of the normal velocities: 6.32 m/s at the first impact; the full vector has 9.19 m/s.",
        ),
        Erratum(
            "§6",
            "the second impact is at 0.5695 s in the text and at 0.5698 s in Table 3; the computed time is 0.56973 s.",
        ),
        Erratum("§6", "1.08 s for the impact of O2 and O4 must be 0.5698 s."),
    ),
)
