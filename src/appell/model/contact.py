"""Contacts of a robot whose place and activity are data, not structure.

A contact names a frame that may touch something: the surroundings or, with `on`, another link of the robot. Where it
touches (its foothold) and whether it touches are arguments of the functions of `Dynamics.contacts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Touch:
    """A contact that holds the origin of a frame at its foothold: three rows, a force without a moment.

    The foothold is in the axes of the frame `on`, which moves with its link, or in the world by default.
    """

    frame: str
    on: str | None = None
    size: ClassVar[int] = 3


@dataclass(frozen=True)
class Sole:
    """A contact that holds a frame at its foothold, with its orientation: six rows, a force and a moment.

    The foothold is in the axes of the frame `on`, which moves with its link, or in the world by default.
    """

    frame: str
    on: str | None = None
    size: ClassVar[int] = 6
