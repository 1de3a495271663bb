"""Numbers of the classics of constrained motion that are not what they seem; the section `constraints` shows them."""

from __future__ import annotations

from appell_lab.papers.ledger.item import Assumption, Erratum

CLASSICS = (
    Erratum(
        "Andrews' squeezer, reference solution of the Test Set for IVP Solvers",
        "of its sixteen digits nine are right: β(0.03 s) is 15.810771195153707, printed 15.81077119629904. Positions "
        "are off by 3e-10, velocities by 5e-8, accelerations and forces by 1.3e-6, as if read 1e-12 s late; parameters "
        "and start agree.",
    ),
    Erratum(
        "Whipple's bicycle, Table 2 of Meijaard 2007",
        "right to 5e-14, but not in the last digit everywhere: at 5 m/s castering is -14.07838969279825 (printed "
        "...822) and the weave -0.77534188219584 (printed ...585).",
    ),
)
CHOICES = (
    Assumption(
        "constraints",
        "a snakeboard with numbers of our own",
        "It is judged by reduced equations of the same board, by a program that shares nothing with appell.",
    ),
    Assumption(
        "constraints",
        "of Bricard's five rows one carries no force",
        "Loops that move although their rows seem to forbid it have one force too many; which row is idle is a choice.",
    ),
)
