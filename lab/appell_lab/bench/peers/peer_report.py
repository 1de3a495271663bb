"""How appell stands among its peers: the figures of one run as JSON, as a table and as Markdown.

Times are minima, scaled to the fastest anchor of the run: a figure that was taken in a slow minute, with an anchor
slower by a tenth, loses that tenth. Ratios need no scale, both sides having been timed in the same turns.
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
from appell_lab.bench.peers.comparison import Comparison
from appell_lab.bench.peers.builds import STOPPED
from appell_lab.bench.results import read_results, save_results

OURS, BEST = "appell", "times the best"


@dataclass(frozen=True)
class PeerReport:
    """All contests of a run, and with what they were fought."""

    contests: tuple[Comparison, ...]
    machine: dict[str, Any]
    versions: dict[str, str]
    peers: dict[str, dict[str, str]]  # version and flags of each, or why it is not there
    date: str
    quick: bool = False

    @property
    def anchor(self) -> float:
        """Seconds for one step of the anchor in the fastest minute of the run."""
        return min(contest.anchor.best for contest in self.contests)

    @property
    def wide(self) -> bool:
        """Whether registers hold eight doubles."""
        return self.machine["doubles"] >= 8

    def aim(self, contest: Comparison) -> float:
        return contest.row.wide if self.wide else contest.row.narrow

    def seconds(self, contest: Comparison, timing: Timing) -> float:
        """The best time of a contestant, as it would be at the fastest anchor."""
        return timing.best * self.anchor / contest.anchor.best

    @property
    def content(self) -> dict[str, Any]:
        """All of it as plain data; times are in s."""
        return {
            "date": self.date,
            "quick": self.quick,
            "machine": self.machine,
            "versions": self.versions,
            "peers": self.peers,
            "anchor": self.anchor,
            "contests": [contest.to_json() for contest in self.contests],
        }

    def save(self, path: Path) -> None:
        save_results(path, self.content)

    @staticmethod
    def read(path: Path) -> PeerReport:
        def made(content: dict[str, Any]) -> PeerReport:
            contests = tuple(Comparison.from_json(data) for data in content["contests"])
            keys = ("machine", "versions", "peers", "date", "quick")
            return PeerReport(contests, **{key: content[key] for key in keys})

        return read_results(path, "appell bench --peers", made)

    @property
    def names(self) -> list[str]:
        """The peers that were timed in some row, in their order."""
        return [name for name in self.peers if any(name in contest.peers for contest in self.contests)]

    @property
    def circumstances(self) -> str:
        """One sentence on where the figures come from."""
        told, own = self.machine, self.versions
        flags = {about["flags"] for about in self.peers.values() if "flags" in about}
        compilers = sorted({flag for flag in flags if flag.startswith(("gcc", "g++"))})
        peers = ", ".join(
            f"{name} {about['version']}"
            for name, about in self.peers.items()
            if name in self.names and "version" in about
        )
        sizes = dict.fromkeys(
            (contest.row.robot, contest.row.batch) for contest in self.contests if not contest.row.one_call
        )
        batches = " and ".join(f"{batch:,} ({robot})" for robot, batch in sizes)
        return (
            f"Batches of {batches}. {told['cpu']} ({told['kind']}), one core, registers of {told['doubles']} doubles, "
            f"{told['system']}, "
            f"Python {told['python']}, NumPy {own['numpy']}, llvmlite {own['llvmlite']}; {peers}; "
            f"{'; '.join(compilers)}; {self.date}"
        )

    def cells(self, contest: Comparison) -> list[str]:
        """A row of the table: title, every peer, ours, ratio, aim, fraction of the peak."""
        row = contest.row
        peers = [
            seconds_text(self.seconds(contest, contest.peers[name])) if name in contest.peers else "–"
            for name in self.names
        ]
        ratio = "" if contest.ratio is None else in_unit(contest.ratio, "x")
        fraction = "" if contest.fraction is None else f"{contest.fraction:.0%}"
        wanted = "" if row.peak is None else f" ≥ {row.peak:.0%}"
        ours = seconds_text(self.seconds(contest, contest.ours))
        return [f"{row.robot} {row.title}", *peers, ours, ratio, f"≥ {self.aim(contest):g}x", fraction + wanted]

    def heads(self) -> list[str]:
        shown = {name for contest in self.contests for name in contest.shown}
        return ["", *(f"({name})" if name in shown else name for name in self.names), OURS, BEST, "aim", "of FMA peak"]

    def table(self) -> Table:
        """For the terminal."""
        table = Table(caption=f"{self.circumstances}.", caption_justify="left", box=box.SIMPLE_HEAD)
        for head in self.heads():
            table.add_column(head, justify="right" if head else "left", no_wrap=not head)
        for contest in self.contests:
            table.add_row(*self.cells(contest))
        return table

    def refusals(self) -> list[str]:
        """Which peer could not do what, and why; reasons that hold for several rows are said once."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for contest in self.contests:
            for name, reason in contest.refusals.items():
                reasons.setdefault((name, reason), []).append(contest.row.key)
        return [f"{name}: {reason} ({', '.join(keys)})" for (name, reason), keys in reasons.items()]

    def verdict(self) -> str:
        judged = [contest for contest in self.contests if contest.ratio is not None]
        missed = [contest.row.key for contest in judged if (contest.ratio or 0.0) < self.aim(contest)]
        missed += [f"{contest.row.key} (of the peak)" for contest in judged if _below_peak(contest)]
        if not judged:
            return "No peer could be built, so there is nothing to compare with."
        lacking = f" Missed: {', '.join(missed)}." if missed else ""
        aims = len(judged) + sum(contest.row.peak is not None for contest in judged)
        return f"{aims - len(missed)} of {aims} aims met.{lacking}"

    @property
    def stopped(self) -> list[str]:
        """The builds that took too long: where they stand, a dash does not mean that the peer could not."""
        told = (sentence for contest in self.contests for sentence in contest.refusals.values())
        return sorted({sentence for sentence in told if STOPPED in sentence})

    def markdown(self) -> str:
        """For the texts."""
        heads = self.heads()
        lines = [_line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
        lines += [_line(self.cells(contest)) for contest in self.contests]
        note = (
            "Time for one sample; the loop over the batch is compiled on both sides, and what is in brackets is what "
            "somebody could build but nobody ships: it does not count as a peer. The peers' regressor is the full one. "
            f"{''.join(f'{sentence} ' for sentence in self.stopped)}{self.circumstances}."
        )
        return "\n".join([*lines, "", note])


def _below_peak(contest: Comparison) -> bool:
    return contest.row.peak is not None and (contest.fraction or 0.0) < contest.row.peak


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
