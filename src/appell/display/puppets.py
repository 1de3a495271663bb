"""Who stands behind a page: a puppet, which says where bodies go when somebody moves a slider or drags a handle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from appell.display.scene import Scene


@dataclass(frozen=True, eq=False)
class Reply:
    """Where an actor is now, and what there is to say about it."""

    values: Sequence[float]  # of its sliders
    poses: np.ndarray  # (bodies, 7)
    note: str = ""  # why it is not where it was asked to be


class Puppet(Protocol):
    """What answers for the actors of a scene; nobody asks it two things at a time."""

    def posed(self, actor: int, values: Sequence[float]) -> Reply:
        """Where an actor is with its sliders at these values."""

    def dragged(self, actor: int, handle: int, pose: Sequence[float], values: Sequence[float]) -> Reply:
        """Where an actor is with a handle dragged to a pose, from where these values of its sliders have it."""

    def shown(self, thing: Any) -> Scene | Reply:
        """What is to be seen when Python shows something: another scene, or the first actor elsewhere."""
