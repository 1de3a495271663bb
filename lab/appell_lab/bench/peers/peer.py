"""A peer: another program that computes the same, built on this machine and called on a whole batch.

For a peer that is not available, the reason is shown in the table and in the JSON. Before a peer is timed, its results
have to agree with those of appell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from appell.errors import AppellError
from appell_lab.bench.subject import Subject

States = Mapping[str, np.ndarray]  # q, v, a and tau of a batch, in the layout of appell


class PeerUnavailableError(AppellError):
    """A peer cannot be built here, or cannot compute a quantity."""


@dataclass(frozen=True)
class Prepared:
    """A batch that is ready to run, and its results, samples first, in the order of rows and columns of appell."""

    run: Callable[[], object]
    results: Callable[[], tuple[np.ndarray, ...]]


class Peer(ABC):
    """Interface of a peer; only `counted` peers can be the best one."""

    name: str
    counted: bool = True

    @abstractmethod
    def version(self) -> str:
        """Return the version of the program; raise PeerUnavailableError if it is not installed."""

    @abstractmethod
    def flags(self) -> str:
        """Return how it is compiled."""

    @abstractmethod
    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        """Build what is needed and prepare the batch; raise PeerUnavailableError if that is not possible."""
