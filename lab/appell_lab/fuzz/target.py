"""A fuzz target: how cases are generated, what must hold for each, and how a failing case is reduced.

A case is a JSON-serialisable dictionary that depends on its seed only. So the seed is enough to repeat a case, and the
smallest case that still fails can be printed and stored. `check` runs in a separate process (`worker`). A crash, a hang
or excessive use of memory is a finding, like an exception.
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
    """The result of a case: `problem` describes what broke; it is empty if all properties held.

    Problems of the same `kind` are counted together. Of `figures` the largest values of all cases are kept; `counts`
    are summed.
    """

    problem: str = ""
    kind: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


class Target(ABC):
    """Base class of fuzz targets."""

    name: ClassVar[str]
    about: ClassVar[str]  # description, one line
    seconds: ClassVar[float] = 2.0  # processor time that a case may take
    max_sleep_s: ClassVar[int] = 60  # time that a case may sleep, for example waiting for a process that it started
    megabytes: ClassVar[int] = 500  # memory that a case may allocate
    share: ClassVar[float] = 1.0  # share of the campaign's time, relative to the other targets

    def prepare(self) -> None:  # noqa: B027 - most targets need no preparation
        """Prepare a process before its first case; the time is not limited."""

    @abstractmethod
    def case(self, seed: int) -> Case:
        """Return the case of a seed; the same seed always gives the same case."""

    @abstractmethod
    def check(self, case: Case) -> Verdict:
        """Check a case; an exception that is raised is a finding, too."""

    def smaller(self, case: Case) -> Iterator[Case]:
        """Yield simpler cases, those with the largest reduction first."""
        yield from ()


def unexpected_error(error: BaseException) -> Verdict:
    """Return the verdict on an exception that should not occur; its kind is its type and the line in appell."""
    frames = traceback.extract_tb(error.__traceback__)
    in_appell = [frame for frame in frames if {"appell", "fuzz"} & set(Path(frame.filename).parts) == {"appell"}]
    last = (in_appell or frames)[-1:]
    line = f"{Path(last[0].filename).name}:{last[0].lineno}" if last else "?"
    text = str(error).splitlines()[0] if str(error) else ""
    return Verdict(f"{type(error).__name__}: {text[:300]} ({line})", f"{type(error).__name__} at {line}")
