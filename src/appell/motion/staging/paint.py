"""Colours of parts that nobody coloured: those of all figures, a branch each, or one for a whole actor."""

from __future__ import annotations

from appell.display.palette import numbered, paint

__all__ = ["GROUND", "LIGHT", "METAL", "numbered", "paint"]

GROUND = "#4d4d4d"  # what stands still
METAL = "#5d636b"  # joints
LIGHT = "#9aa1aa"  # walls, wheels, struts
