"""What formulas tell a constrained robot about its motions: a `Manifold`, made by `formulate` when it is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from appell.algebra.scalar import Scalar, Vector
from appell.errors import ModelError
from appell.model.constraint import Constraint
from appell.model.robot import Robot

Chosen = Sequence[str] | Constraint | None  # names of velocities of the tree, or rows of others


class Manifold(ABC):
    """How a tree moves under its constraints; frozen, made once from samples."""

    names: tuple[str, ...]  # of the independent velocities
    units: tuple[str, ...]
    positions: tuple[int, ...]  # velocities of the tree along which configurations are told apart
    row_names: tuple[str, ...]  # of all rows
    implied: tuple[int, ...]  # rows that others imply: they carry no force
    rank: int

    @abstractmethod
    def tree_velocity(self, tree: Robot, q: Vector, v: Vector) -> list[Scalar]:
        """w = N v + n."""

    @abstractmethod
    def assembled(self, tree: Robot, q: np.ndarray) -> np.ndarray:
        """The configuration near q in which all loops are closed, or a ModelError."""


@singledispatch
def manifold(
    tree: Robot, constraints: Sequence[Constraint], independent: Chosen, preferred: Sequence[str], start: np.ndarray
) -> tuple[Manifold, np.ndarray]:
    """The manifold of a constrained tree, and the configuration near `start` on it; formulas register theirs."""
    raise ModelError(f"{tree!r} cannot be constrained.", expected="a Robot")
