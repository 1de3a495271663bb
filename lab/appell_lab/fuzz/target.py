"""A hunt: where cases come from, what must hold for each, and what smaller cases a found one may hide.

A case is a dictionary that JSON can hold, made of nothing but its seed, so that a seed is enough to repeat it and the
smallest case that still fails can be printed and kept. `check` runs in a process of its own (`watched`), which may
crash, hang or eat the memory: each of these is a finding as an exception is.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

Case = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What came of a case: `problem` says what broke, nothing if all held.

    Problems of one `kind` are counted together. `figures` are kept at their largest over all cases, `counts` are
    summed.
    """

    problem: str = ""
    kind: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


class Hunt(ABC):
    """One way of trying to break things."""

    name: ClassVar[str]
    about: ClassVar[str]  # a line for the table
    seconds: ClassVar[float] = 2.0  # of processor time that a case may take
    patience: ClassVar[int] = 60  # s that it may sleep, such as for a process that it has started
    megabytes: ClassVar[int] = 500  # that it may take beyond what the process has
    share: ClassVar[float] = 1.0  # of the campaign's time, relative to the others

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """What is done once a process, before the first case; it is not timed."""

    @abstractmethod
    def case(self, seed: int) -> Case:
        """The case of a seed, always the same."""

    @abstractmethod
    def check(self, case: Case) -> Verdict:
        """What came of it; an exception that gets out is a finding too."""

    def smaller(self, case: Case) -> Iterator[Case]:
        """Cases that are simpler than this one, the boldest first."""
        yield from ()


def fell_through(error: BaseException) -> Verdict:
    """An exception that nobody was to see; its kind is its type and the place in appell where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if {"appell", "fuzz"} & set(Path(frame.filename).parts) == {"appell"}] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
    text = str(error).splitlines()[0] if str(error) else ""
    return Verdict(f"{type(error).__name__}: {text[:300]} ({place})", f"{type(error).__name__} at {place}")
