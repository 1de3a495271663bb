"""A peer: a program that computes what appell computes, built on the spot and called on a whole batch.

A peer that cannot take part says why, in a sentence that stands in the table and in the JSON; none is left out without
one. Before a peer is timed, what it computes has to agree with appell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from appell.errors import AppellError
from appell_lab.bench.subject import Subject

States = Mapping[str, np.ndarray]  # q, v, a and tau of a batch, in our layout


class PeerUnavailableError(AppellError):
    """A peer cannot be built here, or cannot compute a quantity."""


@dataclass(frozen=True)
class Prepared:
    """A batch that is ready to run, and the results it leaves, samples first, in our order of rows and columns."""

    run: Callable[[], object]
    results: Callable[[], tuple[np.ndarray, ...]]


class Peer(ABC):
    """`counted` peers can be the best one; others are shown beside them."""

    name: str
    counted: bool = True

    @abstractmethod
    def version(self) -> str:
        """Of what it stands on; raises UnableError where that is not installed."""

    @abstractmethod
    def flags(self) -> str:
        """How it is compiled."""

    @abstractmethod
    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        """Build what is needed and lay the batch out; raises UnableError."""
