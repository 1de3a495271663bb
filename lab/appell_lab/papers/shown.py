"""Content of a section as data, from which the terminal output, the index page and the stored file are made.

Texts contain markup of rich, such as `[green]agrees[/]`; the note of a table and the entries of a list are plain.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class ShownTable:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class ShownFigure:
    """A picture in a file beside the index; `size` is its width and height in pixels, if known."""

    title: str
    file: str
    size: tuple[int, int] | None = None


@dataclass(frozen=True)
class Remark:
    text: str


@dataclass(frozen=True)
class Listed:
    """Entries under a heading: paper, text and reason."""

    heading: str
    entries: tuple[tuple[str, str, str], ...]


Shown = ShownTable | ShownFigure | Remark | Listed
KINDS: dict[str, type[Shown]] = {"table": ShownTable, "figure": ShownFigure, "remark": Remark, "list": Listed}


@dataclass
class Tally:
    """Totals of a section: tables, printed numbers that agree and that differ, figures."""

    tables: int = 0
    agreed: int = 0
    differed: int = 0
    figures: int = 0


@dataclass(frozen=True)
class SectionRun:
    """A section that was run: its content and totals, and when, where and how long it ran."""

    name: str
    shown: tuple[Shown, ...]
    tally: Tally
    measures: dict[str, float]  # quantities that the ledgers judge
    seconds: float
    finished: str  # UTC
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        kinds = {made: kind for kind, made in KINDS.items()}
        return asdict(self) | {"shown": [{"kind": kinds[type(one)], **asdict(one)} for one in self.shown]}

    @staticmethod
    def from_json(data: dict[str, Any]) -> SectionRun:
        """Build a run from its JSON data; raise KeyError, TypeError or ValueError if they are invalid."""
        shown = []
        for one in data["shown"]:
            made = KINDS[one["kind"]]
            shown.append(made(**{key: _frozen(value) for key, value in one.items() if key != "kind"}))
        return SectionRun(**data | {"shown": tuple(shown), "tally": Tally(**data["tally"])})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
