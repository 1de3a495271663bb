"""What a sweep is: its study, its table and seed, and the version of appell, as hashes; and who is refused by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appell import __version__
from appell.errors import ArgumentError
from appell.sweeps.jobs import Jobs
from appell.sweeps.study_content import told


@dataclass(frozen=True)
class Identity:
    """A sweep, told by hashes: `parts` are those of the study, by name."""

    study: str  # its name
    parts: dict[str, str]
    table: str
    version: str = __version__

    @staticmethod
    def of(study: Callable[..., Any], jobs: Jobs) -> Identity:
        return Identity(getattr(study, "__name__", type(study).__name__), told(study), jobs.digest)

    def refuse(self, stored: Identity, path: Path, accept_study: bool) -> None:
        """Raise if a store is of another sweep."""
        where = f"the store '{path}' belongs to another"
        another = "another out=..., or the study and table that it was made with"
        if self.table != stored.table:
            raise ArgumentError(f"{where} table than the one given.", expected=another)
        if accept_study:
            return
        if self.study != stored.study:
            raise ArgumentError(f"{where} study: '{stored.study}', not '{self.study}'.", expected=another)
        names = dict.fromkeys((*self.parts, *stored.parts))
        changed = [name for name in names if self.parts.get(name) != stored.parts.get(name)]
        if changed:
            raise ArgumentError(
                f"{where} version of the study '{self.study}': {', '.join(changed)} changed.",
                expected=another,
                hint="accept_study=True if what is stored is as good as what it would compute now",
            )
        if self.version != stored.version:
            raise ArgumentError(
                f"{where} version of appell: {stored.version}, not {self.version}.",
                expected=another,
                hint="accept_study=True if that makes no difference to the study",
            )
