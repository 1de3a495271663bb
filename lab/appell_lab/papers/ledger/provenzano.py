"""Provenzano, Mata, Ceccarelli, Suñer: two tables, two figures."""

from __future__ import annotations

from appell_lab.papers.ledger.item import COUNTS_MEASURE, Assumption, Erratum, Item, ItemKind, Ledger, Ruling

PROVENZANO = Ledger(
    "Provenzano",
    items=(
        Item(
            ItemKind.TABLE,
            "1",
            "operations of the inertia matrix: CRBM, NOC, GAH",
            Ruling.REPRODUCED,
            "counts",
            "Provenzano, Table 1",
            COUNTS_MEASURE,
        ),
        Item(
            ItemKind.TABLE,
            "2",
            "ratios of the errors: velocity to position 0.66, acceleration to position 8.7, mean to largest",
            Ruling.REPRODUCED,
            "puma",
            "Ratios of Table 2",
            "Measured by the errors of the moduli at steps of 0.1 s: 0.71, 8.86, and means within 2 % of the print.",
        ),
        Item(
            ItemKind.TABLE,
            "2",
            "size of the errors, 2.24e-3 m at most",
            Ruling.NOT_REACHABLE,
            "puma",
            "Table 2 of Provenzano",
            "The motion is unstable without feedback: initial errors grow by a factor of 1e5 in 5 s, so that the step "
            "control, which is not printed in full, determines the size.",
        ),
        Item(
            ItemKind.TABLE,
            "2",
            "processing times 0.57, 0.65 and 0.56 s",
            Ruling.NOT_REACHABLE,
            "puma",
            "Table 2 of Provenzano",
            "FORTRAN on a 400 MHz Pentium II; our times are those of the machine that runs the section.",
        ),
        Item(
            ItemKind.FIGURE,
            "1",
            "the robot at the start, and its line",
            Ruling.REPRODUCED,
            "puma",
            "puma_line_provenzano",
        ),
        Item(
            ItemKind.FIGURE,
            "2",
            "flow chart of the simulation",
            Ruling.NOT_DYNAMICS,
            "puma",
            "Table 2 of Provenzano",
            "A diagram of the procedure, which the section follows: inverse kinematics, inverse dynamics, integration.",
        ),
        Item(
            ItemKind.CLAIM,
            "§3",
            "the inertia matrix is the Hessian of the Gibbs function, in O(n²)",
            Ruling.REPRODUCED,
            "counts",
            "Provenzano, Table 1",
        ),
        Item(
            ItemKind.CLAIM,
            "§1",
            "O(n) methods win only beyond nine links",
            Ruling.REPRODUCED,
            "counts",
            "crossover",
            "From nine on against composite bodies, from ten on against Gibbs-Appell, both in link coordinates.",
        ),
        Item(
            ItemKind.CLAIM,
            "§4",
            "the three methods differ from the tenth decimal of the coordinates on",
            Ruling.REPRODUCED,
            "puma",
            "Table 2 of Provenzano",
            "Ours differ from the eleventh on. Its own Table 2 contradicts the claim: positions of the tool differ in "
            "the seventh decimal.",
        ),
        Item(
            ItemKind.CLAIM,
            "§5",
            "by Table 2, GAH errs less than CRBM and a little more than ABM",
            Ruling.REFUTED,
            "puma",
            "Table 2 of Provenzano",
            "Its own table states the opposite: 2.24416 (CRBM) < 2.24446 (GAH) < 2.24506 (ABM), and so in all six "
            "rows. Differences of 0.04 % in a motion that magnifies rounding errors do not rank the methods.",
        ),
        Item(
            ItemKind.CLAIM,
            "§5",
            "GAH takes the least time of the three",
            Ruling.REPRODUCED,
            "counts",
            "Mata 2002, Table 4",
            "By the number of operations for six joints. Measured in time, composite bodies in Featherstone's form "
            "with LDLᵀ are faster.",
        ),
    ),
    assumptions=(
        Assumption("puma", "masses, centres and inertias are those of Valera 2003", "No data of the arm are printed."),
        Assumption("puma", "gravity of 9.81 m/s² against z", "Neither size nor direction is printed."),
        Assumption("puma", "the tool is the frame of link 6", "No tool offset is printed."),
        Assumption(
            "puma",
            "d3 = +0.15 m and d4 = +0.433 m in Craig's convention",
            "No data are printed; Valera 2003 has -0.15 and -0.433 with s = [a, d sin α, -d cos α], the same arm.",
        ),
        Assumption(
            "puma",
            "shoulder +, elbow up, wrist +",
            "Eight configurations reach the start; the perspective view does not show which one is drawn.",
        ),
        Assumption(
            "puma",
            "torques are evaluated at every stage of the integrator, Dormand-Prince 5(4)",
            "Only 'Runge-Kutta's five order technique', a tolerance of 1e-6 and 0.1 s are printed.",
        ),
    ),
    errata=(
        Erratum("eqs. (6), (7)", "must run downwards, from i = n - 1 to 1."),
        Erratum("eq. (14)", "needs the rotation ʲR_{j-1}, not ⁱR_{i-1}."),
    ),
)
