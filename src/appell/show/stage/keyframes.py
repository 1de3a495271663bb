"""Adaptive keyframes: times between which interpolated poses are accurate to a fraction of a pixel.

Positions are interpolated linearly and orientations along the shorter rotation. The error is evaluated at three times
between two frames. If it is too large for a body, or if the body rotates by a large angle, the interval is halved. The
error of a body is

    |Δx| + 2 sin(δ / 2) lever                                                                                (1)

where δ is the angle between its orientation and the interpolated one, and lever is the largest distance of its parts
from its origin. An event has a frame before it and one after it, both at its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from appell.show.scene.poses import slerp

RELATIVE_TOLERANCE = 1.0 / 1000.0  # of the robot's size: one pixel if it fills a picture of 1000 pixels
MAX_NUMBERS = 420_000  # of a motion, seven per body and frame: a few megabytes of text, a third of that compressed
MIN_FRAME_LIMIT = 100  # frames that any motion may have
INITIAL_INTERVALS = 120  # enough to detect short movements
MAX_HALVINGS = 14  # of an interval
MAX_ROTATION_RAD = 0.5  # between two frames
PROBES = np.array([0.25, 0.5, 0.75])  # of an interval

Poses = Callable[[np.ndarray], np.ndarray]  # maps times (n) to poses (n, bodies, 7)


def keyframes(
    poses: Poses, span: tuple[float, float], events: Sequence[float], levers: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the frames of a motion.

    Parameters
    ----------
    poses : callable
        Maps times (n) to poses (n, bodies, 7).
    span : tuple of float
        First and last time in s.
    events : sequence of float
        Times of possible discontinuities.
    levers : ndarray, shape (bodies,)
        Largest distance of the parts of every body from its origin, in m.
    size : float
        Size of the robot in m.

    Returns
    -------
    t : ndarray, shape (frames,)
        Times; that of an event occurs twice.
    poses : ndarray, shape (frames, bodies, 7)
    notes : list of str
        Remarks on reduced accuracy and on poses that are not finite.
    """
    limit = max(MIN_FRAME_LIMIT, MAX_NUMBERS // max(7 * len(levers), 1))
    knots = _knots(span, events, limit)
    allowed = RELATIVE_TOLERANCE * size
    at = _refined(poses, knots, levers, allowed, limit)
    while len(at) > limit and allowed < size:
        allowed *= 2.0
        at = _refined(poses, knots, levers, allowed, limit)
    frames, notes = _finite(poses(at))
    if allowed > RELATIVE_TOLERANCE * size:
        notes = [*notes, f"positions between frames are accurate to {1e3 * allowed:.2g} mm, to limit the file size."]
    return _times(at, knots[1:-1]), frames, notes


def _times(at: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Replace the times just before events by the times of the events."""
    before = np.nextafter(events, -np.inf)
    return np.where(np.isin(at, before), np.nextafter(at, np.inf), at)


def _knots(span: tuple[float, float], events: Sequence[float], limit: int) -> np.ndarray:
    """Return both ends and the distinct events between them; if there are too many, an even selection."""
    inner = np.unique([time for time in events if span[0] < time < span[1]])
    if len(inner) > limit // 6:
        inner = inner[np.linspace(0, len(inner) - 1, limit // 6).astype(int)]
    return np.array([span[0], *inner, span[1]])


def _refined(poses: Poses, knots: np.ndarray, levers: np.ndarray, allowed: float, limit: int) -> np.ndarray:
    """Return the sorted times of frames; stop refining when there are more than `limit`."""
    low, high = knots[:-1], np.append(np.nextafter(knots[1:-1], -np.inf), knots[-1])
    if knots[-1] <= knots[0]:
        return knots[:1]
    pieces = min(INITIAL_INTERVALS, limit // 4)
    parts = np.maximum(1, np.ceil(pieces * (high - low) / (knots[-1] - knots[0]))).astype(int)
    grid = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, parts, strict=True)]
    low, high = (np.concatenate([line[cut] for line in grid]) for cut in (slice(None, -1), slice(1, None)))
    done = [np.concatenate(grid)]
    for _ in range(MAX_HALVINGS):
        errors = _errors(poses, low, high, levers)
        split = (errors > allowed) & (high - low > 1e-12 * (knots[-1] - knots[0]))
        low, high = low[split], high[split]
        middle = 0.5 * (low + high)
        done.append(middle)
        if not len(middle) or sum(map(len, done)) > limit:
            break
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return np.unique(np.concatenate(done))


def _errors(poses: Poses, low: np.ndarray, high: np.ndarray, levers: np.ndarray) -> np.ndarray:
    """Return the largest error (1) of all bodies in every interval; inf if a body rotates by a large angle."""
    if not len(low):
        return np.zeros(0)
    times = low[:, None] + (high - low)[:, None] * np.array([0.0, *PROBES, 1.0])
    sampled = poses(times.ravel()).reshape(*times.shape, -1, 7)
    first, last, inside = sampled[:, :1], sampled[:, -1:], sampled[:, 1:-1]
    share = PROBES[:, None, None]
    moved = np.linalg.norm(inside[..., :3] - (first[..., :3] + share * (last - first)[..., :3]), axis=-1)
    quaternion, angle = slerp(first[..., 3:], last[..., 3:], share)
    quaternion = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    cosine = np.abs(np.einsum("...i,...i->...", quaternion, inside[..., 3:]))
    chord = 2.0 * np.sqrt(np.maximum(1.0 - cosine**2, 0.0))  # 2 sin(δ / 2)
    errors = np.where(np.isfinite(moved), moved + chord * levers, 0.0).max(axis=(1, 2), initial=0.0)
    return np.where(np.nan_to_num(angle).max(axis=(1, 2), initial=0.0) > MAX_ROTATION_RAD, np.inf, errors)


def _finite(frames: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Replace non-finite poses, where a leg is out of reach or a run diverged, by the last finite ones."""
    invalid = ~np.isfinite(frames).all(axis=-1)
    if not invalid.any():
        return frames, []
    frames = frames.copy()
    for body in range(frames.shape[1]):
        valid = np.flatnonzero(~invalid[:, body])
        if not len(valid):
            frames[:, body] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
            continue
        last = valid[np.maximum(np.searchsorted(valid, np.arange(len(frames)), side="right") - 1, 0)]
        frames[:, body] = frames[last, body]
    return frames, ["the record has non-finite values; bodies stay at their last finite pose there."]
