"""The campaign: time spent over the hunts, what they did in figures, and each finding as small as it could be made."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from appell.files import write_text
from appell_lab.bench.machine import machine, versions
from appell_lab.fuzz.minimise import SECONDS, minimise
from appell_lab.fuzz.target import Case, Hunt, Verdict
from appell_lab.fuzz.watched import Watched

SAVED = 30.0  # s between two savings of a campaign that is under way


@dataclass
class Broken:
    """A finding: the seed it was first seen with, how often its kind was seen, and the smallest case."""

    hunt: str
    kind: str
    problem: str
    seed: int
    case: Case
    times: int = 1

    @property
    def command(self) -> str:
        """What repeats it."""
        return f"appell fuzz --only {self.hunt} --case {self.seed}"


@dataclass
class Bag:
    """What one hunt has done."""

    hunt: str
    about: str
    first_seed: int
    cases: int = 0
    seconds: float = 0.0  # of processor time
    slowest: tuple[float, int] = (0.0, 0)  # s, and its seed
    figures: dict[str, tuple[float, int]] = field(default_factory=dict)  # the largest, and its seed
    counts: dict[str, int] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)

    def add(self, seed: int, verdict: Verdict, seconds: float) -> bool:
        """Count a case; whether it broke in a way that was not seen before."""
        self.cases += 1
        self.seconds += seconds
        self.slowest = max(self.slowest, (seconds, seed))
        self.counts = dict(Counter(self.counts) + Counter(verdict.counts))
        for name, value in verdict.figures.items():
            self.figures[name] = max(self.figures.get(name, (0.0, seed)), (value, seed))
        if not verdict.problem:
            return False
        known = [broken for broken in self.broken if broken.kind == verdict.kind]
        for broken in known:
            broken.times += 1
        return not known


@dataclass(frozen=True)
class Bounds:
    """How far a campaign goes: so many seconds or so many cases a hunt, whichever is first, and one case at least."""

    seconds: float = 300.0
    cases: int | None = None
    seed: int = 0
    minimising: float = SECONDS


def run(
    hunts: Sequence[Hunt], bounds: Bounds, tell: Callable[[Bag], None] = lambda _: None, path: Path | None = None
) -> list[Bag]:
    """All hunts one after the other, each with its share of the time; with a path, the figures as they grow."""
    bags: list[Bag] = []
    whole = sum(hunt.share for hunt in hunts)
    for hunt in hunts:
        bag = Bag(hunt.name, hunt.about, bounds.seed)
        bags.append(bag)
        until, saved = time.monotonic() + bounds.seconds * hunt.share / whole, time.monotonic()
        with Watched(hunt) as watched:
            while not bag.cases or (time.monotonic() < until and bag.cases < (bounds.cases or math.inf)):
                seed = bounds.seed + bag.cases
                verdict, seconds = watched.check(seed)
                if bag.add(seed, verdict, seconds):
                    case, verdict = minimise(hunt, hunt.case(seed), verdict, watched, bounds.minimising)
                    bag.broken.append(Broken(hunt.name, verdict.kind, verdict.problem, seed, case))
                tell(bag)
                if path is not None and time.monotonic() - saved > SAVED:
                    save(bags, path)
                    saved = time.monotonic()
    if path is not None:
        save(bags, path)
    return bags


def content(bags: Sequence[Bag]) -> dict[str, Any]:
    """Machine, versions and figures as plain data; times are in s."""
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    found = [asdict(bag) for bag in bags]
    return {"date": when, "machine": machine(), "versions": versions(), "hunts": found}


def save(bags: Sequence[Bag], path: Path) -> None:
    """The content as JSON, put in place whole."""
    write_text(path, json.dumps(content(bags), indent=1, ensure_ascii=False, default=str) + "\n", "the findings")
