"""The hunts by name: one file each."""

from __future__ import annotations

from appell.errors import ArgumentError, unknown_name
from appell_lab.fuzz.target import Hunt
from appell_lab.fuzz.targets.arrays import Arrays
from appell_lab.fuzz.targets.cache import Cache
from appell_lab.fuzz.targets.constraints import Constraints
from appell_lab.fuzz.targets.files import Files
from appell_lab.fuzz.targets.kills import Kills
from appell_lab.fuzz.targets.mechanisms import Mechanisms
from appell_lab.fuzz.targets.motions import Motions
from appell_lab.fuzz.targets.robots import Robots

HUNTS: dict[str, type[Hunt]] = {
    hunt.name: hunt for hunt in (Robots, Mechanisms, Constraints, Files, Arrays, Motions, Kills, Cache)
}


def chosen(names: str = "") -> list[Hunt]:
    """The hunts of a list with commas, all of them if it is empty."""
    wanted = [name.strip() for name in names.split(",") if name.strip()] or list(HUNTS)
    for name in wanted:
        if name not in HUNTS:
            raise ArgumentError(unknown_name("hunt", name, HUNTS, "appell fuzz"))
    return [HUNTS[name]() for name in wanted]
