"""Random trees as plain numbers, from the ordinary to the extreme, and smaller ones of any of them.

Masses go over twelve decades in some, moments of one body over nine, lengths over six. All of it is physical: principal
moments are sums of second moments, which are not negative.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell_lab.judges.peer_tree import ONE_AXIS, Numbers

KINDS = (*ONE_AXIS, "revolute", "revolute", "spherical", "planar", "floating", "mimic")
STILL = {"xyz": [0.0, 0.0, 0.0], "turn": [0.0, 0.0, 0.0, 1.0]}
PLAIN_BODY = {"mass": 1.0, "com": [0.1, 0.0, 0.0], "moments": [0.01, 0.01, 0.01], "tilt": [0.0, 0.0, 0.0, 1.0]}
Tree = list[Numbers]


def random_links(rng: np.random.Generator, most: int = 6, *, tame: bool = False) -> Tree:
    """One to `most` links; tame ones have ordinary numbers and no rotors."""
    wild_mass, wild_length, wild_body = (rng.random(3) < (0.3, 0.1, 0.3)) & (not tame)
    chain, base = rng.random() < 0.4, rng.random() < 0.25
    links: Tree = []
    for k in range(int(rng.integers(1, most + 1))):
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
                **_place(rng, wild_length),
                **_body(rng, wild_mass, wild_body),
                "leader": None if base and not k else leader,
                "multiplier": float(rng.uniform(-2, 2)),
                "offset": float(rng.uniform(-1, 1)),
                "rotor": 0.0,
            }
        )
        if links[-1]["kind"] in ONE_AXIS and rng.random() < 0.2 and not tame:
            links[-1]["rotor"] = float(np.exp(rng.uniform(np.log(1e-6), np.log(10.0))))
    return links


def _place(rng: np.random.Generator, wild: bool) -> Numbers:
    size = 10.0 ** rng.uniform(-3, 3) if wild else 0.5
    xyz = np.zeros(3) if rng.random() < 0.1 else size * rng.uniform(-1, 1, 3)
    if rng.random() < 0.3:
        xyz *= np.eye(3)[rng.integers(3)]
    square = [[0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, -1], [0, 0, 1, 1], [1, 1, 1, 1]]
    turn = np.array(square[rng.integers(len(square))], float) if rng.random() < 0.4 else rng.normal(size=4)
    return {"xyz": xyz.tolist(), "turn": (turn / np.linalg.norm(turn)).tolist()}


def _body(rng: np.random.Generator, wild_mass: bool, wild: bool) -> Numbers:
    mass = 10.0 ** rng.uniform(-6, 6) if wild_mass else rng.uniform(0.1, 10.0)
    size = 10.0 ** rng.uniform(-4, 0) if wild else rng.uniform(0.02, 0.3)
    second = mass * size**2 * (10.0 ** rng.uniform(-9, 0, 3) if wild else rng.uniform(0.2, 1.0, 3))
    turned = rng.random() < 0.5
    if turned and wild:
        second = np.maximum(second, 1e-6 * second.max())  # or turning it would break the triangle by rounding
    com = size * rng.normal(size=3) * (rng.random() < 0.9)
    tilt = rng.normal(size=4) if turned else np.array([0.0, 0.0, 0.0, 1.0])
    moments = second.sum() - second
    return {"mass": float(mass), "com": com.tolist(), "moments": moments.tolist(), "tilt": tilt.tolist()}


def fewer_links(links: Tree) -> Iterator[Tree]:
    """The tree without one of its links that carries nothing and that no joint follows."""
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
PLAINER_JOINTS: tuple[Numbers, ...] = (STILL, {"leader": None}, {"axis": [0.0, 0.0, 1.0]}, {"kind": "revolute"})


def plainer_links(links: Tree) -> Iterator[Tree]:
    """The tree with something of one link made plain."""
    yield from _plainer(links, (*PLAINER_BODIES, *PLAINER_JOINTS))


def plainer_bodies(links: Tree) -> Iterator[Tree]:
    """The tree with something of one body made plain; its joints stay where they are."""
    yield from _plainer(links, PLAINER_BODIES)


def _plainer(links: Tree, changes: tuple[Numbers, ...]) -> Iterator[Tree]:
    for k, link in enumerate(links):
        for change in changes:
            if change.items() <= link.items() or ("kind" in change and link["kind"] not in ONE_AXIS):
                continue
            yield [dict(other) | (change if i == k else {}) for i, other in enumerate(links)]
