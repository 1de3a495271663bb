"""Random closures on a random tree, closed at a random configuration: consistent because they are made there.

Side a stands anywhere on a link. Side b, on another link or on the world, is put where a is at that configuration and
then moved by what the closure leaves free: about and along its axis, in its plane, on a sphere. Wheels touch their
plane there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell_lab.judges.peer_tree import ONE_AXIS, PeerTree, rotation
from appell_lab.judges.plain_closures import Closure

UPRIGHT = 0.8  # cosine of the steepest angle between a wheel's axis and its plane's normal
Turn = np.ndarray
Places = dict[int, tuple[np.ndarray, Turn]]  # of links by number, -1 the world


def random_closures(
    rng: np.random.Generator, peer: PeerTree, q: np.ndarray, most: int = 1, kinds: Sequence[str] = ()
) -> list[Closure]:
    """One to `most` closures that q closes, of some kinds or of all; fewer where a gear finds no joints."""
    places, names = link_places(peer, q), list(kinds or MADE)
    made = (_closure(rng, str(rng.choice(names)), peer, q, places) for _ in range(int(rng.integers(1, most + 1))))
    return [closure for closure in made if closure is not None]


def link_places(peer: PeerTree, q: np.ndarray) -> Places:
    """Origin and axes of every link in the world."""
    peer.pin.forwardKinematics(peer.model, peer.data, peer.q(q))
    found: Places = {-1: (np.zeros(3), np.eye(3))}
    for k in range(len(peer.links)):
        place = peer.data.oMi[peer.model.getJointId(f"joint{k}")]
        found[k] = place.translation.copy(), place.rotation.copy()
    return found


def _closure(rng: np.random.Generator, kind: str, peer: PeerTree, q: np.ndarray, places: Places) -> Closure | None:
    if kind == "gear":
        return _gear(rng, peer, q)
    first = int(rng.integers(len(peer.links)))
    second = int(rng.choice([k for k in places if k != first]))
    R = rotation(rng.normal(size=4).tolist())
    side = {"link": f"link{first}", "xyz": rng.uniform(-0.5, 0.5, 3).tolist(), "rpy": _rpy(peer, R)}
    if kind == "knife":
        return {"type": kind, "a": side}
    x, axes = places[first][0] + places[first][1] @ side["xyz"], places[first][1] @ R
    more, y, turned = MADE[kind](rng, x, axes)
    origin, base = places[second]
    place = {"xyz": (base.T @ (y - origin)).tolist(), "rpy": _rpy(peer, base.T @ turned)}
    return {"type": kind, "a": side, "b": {"link": f"link{second}" if second >= 0 else None, **place}, **more}


def _rpy(peer: PeerTree, R: np.ndarray) -> list[float]:
    return peer.pin.rpy.matrixToRpy(R).tolist()


def _gear(rng: np.random.Generator, peer: PeerTree, q: np.ndarray) -> Closure | None:
    able = [k for k, link in enumerate(peer.links) if link["kind"] in ONE_AXIS and link["leader"] is None]
    if len(able) < 2:
        return None
    ratio = {f"joint{k}": float(rng.uniform(0.2, 2)) for k in rng.choice(able, 2, replace=False)}
    positions = (c * q[peer.robot.span(peer.robot.joint(name))[0]][0] for name, c in ratio.items())
    return {"type": "gear", "ratio": ratio, "offset": float(sum(positions))}


Free = Callable[[np.random.Generator, np.ndarray, Turn], tuple[dict[str, Any], np.ndarray, Turn]]


def _about(k: int, angle: float) -> Turn:
    return rotation([*(np.sin(angle / 2) * np.eye(3)[k]), np.cos(angle / 2)])


def _any(rng: np.random.Generator) -> Turn:
    return rotation(rng.normal(size=4).tolist())


def _slid(rng: np.random.Generator, x: np.ndarray, R: Turn, *axes: int) -> np.ndarray:
    """Moved along some axes."""
    return x + sum(rng.uniform(-0.5, 0.5) * R[:, k] for k in axes)


def _twisted(rng: np.random.Generator, R: Turn) -> Turn:
    """Turned about axis z."""
    return R @ _about(2, rng.uniform(-np.pi, np.pi))


def _on_a_line(rng: np.random.Generator, x: np.ndarray, _: Turn):
    R = _any(rng)
    return {}, _slid(rng, x, R, 2), R


def _in_a_plane(rng: np.random.Generator, x: np.ndarray, _: Turn):
    R = _any(rng)
    return {}, _slid(rng, x, R, 0, 1), R


def _at_a_distance(rng: np.random.Generator, x: np.ndarray, _: Turn):
    away = rng.uniform(0.1, 1.0) * _any(rng)[:, 0]
    return {"length": float(np.linalg.norm(away))}, x + away, _any(rng)


def _under_a_wheel(rng: np.random.Generator, x: np.ndarray, axes: Turn):
    R = _any(rng)
    while abs(R[:, 2] @ axes[:, 1]) > UPRIGHT:
        R = _any(rng)
    n, k, radius = R[:, 2], axes[:, 1], float(rng.uniform(0.05, 0.5))
    e = n - (n @ k) * k
    return {"radius": radius}, _slid(rng, x - radius * e / np.linalg.norm(e), R, 0, 1), R


def _under_a_ball(rng: np.random.Generator, x: np.ndarray, _: Turn):
    R, radius = _any(rng), float(rng.uniform(0.05, 0.5))
    return {"radius": radius}, _slid(rng, x - radius * R[:, 2], R, 0, 1), R


def _alone(rng: np.random.Generator, x: np.ndarray, R: Turn):
    """What has no other side."""
    return {}, x, R


MADE: dict[str, Free] = {
    "point": lambda rng, x, R: ({}, x, _any(rng)),
    "orientation": lambda rng, x, R: ({}, _slid(rng, x, R, 0, 1, 2), R),
    "weld": lambda rng, x, R: ({}, x, R),
    "hinge": lambda rng, x, R: ({}, x, _twisted(rng, R)),
    "universal": lambda rng, x, R: ({}, x, _twisted(rng, R @ _about(0, np.pi / 2))),
    "cylinder": lambda rng, x, R: ({}, _slid(rng, x, R, 2), _twisted(rng, R)),
    "slider": lambda rng, x, R: ({}, _slid(rng, x, R, 2), R),
    "line": _on_a_line,
    "plane": _in_a_plane,
    "flat": lambda rng, x, R: ({}, _slid(rng, x, R, 0, 1), _twisted(rng, R)),
    "distance": _at_a_distance,
    "rolling-disk": _under_a_wheel,
    "rolling-ball": _under_a_ball,
    "knife": _alone,
    "gear": _alone,
}
