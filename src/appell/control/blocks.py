"""Layout of named blocks of numbers in one array: memory of a law, state of a plant, signals of a reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Blocks:
    """Named blocks in one array: `Blocks(q=6, v=6).at["v"]` is slice(6, 12).

    A block is given by its size, or by its initial values: `Blocks(estimate=[1.0, 2.0]).start` is [1, 2].
    """

    def __init__(self, **blocks: Any):
        self.at: dict[str, slice] = {}
        starts, self.size = [np.zeros(0)], 0
        for name, block in blocks.items():
            starts.append(np.zeros(block) if isinstance(block, int) else np.array(block, float).ravel())
            self.at[name] = slice(self.size, self.size + starts[-1].size)
            self.size += starts[-1].size
        self.start = np.concatenate(starts)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of elements of each block."""
        return {name: block.stop - block.start for name, block in self.at.items()}

    def split(self, numbers: Sequence) -> list:
        """Return all blocks in their order."""
        return [numbers[block] for block in self.at.values()]

    def named(self, numbers: Sequence) -> dict[str, Any]:
        """Return all blocks by name."""
        return {name: numbers[block] for name, block in self.at.items()}

    def take(self, array: np.ndarray, name: str) -> np.ndarray:
        """Return one block of the last axis of an array."""
        return array[..., self.at[name]]
