"""A row of a constraint, as the algorithms see it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from appell.algebra.scalar import Scalar


@dataclass(frozen=True)
class Row:
    """K v + b = 0 and K a + γ = 0 of one row, at a velocity of the tree."""

    constraint: str  # its name
    label: str  # of the row within it
    gap: Scalar | None  # φ with φ̇ = K v + b where φ = 0; None for a row that ties velocities only
    jacobian: list[Scalar]  # K, one entry for each v of the tree; a literal 0 where nothing enters
    offset: Scalar  # b
    drift: Scalar  # γ = K̇ v + ḃ

    def driven(self, position: Scalar, velocity: Scalar, acceleration: Scalar) -> Row:
        """The row of a motion: what it measures follows s(t), so that b = -ṡ and γ has -s̈."""
        gap = None if self.gap is None else self.gap - position
        return replace(self, gap=gap, offset=self.offset - velocity, drift=self.drift - acceleration)
