"""The figures of one run as JSON, and as tables for the terminal and Markdown generated from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from appell_lab.bench.figure import Figure, seconds_text
from appell_lab.bench.results import read_results, save_results
from appell_lab.bench.subject import TALOS_NOTE

VERDICT = {True: "[green]met", False: "[red]missed", None: ""}


@dataclass(frozen=True)
class Report:
    """Figures, and the machine and versions with which they were measured."""

    figures: tuple[Figure, ...]
    machine: dict[str, Any]
    versions: dict[str, str]
    date: str
    batch: int
    quick: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """All results as plain data; times are in s."""
        return {
            "date": self.date,
            "batch": self.batch,
            "quick": self.quick,
            "machine": self.machine,
            "versions": self.versions,
            "figures": [figure.to_json() for figure in self.figures],
        }

    def save(self, path: Path) -> None:
        """Write the report as JSON."""
        save_results(path, self.content)

    @staticmethod
    def read(path: Path) -> Report:
        """Read a report written by `save`."""

        def report_of(content: dict[str, Any]) -> Report:
            figures = tuple(Figure.from_json(data) for data in content["figures"])
            keys = ("machine", "versions", "date", "batch", "quick")
            return Report(figures, **{key: content[key] for key in keys})

        return read_results(path, "appell bench", report_of)

    @property
    def circumstances(self) -> str:
        """One sentence about the machine, the versions and the date."""
        machine, versions = self.machine, self.versions
        return (
            f"{machine['cpu']} ({machine['kind']}), one core, {machine['system']}, Python {machine['python']}, "
            f"NumPy {versions['numpy']}, llvmlite {versions['llvmlite']}, Pinocchio {versions['pin']}, {self.date}"
        )

    def verdict(self) -> str:
        """One sentence about the aims that were met and missed."""
        with_aim = [figure for figure in self.figures if figure.met is not None]
        missed = [figure.key for figure in with_aim if not figure.met]
        if not with_aim:
            return "No figure of this run has an aim."
        missed_text = f" Missed: {', '.join(missed)}." if missed else ""
        return f"{len(with_aim) - len(missed)} of {len(with_aim)} aims met.{missed_text}"

    def table(self) -> Table:
        """Return the table for the terminal."""
        caption = f"Time for one sample in batches of {self.batch:,}. {self.circumstances}."
        table = Table(caption=caption, caption_justify="left", box=box.SIMPLE_HEAD)
        for name in ("", "appell", "Pinocchio", "measured", "aim", " "):
            table.add_column(name, justify="right" if name.strip() else "left", no_wrap=name != "")
        previous = None
        for figure in self.figures:
            if previous is not None and (previous.robot, previous.part) != (figure.robot, figure.part):
                table.add_section()
            previous = figure
            ours, theirs = _pair(figure)
            table.add_row(_title(figure), ours, theirs, figure.value_text, figure.aim_text, VERDICT[figure.met])
        return table

    def markdown(self) -> str:
        """Return the tables for the documentation: comparisons and time to the first result, without aims."""
        compared = [figure for figure in self.figures if figure.theirs is not None and figure.name != "float32"]
        lines = [
            "| robot | function | appell | Pinocchio in a loop | faster | Pinocchio at its best |",
            "|---|---|---:|---:|---:|---:|",
        ]
        for figure in compared:
            at_best = figure.details.get("theirs_at_once_best") or figure.details.get("loop_whole_steps_seconds")
            cells = [figure.robot, figure.title, *_pair(figure), figure.value_text, at_best and seconds_text(at_best)]
            lines.append(_row(cells))
        lines += ["", "| in a fresh process | seconds |", "|---|---:|"]
        for figure in self.figures:
            if figure.part == "start":
                lines.append(_row([_title(figure), f"{figure.value:.3f}"]))
        lines += [
            "",
            f"Time for one sample in batches of {self.batch:,} with `out=`, or for one call. {self.circumstances}. "
            "Pinocchio at its best: its functions for batches, on one thread; for inverse kinematics its example loop "
            f"with full Newton steps instead of steps of one tenth. {TALOS_NOTE}",
        ]
        return "\n".join(lines)

    def markdown_with_aims(self) -> str:
        """Return the table for benchmarks/README.md: every figure with its aim."""
        lines = ["| | appell | Pinocchio | measured | aim | |", "|---|---:|---:|---:|---:|---|"]
        verdicts = {True: "met", False: "**missed**", None: ""}
        for figure in self.figures:
            cells = [f"`{figure.key}`", *_pair(figure), figure.value_text, figure.aim_text, verdicts[figure.met]]
            lines.append(_row(cells))
        return "\n".join([*lines, "", f"{self.circumstances}.", "", self.verdict()])


def _pair(figure: Figure) -> tuple[str, str]:
    if figure.ours is None or figure.theirs is None:
        return "", ""
    return seconds_text(figure.ours), seconds_text(figure.theirs)


def _title(figure: Figure) -> str:
    return figure.title if figure.robot == "appell" else f"{figure.robot} {figure.title}"


def _row(cells: Sequence[str | None]) -> str:
    return f"| {' | '.join(cell or '' for cell in cells)} |"
