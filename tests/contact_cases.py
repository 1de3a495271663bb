"""Robots on contacts: reference numbers, and random states.

tests/references/contact_sets.json holds Talos and Go2 on sets of contacts, among them redundant, singular and
contradictory ones, computed by a program that shares no code with appell: dense dynamics with complex numbers, whose
derivatives are complex steps. A second program and Pinocchio agree with it to 1e-13.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

import appell as ap
from appell.dynamics.contacts import ContactSet
from appell_lab.references.contact_peer import CONTACTS, urdf

REFERENCE = json.loads((Path(__file__).parent / "references" / "contact_sets.json").read_text(encoding="utf-8"))
CASES = {case["id"]: case for case in REFERENCE["cases"]}
REGULAR = [number for number, case in CASES.items() if not case["redundant"]]
DEGENERATE = [number for number, case in CASES.items() if case["redundant"]]


@cache
def robot(name: str) -> ap.Robot:
    return ap.load(urdf(name), base="floating")


@cache
def standing(name: str) -> ContactSet:
    """Return the four contacts of a robot."""
    return ap.Dynamics(robot(name)).contacts(**CONTACTS[name])


@cache
def contacts_of(number: int) -> ContactSet:
    """Return the contacts of a case; cases with the same frames share them."""
    case = CASES[number]
    tree, frames = robot(case["robot"]), case["frames"]
    if not any(any(frame["offset"]) for frame in frames) and len(frames) == 4:
        return standing(case["robot"])
    for other in CASES.values():
        if other["id"] < number and (other["robot"], other["frames"]) == (case["robot"], frames):
            return contacts_of(other["id"])
    made = []
    for k, frame in enumerate(frames):
        carrier = tree.frame(frame["name"])
        made.append(ap.Frame(f"c{k}", carrier.body, carrier.pose @ ap.Pose(np.eye(3), frame["offset"])))
    kinds = {3: ap.Touch, 6: ap.Sole}
    dyn = ap.Dynamics(tree.with_frames(made))
    return dyn.contacts(**{f"c{k}": kinds[frame["rows"]](f"c{k}") for k, frame in enumerate(frames)})


def reordered(number: int, values) -> np.ndarray:
    """Return an array with the size of q or v in the order of appell."""
    case = CASES[number]
    tree, values = robot(case["robot"]), np.array(values)
    joints = REFERENCE["joints"][case["robot"]]
    head = len(values) - len(joints)
    return values[[*range(head), *(head + joints.index(link.joint.name) for link in tree.links[1:])]]


def arguments(number: int) -> tuple[np.ndarray, ...]:
    """Return q, v, tau, footholds, active and gains of a case."""
    case = CASES[number]
    footholds = [np.c_[rotation(foot["quaternion"]), foot["position"]] for foot in case["footholds"]]
    state = (reordered(number, case[name]) for name in ("q", "v", "tau"))
    return *state, np.array(footholds), np.array(case["mask"], float), np.array([case["kp"], case["kd"]])


def rotation(quaternion) -> np.ndarray:
    """Return the rotation matrix of a quaternion x y z w."""
    x, y, z, w = quaternion
    u = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 / np.dot(quaternion, quaternion) * (w * u + u @ u)


def stacked(contacts: ContactSet, force) -> np.ndarray:
    """Return forces, (..., nc, 6 or 3), as rows, (..., rows)."""
    return np.concatenate([force[..., k, : row.size] for k, row in enumerate(contacts.rows)], axis=-1)
