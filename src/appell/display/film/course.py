"""Where the bodies of an actor are at a time: straight between two frames of its motion, turning the short way."""

from __future__ import annotations

import numpy as np

from appell.display.scene import Actor

SMALL = 1e-6  # rad: an angle below which a chord is an arc


def poses_at(actor: Actor, t: float) -> np.ndarray:
    """(bodies, 7); at the time of a jump what comes after it, and before and after the motion its first and last."""
    if actor.motion is None or not len(actor.motion.t):
        return np.asarray(actor.poses, float).reshape(-1, 7)
    times, poses = np.asarray(actor.motion.t, float), np.asarray(actor.motion.poses, float)
    after = int(np.searchsorted(times, t, side="right"))
    if after == 0 or after == len(times):
        return poses[min(after, len(times) - 1)]
    before = after - 1
    share = (t - times[before]) / (times[after] - times[before])
    a, b = poses[before], poses[after]
    place = a[:, :3] + share * (b[:, :3] - a[:, :3])
    return np.concatenate([place, _turned(a[:, 3:], b[:, 3:], share)], axis=1)


def _turned(a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    """Part of the way from one attitude to another, at an even rate: quaternions (n, 4)."""
    along = np.einsum("ni,ni->n", a, b)[:, None]
    b = np.where(along < 0.0, -b, b)
    angle = np.arccos(np.clip(np.abs(along), 0.0, 1.0))
    wide = angle > SMALL
    sine = np.where(wide, np.sin(angle), 1.0)
    start = np.where(wide, np.sin((1.0 - share) * angle) / sine, 1.0 - share)
    end = np.where(wide, np.sin(share * angle) / sine, share)
    return start * a + end * b


def moves(actor: Actor) -> np.ndarray:
    """(bodies), whether they are not in one place all the time."""
    if actor.motion is None or not len(actor.motion.t):
        return np.zeros(len(actor.bodies), bool)
    poses = np.asarray(actor.motion.poses, float)
    return ~(poses == poses[0]).all(axis=(0, 2))
