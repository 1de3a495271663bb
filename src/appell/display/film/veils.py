"""What light passes through, kept triangle by triangle and sample by sample.

Sorted from far to near they are laid over what is behind them, so that veils which pierce each other, or solids, are
right as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Veils(NamedTuple):
    """Triangles that let light through, at samples; sorted by sample, and then from far to near."""

    sample: np.ndarray
    key: np.ndarray  # the larger, the nearer
    color: np.ndarray  # (n, 4)

    def before(self, keys: np.ndarray) -> Veils:
        """Those in front of what is nearest in each sample."""
        return self._picked(np.flatnonzero(self.key > keys[self.sample]))

    def within(self, samples: np.ndarray) -> Veils:
        """Those at some samples, which are then numbered as they stand in the list."""
        start, end = np.searchsorted(self.sample, samples), np.searchsorted(self.sample, samples, side="right")
        count = end - start
        found = self._picked(np.arange(count.sum()) + np.repeat(start - np.cumsum(count) + count, count))
        return found._replace(sample=np.repeat(np.arange(len(samples)), count))

    def over(self, colors: np.ndarray) -> None:
        """Lay them over the colours of all samples (samples, 3), in place."""
        first = np.flatnonzero(np.diff(self.sample, prepend=-1))
        rank = np.arange(len(self.sample)) - np.repeat(first, np.diff(first, append=len(self.sample)))
        for k in range(int(rank.max(initial=-1)) + 1):
            now = np.flatnonzero(rank == k)
            at, share = self.sample[now], self.color[now, 3:]
            colors[at] += share * (self.color[now, :3] - colors[at])

    def _picked(self, which: np.ndarray) -> Veils:
        return Veils(self.sample[which], self.key[which], self.color[which])


def sorted_veils(*veils: Veils) -> Veils:
    """All of them, in order."""
    joined = Veils(*(np.concatenate(parts) for parts in zip(*veils, strict=True)))
    return joined._picked(np.lexsort((joined.key, joined.sample)))
