"""Random closures of a random tree that are closed at a random configuration, by construction.

Side a is placed anywhere on a link. Side b, on another link or on the world, is placed where a is at the configuration,
and then moved along the degrees of freedom of the closure: about and along its axis, in its plane, on a sphere. Wheels
touch their plane there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell_lab.references.peer_tree import ONE_AXIS, PeerTree, rotation
from appell_lab.references.plain_closures import Closure

MAX_AXIS_COSINE = 0.8  # largest cosine of the angle between a wheel's axis and the normal of its plane
Axes = np.ndarray  # a rotation matrix
Poses = dict[int, tuple[np.ndarray, Axes]]  # origin and axes of links by number; -1 is the world


def random_closures(
    rng: np.random.Generator, peer: PeerTree, q: np.ndarray, max_closures: int = 1, kinds: Sequence[str] = ()
) -> list[Closure]:
    """Return random closures that are closed at q.

    Parameters
    ----------
    rng : random generator
    peer : the tree
    q : configuration
    max_closures : largest number of closures; there are fewer if a gear has no two joints to connect
    kinds : kinds of closures; empty: all
    """
    poses, names = link_poses(peer, q), list(kinds or PLACED)
    count = int(rng.integers(1, max_closures + 1))
    closures = (_closure(rng, str(rng.choice(names)), peer, q, poses) for _ in range(count))
    return [closure for closure in closures if closure is not None]


def link_poses(peer: PeerTree, q: np.ndarray) -> Poses:
    """Return the origins and axes of all links in the world."""
    peer.pin.forwardKinematics(peer.model, peer.data, peer.q(q))
    poses: Poses = {-1: (np.zeros(3), np.eye(3))}
    for k in range(len(peer.links)):
        pose = peer.data.oMi[peer.model.getJointId(f"joint{k}")]
        poses[k] = pose.translation.copy(), pose.rotation.copy()
    return poses


def _closure(rng: np.random.Generator, kind: str, peer: PeerTree, q: np.ndarray, poses: Poses) -> Closure | None:
    if kind == "gear":
        return _gear(rng, peer, q)
    first = int(rng.integers(len(peer.links)))
    second = int(rng.choice([k for k in poses if k != first]))
    R = rotation(rng.normal(size=4).tolist())
    side = {"link": f"link{first}", "xyz": rng.uniform(-0.5, 0.5, 3).tolist(), "rpy": _rpy(peer, R)}
    if kind == "knife":
        return {"type": kind, "a": side}
    x, axes = poses[first][0] + poses[first][1] @ side["xyz"], poses[first][1] @ R
    parameters, y, other_axes = PLACED[kind](rng, x, axes)
    origin, base = poses[second]
    pose = {"xyz": (base.T @ (y - origin)).tolist(), "rpy": _rpy(peer, base.T @ other_axes)}
    return {"type": kind, "a": side, "b": {"link": f"link{second}" if second >= 0 else None, **pose}, **parameters}


def _rpy(peer: PeerTree, R: np.ndarray) -> list[float]:
    return peer.pin.rpy.matrixToRpy(R).tolist()


def _gear(rng: np.random.Generator, peer: PeerTree, q: np.ndarray) -> Closure | None:
    candidates = [k for k, link in enumerate(peer.links) if link["kind"] in ONE_AXIS and link["leader"] is None]
    if len(candidates) < 2:
        return None
    ratio = {f"joint{k}": float(rng.uniform(0.2, 2)) for k in rng.choice(candidates, 2, replace=False)}
    positions = (c * q[peer.robot.span(peer.robot.joint(name))[0]][0] for name, c in ratio.items())
    return {"type": "gear", "ratio": ratio, "offset": float(sum(positions))}


# (rng, origin and axes of side a in the world) -> (parameters of the closure, origin and axes of side b in the world)
Placement = Callable[[np.random.Generator, np.ndarray, Axes], tuple[dict[str, Any], np.ndarray, Axes]]


def _about(k: int, angle: float) -> Axes:
    return rotation([*(np.sin(angle / 2) * np.eye(3)[k]), np.cos(angle / 2)])


def _any_axes(rng: np.random.Generator) -> Axes:
    return rotation(rng.normal(size=4).tolist())


def _shifted(rng: np.random.Generator, x: np.ndarray, R: Axes, *axes: int) -> np.ndarray:
    """Return a point shifted along some axes."""
    return x + sum(rng.uniform(-0.5, 0.5) * R[:, k] for k in axes)


def _rotated(rng: np.random.Generator, R: Axes) -> Axes:
    """Return axes rotated about z."""
    return R @ _about(2, rng.uniform(-np.pi, np.pi))


def _on_line(rng: np.random.Generator, x: np.ndarray, _: Axes):
    R = _any_axes(rng)
    return {}, _shifted(rng, x, R, 2), R


def _in_plane(rng: np.random.Generator, x: np.ndarray, _: Axes):
    R = _any_axes(rng)
    return {}, _shifted(rng, x, R, 0, 1), R


def _at_distance(rng: np.random.Generator, x: np.ndarray, _: Axes):
    offset = rng.uniform(0.1, 1.0) * _any_axes(rng)[:, 0]
    return {"length": float(np.linalg.norm(offset))}, x + offset, _any_axes(rng)


def _under_wheel(rng: np.random.Generator, x: np.ndarray, axes: Axes):
    R = _any_axes(rng)
    while abs(R[:, 2] @ axes[:, 1]) > MAX_AXIS_COSINE:
        R = _any_axes(rng)
    n, k, radius = R[:, 2], axes[:, 1], float(rng.uniform(0.05, 0.5))
    e = n - (n @ k) * k
    return {"radius": radius}, _shifted(rng, x - radius * e / np.linalg.norm(e), R, 0, 1), R


def _under_ball(rng: np.random.Generator, x: np.ndarray, _: Axes):
    R, radius = _any_axes(rng), float(rng.uniform(0.05, 0.5))
    return {"radius": radius}, _shifted(rng, x - radius * R[:, 2], R, 0, 1), R


def _one_sided(rng: np.random.Generator, x: np.ndarray, R: Axes):
    """For closures without a second side."""
    return {}, x, R


PLACED: dict[str, Placement] = {
    "point": lambda rng, x, R: ({}, x, _any_axes(rng)),
    "orientation": lambda rng, x, R: ({}, _shifted(rng, x, R, 0, 1, 2), R),
    "weld": lambda rng, x, R: ({}, x, R),
    "hinge": lambda rng, x, R: ({}, x, _rotated(rng, R)),
    "universal": lambda rng, x, R: ({}, x, _rotated(rng, R @ _about(0, np.pi / 2))),
    "cylinder": lambda rng, x, R: ({}, _shifted(rng, x, R, 2), _rotated(rng, R)),
    "slider": lambda rng, x, R: ({}, _shifted(rng, x, R, 2), R),
    "line": _on_line,
    "plane": _in_plane,
    "flat": lambda rng, x, R: ({}, _shifted(rng, x, R, 0, 1), _rotated(rng, R)),
    "distance": _at_distance,
    "rolling-disk": _under_wheel,
    "rolling-ball": _under_ball,
    "knife": _one_sided,
    "gear": _one_sided,
}
