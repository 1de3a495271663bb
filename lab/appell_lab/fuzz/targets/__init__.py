"""The fuzz targets by name, one module each."""

from __future__ import annotations

from appell.errors import ArgumentError, unknown_name
from appell_lab.fuzz.target import Target
from appell_lab.fuzz.targets.array_likes import ArrayLikes
from appell_lab.fuzz.targets.arrays import Arrays
from appell_lab.fuzz.targets.cache import Cache
from appell_lab.fuzz.targets.constraints import Constraints
from appell_lab.fuzz.targets.files import Files
from appell_lab.fuzz.targets.kills import Kills
from appell_lab.fuzz.targets.mechanisms import Mechanisms
from appell_lab.fuzz.targets.mjcf import Mjcf
from appell_lab.fuzz.targets.motions import Motions
from appell_lab.fuzz.targets.names import Names
from appell_lab.fuzz.targets.prescribed import Prescribed
from appell_lab.fuzz.targets.robots import Robots
from appell_lab.fuzz.targets.round_trips import RoundTrips
from appell_lab.fuzz.targets.studies import Studies
from appell_lab.fuzz.targets.wrenches import Wrenches

TARGETS: dict[str, type[Target]] = {
    target.name: target
    for target in (
        Robots,
        Mechanisms,
        Constraints,
        Prescribed,
        Wrenches,
        Files,
        Mjcf,
        RoundTrips,
        Names,
        Arrays,
        ArrayLikes,
        Motions,
        Studies,
        Kills,
        Cache,
    )
}


def chosen(names: str = "") -> list[Target]:
    """Return the targets of a comma-separated list; all if it is empty."""
    selected = [name.strip() for name in names.split(",") if name.strip()] or list(TARGETS)
    for name in selected:
        if name not in TARGETS:
            raise ArgumentError(unknown_name("target", name, TARGETS, "appell fuzz"))
    return [TARGETS[name]() for name in selected]
