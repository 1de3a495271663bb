"""When to look at a motion so that bodies that go straight and turn the short way between frames are where they are.

A stretch between two frames is looked at in three places; where a body is further from its straight way than allowed,
or turns by much, the stretch is halved. What a body is off by is

    |Δx| + 2 sin(δ / 2) lever                                                                                (1)

with the angle δ between its turn and the interpolated one, and the lever the reach of what is drawn on it. An event has
a frame before it and one after it, both at its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from appell.show.scene.poses import slerp

FINE = 1.0 / 1000.0  # of the robot: a pixel, where it fills a picture of a thousand
NUMBERS = 420_000  # of a motion: seven for every body and frame, some megabytes of text at most, a third of it shrunk
FEWEST = 100  # frames that every motion may have
PIECES = 120  # stretches to begin with, which find what is short
DEEPEST = 14  # times that a stretch is halved
TURN = 0.5  # rad between two frames
PROBES = np.array([0.25, 0.5, 0.75])

Poses = Callable[[np.ndarray], np.ndarray]  # of times (n): (n, bodies, 7)


def keyframes(
    poses: Poses, span: tuple[float, float], events: Sequence[float], levers: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Times, poses there (frames, bodies, 7), and notes if they are not as exact as a picture shows."""
    most = max(FEWEST, NUMBERS // max(7 * len(levers), 1))
    knots = _knots(span, events, most)
    allowed = FINE * size
    at = _refined(poses, knots, levers, allowed, most)
    while len(at) > most and allowed < size:
        allowed *= 2.0
        at = _refined(poses, knots, levers, allowed, most)
    whole, told = _held(poses(at))
    if allowed > FINE * size:
        told = [*told, f"bodies are shown within {1e3 * allowed:.2g} mm between frames, so that the file stays small."]
    return _times(at, knots[1:-1]), whole, told


def _times(at: np.ndarray, events: np.ndarray) -> np.ndarray:
    """The instants just before events count as their times."""
    before = np.nextafter(events, -np.inf)
    return np.where(np.isin(at, before), np.nextafter(at, np.inf), at)


def _knots(span: tuple[float, float], events: Sequence[float], most: int) -> np.ndarray:
    """Both ends and the events between them, each time once; too many of them are left out evenly."""
    inner = np.unique([time for time in events if span[0] < time < span[1]])
    if len(inner) > most // 6:
        inner = inner[np.linspace(0, len(inner) - 1, most // 6).astype(int)]
    return np.array([span[0], *inner, span[1]])


def _refined(poses: Poses, knots: np.ndarray, levers: np.ndarray, allowed: float, most: int) -> np.ndarray:
    """The times of frames, sorted; a few more than `most` if those are not enough."""
    low, high = knots[:-1], np.append(np.nextafter(knots[1:-1], -np.inf), knots[-1])
    if knots[-1] <= knots[0]:
        return knots[:1]
    pieces = min(PIECES, most // 4)
    parts = np.maximum(1, np.ceil(pieces * (high - low) / (knots[-1] - knots[0]))).astype(int)
    grid = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, parts, strict=True)]
    low, high = (np.concatenate([line[cut] for line in grid]) for cut in (slice(None, -1), slice(1, None)))
    done = [np.concatenate(grid)]
    for _ in range(DEEPEST):
        off = _off(poses, low, high, levers)
        split = (off > allowed) & (high - low > 1e-12 * (knots[-1] - knots[0]))
        low, high = low[split], high[split]
        middle = 0.5 * (low + high)
        done.append(middle)
        if not len(middle) or sum(map(len, done)) > most:
            break
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return np.unique(np.concatenate(done))


def _off(poses: Poses, low: np.ndarray, high: np.ndarray, levers: np.ndarray) -> np.ndarray:
    """How far the worst body of every stretch is from where frames at its ends put it, by (1); inf if it turns much."""
    if not len(low):
        return np.zeros(0)
    times = low[:, None] + (high - low)[:, None] * np.array([0.0, *PROBES, 1.0])
    whole = poses(times.ravel()).reshape(*times.shape, -1, 7)
    first, last, inside = whole[:, :1], whole[:, -1:], whole[:, 1:-1]
    share = PROBES[:, None, None]
    moved = np.linalg.norm(inside[..., :3] - (first[..., :3] + share * (last - first)[..., :3]), axis=-1)
    turn, angle = slerp(first[..., 3:], last[..., 3:], share)
    turn = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
    along = np.abs(np.einsum("...i,...i->...", turn, inside[..., 3:]))
    miss = 2.0 * np.sqrt(np.maximum(1.0 - along**2, 0.0))  # 2 sin(δ / 2)
    off = np.where(np.isfinite(moved), moved + miss * levers, 0.0).max(axis=(1, 2), initial=0.0)
    return np.where(np.nan_to_num(angle).max(axis=(1, 2), initial=0.0) > TURN, np.inf, off)


def _held(whole: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Poses that are not finite, where a leg does not reach or a run was lost, held as they were before."""
    bad = ~np.isfinite(whole).all(axis=-1)
    if not bad.any():
        return whole, []
    whole = whole.copy()
    for body in range(whole.shape[1]):
        good = np.flatnonzero(~bad[:, body])
        if not len(good):
            whole[:, body] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
            continue
        last = good[np.maximum(np.searchsorted(good, np.arange(len(whole)), side="right") - 1, 0)]
        whole[:, body] = whole[last, body]
    return whole, ["where the record has no finite numbers, bodies stay where they were last."]
