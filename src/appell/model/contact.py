"""Contacts of a robot with its surroundings whose place and activity are data, not structure.

A contact names a frame that may touch something. Where it touches (its foothold) and whether it touches are arguments
of the functions of `Dynamics.contacts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Touch:
    """A contact that holds the origin of a frame at its foothold: three rows, a force without a moment."""

    frame: str
    size: ClassVar[int] = 3


@dataclass(frozen=True)
class Sole:
    """A contact that holds a frame at its foothold, with its orientation: six rows, a force and a moment."""

    frame: str
    size: ClassVar[int] = 6
