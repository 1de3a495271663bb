"""Provenzano, Mata, Ceccarelli, Suñer: two tables, two figures."""

from __future__ import annotations

from appell_lab.papers.ledger.item import Assumption, Erratum, Item, ItemKind, Ledger, at_most, drawn, equals, near

PROVENZANO = Ledger(
    "Provenzano",
    items=(
        Item(
            ItemKind.TABLE,
            "1",
            "operations of the inertia matrix: GAH",
            "counts",
            "Provenzano, Table 1",
            (equals("largest difference of the GAH counts from the printed loops, n = 2 to 10", 0.0),),
            reason="The printed loops with their printed costs per step add up to the printed polynomials.",
        ),
        Item(
            ItemKind.TABLE,
            "1",
            "operations of the inertia matrix: CRBM, NOC",
            "counts",
            "Provenzano, Table 1",
            (equals("Provenzano, Table 1, CRBM and NOC: numbers of 4 that agree", 4.0),),
            missing="The paper does not print which products with 0 and 1 are left out, and quotes these counts from "
            "other authors.",
        ),
        Item(
            ItemKind.TABLE,
            "2",
            "ratios of the errors: velocity to position 0.66, acceleration to position 8.7, mean to largest",
            "puma",
            "Ratios of Table 2",
            (
                near("Table 2, velocity to position [1/s]", 0.661, 0.1),
                near("Table 2, acceleration to position [1/s²]", 8.741, 0.05),
                at_most("Table 2, largest relative difference of mean to largest", 0.05),
            ),
            reason="Measured by the errors of the moduli at steps of 0.1 s.",
        ),
        Item(
            ItemKind.TABLE,
            "2",
            "size of the errors, 2.24e-3 m at most",
            "puma",
            "Table 2 of Provenzano",
            (near("Table 2, largest position error [m]", 0.00224446, 0.01),),
            missing="The motion is unstable without feedback: initial errors grow by a factor of 1e5 in 5 s, so that "
            "the step control, which is not printed in full, determines the size.",
        ),
        Item(
            ItemKind.TABLE,
            "2",
            "processing times 0.57, 0.65 and 0.56 s",
            "puma",
            "Table 2 of Provenzano",
            missing="FORTRAN on a 400 MHz Pentium II; our times are those of the machine that runs the section.",
        ),
        Item(
            ItemKind.FIGURE,
            "1",
            "the robot at the start, and its line",
            "puma",
            "puma_line_provenzano",
            (
                drawn("puma_line_provenzano"),
                at_most("largest distance of the tool from Provenzano's line [m]", 1e-09),
            ),
        ),
        Item(
            ItemKind.FIGURE,
            "2",
            "flow chart of the simulation",
            "puma",
            "provenzano_figure_2",
            (
                drawn("provenzano_figure_2"),
                equals("Provenzano, Figure 2, printed steps of 5 in the recorded order", 5.0),
                equals("Provenzano, Figure 2, inverse dynamics per evaluation of the forward dynamics", 1.0),
            ),
            reason="Drawn from the recorded calls. The steps are those of the text; the copy lacks the drawing.",
        ),
        Item(
            ItemKind.CLAIM,
            "§3",
            "the inertia matrix is the Hessian of the Gibbs function, in O(n²)",
            "counts",
            "Provenzano, Table 1",
            (
                at_most("relative difference of GAH from the Hessian of the Gibbs function, PUMA", 1e-12),
                equals("degree of the GAH counts", 2.0),
            ),
        ),
        Item(
            ItemKind.CLAIM,
            "§1",
            "O(n) methods win only beyond nine links",
            "counts",
            "crossover",
            (
                near("crossover of ABA and composite bodies, as written [joints]", 9.5, 0.06),
                near("crossover of ABA and Gibbs-Appell, as written [joints]", 9.5, 0.06),
            ),
            reason="Nine or ten joints, in link coordinates.",
        ),
        Item(
            ItemKind.CLAIM,
            "§4",
            "the three methods differ from the tenth decimal of the coordinates on",
            "puma",
            "Table 2 of Provenzano",
            (at_most("Provenzano's line, largest difference of the methods [rad]", 1e-09),),
            reason="Its own Table 2 contradicts the claim: positions of the tool differ in the seventh decimal.",
        ),
        Item(
            ItemKind.CLAIM,
            "§5",
            "by Table 2, GAH errs less than CRBM and a little more than ABM",
            "puma",
            "Table 2 of Provenzano",
            (equals("rows of 6 in the printed Table 2 with ABM < GAH < CRBM", 6.0),),
            reason="Its own table states CRBM < GAH < ABM. Differences of 0.04 % in a motion that magnifies "
            "rounding errors do not rank the methods.",
        ),
        Item(
            ItemKind.CLAIM,
            "§5",
            "GAH takes the least time of the three, by operations",
            "counts",
            "Mata 2002, Table 4",
            (at_most("operations of Gibbs-Appell, as written, over the fewest of CRBA and ABA, six joints", 1.0),),
        ),
        Item(
            ItemKind.CLAIM,
            "§5",
            "GAH takes the least time of the three, by the clock",
            "counts",
            "Mata 2002, Table 4",
            (at_most("time of Gibbs-Appell, compiled, over the shortest of CRBA and ABA, PUMA", 1.0),),
            reason="Compiled code of the forward dynamics of the PUMA, in batches on one core.",
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
        Erratum(
            "eqs. (6), (7)",
            "must run downwards, from i = n - 1 to 1.",
            "tests/formulate/test_formulations_agree.py::test_every_inertia_matrix_agrees_with_pinocchio",
        ),
        Erratum(
            "eq. (14)",
            "needs the rotation ʲR_{j-1}, not ⁱR_{i-1}.",
            "tests/formulate/test_formulations_agree.py::test_every_inertia_matrix_agrees_with_pinocchio",
        ),
    ),
)
