"""Errors in published numbers of classic constrained mechanisms; the section `constraints` shows them."""

from __future__ import annotations

from appell_lab.papers.ledger.item import Assumption, Erratum

CLASSICS = (
    Erratum(
        "Andrews' squeezer, reference solution of the Test Set for IVP Solvers",
        "nine of its sixteen digits are correct: β(0.03 s) is 15.810771195153707, printed 15.81077119629904. Positions "
        "are off by 3e-10, velocities by 5e-8, accelerations and forces by 1.3e-6, as if evaluated 1e-12 s late; "
        "parameters and initial values agree.",
        "tests/lab/papers/test_constraints_page.py::test_the_squeezer_agrees_with_the_reference_at_the_start_and_after_0_03_s",
    ),
    Erratum(
        "Whipple's bicycle, Table 2 of Meijaard 2007",
        "correct to 5e-14, but not everywhere in the last digit: at 5 m/s castering is -14.07838969279825 (printed "
        "...822) and the weave -0.77534188219584 (printed ...585).",
        "constraints: The same: eigenvalues, Table 2",
    ),
)
CHOICES = (
    Assumption(
        "constraints",
        "a snakeboard with our own parameters",
        "It is compared with reduced equations of the same board, integrated by an independent program.",
    ),
    Assumption(
        "constraints",
        "one of the five rows of Bricard's linkage carries no force",
        "A loop that moves despite its number of rows has a redundant row; which one carries no force is a choice.",
    ),
)
