"""Abedloo, Molaei, Taghirad 2014: no table, seven figures."""

from __future__ import annotations

from appell_lab.papers.ledger.item import Assumption, Erratum, Item, ItemKind, Ledger, at_least, at_most, drawn, equals

ABEDLOO = Ledger(
    "Abedloo 2014",
    items=(
        Item(
            ItemKind.FIGURE,
            "1",
            "a schematic of the wrist",
            "agile-wrist",
            "agile_wrist_structure",
            (drawn("agile_wrist_structure"),),
            reason="As lines: links are arcs without thickness.",
        ),
        Item(
            ItemKind.FIGURE,
            "2",
            "a rigid body and its frame",
            reason="A drawing.",
        ),
        Item(
            ItemKind.FIGURE,
            "3",
            "kinematic structure of the wrist",
            "agile-wrist",
            "agile_wrist_structure",
            (
                drawn("agile_wrist_structure"),
                at_most("largest gap of the loops, relative to the radius", 1e-06),
            ),
            reason="With the computed axes u, w and v of a pose.",
        ),
        Item(
            ItemKind.FIGURE,
            "4",
            "block diagram of simulator and controller",
            "agile-wrist",
            "agile_wrist_figure_4",
            (
                drawn("agile_wrist_figure_4"),
                equals("Figure 4, printed blocks of 8 in the recorded order", 8.0),
                equals("Figure 4, calls of the controller per evaluation of the simulated robot", 1.0),
            ),
            reason="Drawn from the recorded calls. The blocks are those of the text; the copy lacks the drawing.",
        ),
        Item(
            ItemKind.FIGURE,
            "5",
            "trajectories of simulator and model",
            "agile-wrist",
            "agile_wrist_trajectory",
            (
                drawn("agile_wrist_trajectory"),
                at_most("difference of joint positions [rad]", 1e-06),
            ),
        ),
        Item(
            ItemKind.FIGURE,
            "6",
            "torques of simulator and model, difference of order 1e-5 N m",
            "agile-wrist",
            "agile_wrist_torques",
            (
                drawn("agile_wrist_torques"),
                at_most("difference of motor torques [N m]", 0.0001),
            ),
        ),
        Item(
            ItemKind.FIGURE,
            "7",
            "differences of the joints, of order 1e-7, 1e-6 and 1e-5",
            "agile-wrist",
            "agile_wrist_errors",
            (
                drawn("agile_wrist_errors"),
                at_most("difference of joint positions [rad]", 1e-06),
                at_most("difference of joint velocities [rad/s]", 1e-05),
                at_most("difference of joint accelerations [rad/s²]", 0.0001),
            ),
            reason="Not larger than the printed orders.",
        ),
        Item(
            ItemKind.CLAIM,
            "§II",
            "M, C and G of a spherical robot in closed form, without symbolic differentiation",
            "agile-wrist",
            "The paper's explicit equations",
            (at_most("largest difference of the explicit equations", 1e-12),),
        ),
        Item(
            ItemKind.CLAIM,
            "§V",
            "traditional methods lead to models that are not cost efficient",
            "agile-wrist",
            "The paper's explicit equations",
            missing="No operation counts are printed. The explicit equations need more products than differentiated "
            "poses.",
        ),
        Item(
            ItemKind.CLAIM,
            "§II",
            "M is positive definite",
            "agile-wrist",
            "The paper's explicit equations",
            (at_least("smallest eigenvalue of M [kg m²]", 1e-09),),
        ),
        Item(
            ItemKind.CLAIM,
            "§II",
            "the rate of the Jacobian is J̇ = ∂α/∂q̇, (24), split in halves where a term contains two rates, (47)",
            "agile-wrist",
            "The Coriolis matrix of (47) in halves",
            (at_most("growth of ½ xᵀM x, (47) in halves [1/s]", 1e-09),),
            reason="Assigning half of ψ̇ θ̇ (c × z) to each rate gives the correct C v, but not the rate of J: Ṁ - "
            "2C is not skew, and C is not passive. Assigning the full term to ψ̇ makes it passive.",
        ),
        Item(
            ItemKind.CLAIM,
            "§IV",
            "a platform of 1.351 kg and diag(38.29, 38.29, 4.5) kg cm²",
            "agile-wrist",
            "The platform as a flat plate",
            (at_least("largest possible distance of the platform's centre of mass [m]", 0.001),),
            reason="Possible if its centre of mass is within this distance of the centre; at that distance it is a "
            "flat plate.",
        ),
    ),
    assumptions=(
        Assumption("agile-wrist", "arcs of radius 0.1 m", "The paper prints a density per length and no radius."),
        Assumption(
            "agile-wrist",
            "links are thin arcs from axis to axis, with nothing at the joints",
            "Only their angular lengths and a density per length are printed.",
        ),
        Assumption(
            "agile-wrist",
            "the platform's inertia is about the centre of the wrist",
            "The reference point is not printed; about a displaced centre of mass the inertia about the centre would "
            "be larger.",
        ),
        Assumption(
            "agile-wrist",
            "the platform's centre of mass is the centre of the wrist",
            "None is printed; a centre of mass 0.05165 m above it is shown too, for every branch of the legs.",
        ),
        Assumption(
            "agile-wrist",
            "the legs take the branches +, + and +",
            "The paper does not state which root of (34) it takes.",
        ),
        Assumption(
            "agile-wrist",
            "gains of 1000 N m/rad and 2 N m s/rad",
            "Only 'a high gain PD controller' is printed; closed form and simulator are compared along the same "
            "motion.",
        ),
    ),
    errata=(
        Erratum(
            "eq. (27)",
            "R_i2 is relative to the first arc; the rotation of the second arc is R_i1 R_i2.",
            "tests/formulate/closed_form/test_against_closed_loops.py::test_inverse_kinematics_closes_the_loops",
        ),
        Erratum(
            "eq. (31)",
            "must be a product.",
            "tests/formulate/closed_form/test_agile_wrist_reference.py::test_joint_angles_and_rates_agree_with_the_reference",
        ),
        Erratum(
            "eq. (36)",
            "must be n₁·n₂, with a sign.",
            "tests/formulate/closed_form/test_agile_wrist_reference.py::test_joint_angles_and_rates_agree_with_the_reference",
        ),
        Erratum(
            "eqs. (44), (45)",
            "must rotate with R_i2ᵀ; R_i1ᵀ is printed.",
            "tests/formulate/closed_form/test_agile_wrist_reference.py::test_both_formulations_agree_along_the_trajectory",
        ),
        Erratum(
            "eq. (44)",
            "needs ⁱ²R_i1 ẑ, as in (45); ⁱ¹R_i2 ẑ is printed.",
            "tests/formulate/closed_form/test_agile_wrist_reference.py::test_both_formulations_agree_along_the_trajectory",
        ),
        Erratum(
            "eq. (47)",
            "its last two terms must be one, (c × z) θ̇ ∂ψ̇/∂q̇, for Ṁ - 2C to be skew.",
            "agile-wrist: The Coriolis matrix of (47) in halves",
        ),
        Erratum(
            "eq. (52)",
            "'con' means cos.",
            "tests/formulate/closed_form/test_agile_wrist_reference.py::test_the_trajectory_is_that_of_the_paper",
        ),
        Erratum(
            "eq. (50)",
            "row i needs h_i; h₁ is printed three times.",
            "tests/formulate/closed_form/test_agile_wrist_reference.py::test_both_formulations_agree_along_the_trajectory",
        ),
        Erratum(
            "eq. (51)",
            "is inverted: Q = J_actᵀ τ.",
            "tests/formulate/closed_form/test_agile_wrist_reference.py::test_a_moment_on_the_platform_is_carried_by_the_motors",
        ),
    ),
)
