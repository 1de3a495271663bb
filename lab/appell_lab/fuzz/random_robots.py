"""Random trees as plain numbers, with ordinary or extreme values, and their reduction to simpler trees.

In some trees masses span twelve decades, the moments of one body nine, and lengths six. All bodies are physical:
principal moments are sums of second moments, which are not negative.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell_lab.references.peer_tree import ONE_AXIS, Numbers

KINDS = (*ONE_AXIS, "revolute", "revolute", "spherical", "planar", "floating", "mimic")
IDENTITY_PLACEMENT = {"xyz": [0.0, 0.0, 0.0], "turn": [0.0, 0.0, 0.0, 1.0]}
PLAIN_BODY = {"mass": 1.0, "com": [0.1, 0.0, 0.0], "moments": [0.01, 0.01, 0.01], "tilt": [0.0, 0.0, 0.0, 1.0]}
Tree = list[Numbers]


def random_links(rng: np.random.Generator, max_links: int = 6, *, ordinary: bool = False) -> Tree:
    """Return one to `max_links` random links; ordinary ones have no extreme values and no rotors."""
    extreme_mass, extreme_length, extreme_body = (rng.random(3) < (0.3, 0.1, 0.3)) & (not ordinary)
    chain, base = rng.random() < 0.4, rng.random() < 0.25
    links: Tree = []
    for k in range(int(rng.integers(1, max_links + 1))):
        parent = k - 1 if chain or not k else int(rng.integers(-1, k))
        kind, leader = str(rng.choice(KINDS)), None
        if kind == "floating":
            kind = "floating" if base and not k else "revolute"
        if kind == "mimic":
            kind = str(rng.choice(ONE_AXIS))
            leaders = [i for i, link in enumerate(links) if link["kind"] in ONE_AXIS and link["leader"] is None]
            leader = int(rng.choice(leaders)) if leaders else None
        links.append(
            {
                "kind": "floating" if base and not k else kind,
                "parent": parent,
                "axis": np.eye(3)[rng.integers(3)].tolist() if rng.random() < 0.5 else rng.normal(size=3).tolist(),
                **_placement(rng, extreme_length),
                **_body(rng, extreme_mass, extreme_body),
                "leader": None if base and not k else leader,
                "multiplier": float(rng.uniform(-2, 2)),
                "offset": float(rng.uniform(-1, 1)),
                "rotor": 0.0,
            }
        )
        if links[-1]["kind"] in ONE_AXIS and rng.random() < 0.2 and not ordinary:
            links[-1]["rotor"] = float(np.exp(rng.uniform(np.log(1e-6), np.log(10.0))))
    return links


def _placement(rng: np.random.Generator, extreme: bool) -> Numbers:
    size = 10.0 ** rng.uniform(-3, 3) if extreme else 0.5
    xyz = np.zeros(3) if rng.random() < 0.1 else size * rng.uniform(-1, 1, 3)
    if rng.random() < 0.3:
        xyz *= np.eye(3)[rng.integers(3)]
    right_angles = [[0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, -1], [0, 0, 1, 1], [1, 1, 1, 1]]
    turn = np.array(right_angles[rng.integers(len(right_angles))], float) if rng.random() < 0.4 else rng.normal(size=4)
    return {"xyz": xyz.tolist(), "turn": (turn / np.linalg.norm(turn)).tolist()}


def _body(rng: np.random.Generator, extreme_mass: bool, extreme: bool) -> Numbers:
    mass = 10.0 ** rng.uniform(-6, 6) if extreme_mass else rng.uniform(0.1, 10.0)
    size = 10.0 ** rng.uniform(-4, 0) if extreme else rng.uniform(0.02, 0.3)
    second = mass * size**2 * (10.0 ** rng.uniform(-9, 0, 3) if extreme else rng.uniform(0.2, 1.0, 3))
    rotated = rng.random() < 0.5
    if rotated and extreme:
        second = np.maximum(second, 1e-6 * second.max())  # else rotation would violate the triangle inequality
    com = size * rng.normal(size=3) * (rng.random() < 0.9)
    tilt = rng.normal(size=4) if rotated else np.array([0.0, 0.0, 0.0, 1.0])
    moments = second.sum() - second
    return {"mass": float(mass), "com": com.tolist(), "moments": moments.tolist(), "tilt": tilt.tolist()}


def fewer_links(links: Tree) -> Iterator[Tree]:
    """Yield the tree without one of the links that have no children and no mimic joints."""
    for k in reversed(range(len(links))):
        used = any(link["parent"] == k or link["leader"] == k for link in links)
        if not used and len(links) > 1:
            rest = [dict(link) for i, link in enumerate(links) if i != k]
            for link in rest:
                link["parent"] -= link["parent"] > k
                if link["leader"] is not None:
                    link["leader"] -= link["leader"] > k
            yield rest


PLAINER_BODIES: tuple[Numbers, ...] = (
    PLAIN_BODY,
    {"rotor": 0.0},
    {"tilt": PLAIN_BODY["tilt"]},
    {"com": [0.0, 0.0, 0.0]},
    {"mass": 1.0},
)
PLAINER_JOINTS: tuple[Numbers, ...] = (
    IDENTITY_PLACEMENT,
    {"leader": None},
    {"axis": [0.0, 0.0, 1.0]},
    {"kind": "revolute"},
)


def plainer_links(links: Tree) -> Iterator[Tree]:
    """Yield the tree with one property of one link replaced by a simple value."""
    yield from _plainer(links, (*PLAINER_BODIES, *PLAINER_JOINTS))


def plainer_bodies(links: Tree) -> Iterator[Tree]:
    """Yield the tree with one property of one body replaced by a simple value; joints do not change."""
    yield from _plainer(links, PLAINER_BODIES)


def _plainer(links: Tree, changes: tuple[Numbers, ...]) -> Iterator[Tree]:
    for k, link in enumerate(links):
        for change in changes:
            if change.items() <= link.items() or ("kind" in change and link["kind"] not in ONE_AXIS):
                continue
            yield [dict(other) | (change if i == k else {}) for i, other in enumerate(links)]
