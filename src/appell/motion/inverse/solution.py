"""The answer of the numerical solver: the joints, and by how much the pose is missed where it is out of reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, repr=False)
class Solution:
    """Coordinates that bring a frame to its poses, or nearest to them; one entry for every pose of the batch."""

    frame: str
    q: np.ndarray  # (..., nq)
    reached: np.ndarray  # (...) whether both errors are within the tolerance
    position_error: np.ndarray  # (...) m
    rotation_error: np.ndarray  # (...) rad
    starts: np.ndarray  # (...) how many starts were tried
    steps: np.ndarray  # (...) steps of damped least squares, over all starts

    def __repr__(self) -> str:
        return f"<Solution {self}>"

    def __str__(self) -> str:
        if self.reached.all():
            return (
                f"frame '{self.frame}' reaches {'its pose' if self.q.ndim == 1 else f'all {self.reached.size} poses'}"
            )
        if self.q.ndim == 1:
            return self.sentence()
        missed = int((~self.reached).sum())
        worst = tuple(int(k) for k in np.unravel_index(np.argmax(self.position_error), self.reached.shape))
        share = f"{missed} of {self.reached.size} poses"
        return f"frame '{self.frame}' misses {share}; pose {list(worst)}: {self.sentence(worst)}"

    def sentence(self, index: tuple[int, ...] = ()) -> str:
        """What became of one pose."""
        position, rotation = float(self.position_error[index]), float(np.degrees(self.rotation_error[index]))
        if self.reached[index]:
            return f"frame '{self.frame}' reaches the pose to {position:.2g} m and {rotation:.2g}°"
        return (
            f"frame '{self.frame}' comes no nearer to the pose than {position:.6g} m and {rotation:.6g}° "
            f"in {int(self.starts[index])} starts; q is the nearest configuration found"
        )
