"""Results of the papers, computed and shown beside the printed ones; one module per section of `appell reproduce`."""

from __future__ import annotations

from dataclasses import dataclass

PAPERS = {  # short name in tables and notes -> full citation
    "Provenzano": "S. Provenzano, V. Mata, M. Ceccarelli, J. L. Suñer: Efficient computation of the generalized "
    "inertial tensor of robots by using the Gibbs-Appell equations. Universities of Los Andes, Valencia and Cassino.",
    "Mata 2002": "V. Mata, S. Provenzano, F. Valero, J. I. Cuadrado: Serial-robot dynamics algorithms for moderately "
    "large numbers of joints. Mechanism and Machine Theory 37, 739-755, 2002.",
    "Valera 2003": "Á. Valera, V. Mata, M. Vallés, F. Valero, N. Rosillo, F. Benimeli: Solving the inverse dynamic "
    "control for low cost real-time industrial robot control applications. Robotica 21(3), 261-269, 2003. "
    "doi:10.1017/S0263574702004769",
    "Abedloo 2014": "E. Abedloo, A. Molaei, H. D. Taghirad: Closed-form dynamic formulation of spherical parallel "
    "manipulators by Gibbs-Appell method. K. N. Toosi University of Technology, Tehran, 2014.",
    "Shafei 2018": "A. M. Shafei, H. R. Shafei: Dynamic modeling of tree-type robotic systems by combining 3×3 "
    "rotation and 4×4 transformation matrices. Springer, published online 4 October 2018.",
}


@dataclass(frozen=True)
class Section:
    """A part of `appell reproduce`: the module with `run(page)`, what it shows, and the papers it reproduces."""

    module: str
    shows: str
    papers: tuple[str, ...]


SECTIONS = {
    name: Section(f"appell_lab.papers.{name.replace('-', '_')}", shows, papers)
    for name, shows, papers in (
        ("dynamics", "operation counts, accelerations and energies", ("Mata 2002", "Shafei 2018")),
        ("puma", "straight lines of the PUMA, simulated from torques", ("Provenzano", "Mata 2002", "Valera 2003")),
        ("counts", "operations as the papers count them", ("Provenzano", "Mata 2002", "Valera 2003")),
        ("branch-by-branch", "a tree robot assembled from its branches, and the cost", ("Shafei 2018",)),
        ("stability", "two very unequal bodies in single precision", ("Mata 2002",)),
        ("impacts", "a tree robot falls inside a curved wall", ("Shafei 2018",)),
        ("agile-wrist", "a spherical parallel robot in closed form", ("Abedloo 2014",)),
        ("constraints", "classic mechanisms with loops, wheels and skates", ()),
        ("flexible-links", "beams, rotating beams, spin-up and a flexible pendulum", ()),
        ("identification", "dynamic parameters of the PUMA from its motion", ("Valera 2003",)),
        ("control", "inverse-dynamics control on a simulated cabinet", ("Valera 2003",)),
    )
}
