"""Comparison of appell with its peers: the figures of one run as JSON, as a table and as Markdown.

Times are minima, scaled to the fastest reference loop of the run: if the reference loop was 10 % slower during a
measurement, the times of that measurement are reduced accordingly. Ratios need no scaling, because both sides are timed
in the same turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from appell_lab.bench.clock import Timing
from appell_lab.bench.figure import in_unit, seconds_text
from appell_lab.bench.peers.builds import STOPPED
from appell_lab.bench.peers.comparison import Comparison
from appell_lab.bench.results import read_results, save_results
from appell_lab.bench.subject import TALOS_NOTE

OURS, BEST = "appell", "times the best"


@dataclass(frozen=True)
class PeerReport:
    """All comparisons of a run, with machine and versions; `content` defines the JSON keys."""

    comparisons: tuple[Comparison, ...]
    machine: dict[str, Any]
    versions: dict[str, str]
    peers: dict[str, dict[str, str]]  # version and flags of each, or why it is not available
    date: str
    quick: bool = False

    @property
    def anchor(self) -> float:
        """Fastest time of one step of the reference loop in this run, s."""
        return min(comparison.anchor.best for comparison in self.comparisons)

    @property
    def wide(self) -> bool:
        """Whether registers hold eight doubles."""
        return self.machine["doubles"] >= 8

    def aim(self, comparison: Comparison) -> float:
        """Return the required speedup on this machine."""
        return comparison.row.wide if self.wide else comparison.row.narrow

    def seconds(self, comparison: Comparison, timing: Timing) -> float:
        """Return a best time scaled to the fastest reference loop, s."""
        return timing.best * self.anchor / comparison.anchor.best

    @property
    def content(self) -> dict[str, Any]:
        """All results as plain data; times are in s."""
        return {
            "date": self.date,
            "quick": self.quick,
            "machine": self.machine,
            "versions": self.versions,
            "peers": self.peers,
            "anchor": self.anchor,
            "contests": [comparison.to_json() for comparison in self.comparisons],
        }

    def save(self, path: Path) -> None:
        """Write the report as JSON."""
        save_results(path, self.content)

    @staticmethod
    def read(path: Path) -> PeerReport:
        """Read a report written by `save`."""

        def report_of(content: dict[str, Any]) -> PeerReport:
            comparisons = tuple(Comparison.from_json(data) for data in content["contests"])
            keys = ("machine", "versions", "peers", "date", "quick")
            return PeerReport(comparisons, **{key: content[key] for key in keys})

        return read_results(path, "appell bench --peers", report_of)

    @property
    def names(self) -> list[str]:
        """The peers that were timed in at least one row."""
        return [name for name in self.peers if any(name in comparison.peers for comparison in self.comparisons)]

    @property
    def circumstances(self) -> str:
        """One sentence about batches, machine, versions and date."""
        machine, versions = self.machine, self.versions
        flags = {about["flags"] for about in self.peers.values() if "flags" in about}
        compilers = sorted({flag for flag in flags if flag.startswith(("gcc", "g++"))})
        peers = ", ".join(
            f"{name} {about['version']}"
            for name, about in self.peers.items()
            if name in self.names and "version" in about
        )
        sizes = dict.fromkeys(
            (comparison.row.robot, comparison.row.batch)
            for comparison in self.comparisons
            if not comparison.row.one_call
        )
        batches = " and ".join(f"{batch:,} ({robot})" for robot, batch in sizes)
        return (
            f"Batches of {batches}. {machine['cpu']} ({machine['kind']}), one core, "
            f"registers of {machine['doubles']} doubles, "
            f"{machine['system']}, "
            f"Python {machine['python']}, NumPy {versions['numpy']}, llvmlite {versions['llvmlite']}; {peers}; "
            f"{'; '.join(compilers)}; {self.date}"
        )

    def cells(self, comparison: Comparison) -> list[str]:
        """Return a row of the table: title, every peer, appell, ratio, aim, fraction of the peak."""
        row = comparison.row
        peers = [
            seconds_text(self.seconds(comparison, comparison.peers[name])) if name in comparison.peers else "–"
            for name in self.names
        ]
        ratio = "" if comparison.ratio is None else in_unit(comparison.ratio, "x")
        fraction = "" if comparison.fraction is None else f"{comparison.fraction:.0%}"
        peak_aim = "" if row.peak is None else f" ≥ {row.peak:.0%}"
        ours = seconds_text(self.seconds(comparison, comparison.ours))
        return [f"{row.robot} {row.title}", *peers, ours, ratio, f"≥ {self.aim(comparison):g}x", fraction + peak_aim]

    def heads(self) -> list[str]:
        """Return the column heads; peers that are not counted are in parentheses."""
        shown = {name for comparison in self.comparisons for name in comparison.shown}
        return ["", *(f"({name})" if name in shown else name for name in self.names), OURS, BEST, "aim", "of FMA peak"]

    def table(self) -> Table:
        """Return the table for the terminal."""
        table = Table(caption=f"{self.circumstances}.", caption_justify="left", box=box.SIMPLE_HEAD)
        for head in self.heads():
            table.add_column(head, justify="right" if head else "left", no_wrap=not head)
        for comparison in self.comparisons:
            table.add_row(*self.cells(comparison))
        return table

    def refusals(self) -> list[str]:
        """Return why peers are not available, with the rows to which each reason applies."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for comparison in self.comparisons:
            for name, reason in comparison.refusals.items():
                reasons.setdefault((name, reason), []).append(comparison.row.key)
        return [f"{name}: {reason} ({', '.join(keys)})" for (name, reason), keys in reasons.items()]

    def verdict(self) -> str:
        """Return one sentence about the aims that were met and missed."""
        compared = [comparison for comparison in self.comparisons if comparison.ratio is not None]
        missed = [comparison.row.key for comparison in compared if (comparison.ratio or 0.0) < self.aim(comparison)]
        missed += [f"{comparison.row.key} (of the peak)" for comparison in compared if _below_peak(comparison)]
        if not compared:
            return "No peer could be built, so there is nothing to compare with."
        missed_text = f" Missed: {', '.join(missed)}." if missed else ""
        aims = len(compared) + sum(comparison.row.peak is not None for comparison in compared)
        return f"{aims - len(missed)} of {aims} aims met.{missed_text}"

    @property
    def stopped(self) -> list[str]:
        """Messages about builds that exceeded the time limit; their dash does not mean that the peer is unable."""
        reasons = (sentence for comparison in self.comparisons for sentence in comparison.refusals.values())
        return sorted({sentence for sentence in reasons if STOPPED in sentence})

    def markdown(self) -> str:
        """Return the table for the documentation."""
        heads = self.heads()
        lines = [_line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
        lines += [_line(self.cells(comparison)) for comparison in self.comparisons]
        note = (
            "Time for one sample; the loop over the batch is compiled on both sides. Programs in parentheses could be "
            "built but are not distributed anywhere, and do not count as peers. Peers compute the full regressor. "
            f"{TALOS_NOTE} "
            f"{''.join(f'{sentence} ' for sentence in self.stopped)}{self.circumstances}."
        )
        return "\n".join([*lines, "", note])


def _below_peak(comparison: Comparison) -> bool:
    return comparison.row.peak is not None and (comparison.fraction or 0.0) < comparison.row.peak


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
