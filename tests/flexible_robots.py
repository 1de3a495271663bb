"""Robots with flexible links for tests: random trees of rigid and flexible links, and beams on one joint."""

import numpy as np

import appell as ap
from appell.algebra.rotation import Pose, about_axis
from appell.model.joints import unit_axis

KINDS = (ap.Revolute, ap.Revolute, ap.Prismatic, ap.Spherical)


def random_beam(rng, stiffening=True):
    """A beam with modes of all kinds and random dimensions."""
    section = ap.Section.rectangle(*rng.uniform(0.01, 0.03, 2))
    return ap.shapes.beam(
        rng.uniform(0.4, 1.0),
        section,
        E=7e8,
        rho=2700.0,
        bending=(int(rng.integers(1, 3)), int(rng.integers(0, 2))),
        torsion=int(rng.integers(0, 2)),
        extension=int(rng.integers(0, 2)),
        theory=str(rng.choice(["euler-bernoulli", "timoshenko"])),
        damping=1e-4,
        stiffening=stiffening,
    )


def random_flexible_tree(seed, links=4, floating=False, stiffening=True):
    """A tree in which every second link is a beam, with joints on tips and roots and a fixed load on a tip."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(links):
        parent = made[rng.integers(max(0, k - 2), k)] if k else None
        motion = KINDS[rng.integers(len(KINDS))]
        if k == 0 and floating:
            kind = ap.Floating()
        else:
            kind = motion(rng.normal(size=3)) if hasattr(motion, "axis") else motion()
        turn = about_axis(unit_axis(rng.normal(size=3)), rng.uniform(-3, 3))
        body = (
            random_beam(rng, stiffening)
            if k % 2 == 0
            else ap.shapes.box(1.0, *rng.uniform(0.05, 0.3, 3), com=(0.1, 0, 0))
        )
        joint = ap.Joint(f"joint{k}", kind, Pose(turn, rng.uniform(-0.2, 0.2, 3)))
        at = "tip" if parent is not None and parent.modes and rng.random() < 0.8 else None
        made.append(ap.Link(f"link{k}", parent.name if parent else None, joint, body, at=at))
    load = ap.shapes.sphere(0.4, 0.05, com=(0.02, 0.01, 0.03))
    made.append(ap.Link("load", "link0", ap.Joint("weld", ap.Fixed(), np.array([0.01, 0.02, 0.0])), load, at="tip"))
    frames = (
        ap.Frame("tool", "link2", np.array([0.05, -0.02, 0.01]), at="tip"),
        ap.Frame("bolt", made[1].name, np.array([0, 0, 0.1])),
    )
    return ap.Robot(f"tree{seed}", tuple(made), frames=frames)


def one_beam(beam, axis=(0, 0, 1), gravity=(0, 0, 0), placement=None, **actuator):
    """A beam on one revolute joint, with a frame at its tip."""
    joint = ap.Joint("hinge", ap.Revolute(axis), placement or Pose(), **actuator)
    return ap.Robot(
        "beam", (ap.Link("beam", None, joint, beam),), frames=(ap.Frame("tip", "beam", at="tip"),), gravity=gravity
    )
