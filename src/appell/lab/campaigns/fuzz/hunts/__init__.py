"""The hunts by name: one file each."""

from __future__ import annotations

from appell.errors import ArgumentError, unknown_name
from appell.lab.campaigns.fuzz.hunt import Hunt
from appell.lab.campaigns.fuzz.hunts.arrays import Arrays
from appell.lab.campaigns.fuzz.hunts.cache import Cache
from appell.lab.campaigns.fuzz.hunts.constraints import Constraints
from appell.lab.campaigns.fuzz.hunts.files import Files
from appell.lab.campaigns.fuzz.hunts.kills import Kills
from appell.lab.campaigns.fuzz.hunts.mechanisms import Mechanisms
from appell.lab.campaigns.fuzz.hunts.motions import Motions
from appell.lab.campaigns.fuzz.hunts.robots import Robots

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
