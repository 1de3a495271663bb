"""`appell control campaign`: schedules of faults with a bar, and a table of what came of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from appell.cli.screen import screen
from appell.lab.campaigns.control import STOP_TIME, STRAY, Verdict, run_campaign, standard_setting


def run_and_show(schedules: int, first: int) -> int:
    """How many schedules broke a property."""
    verdicts: list[Verdict] = []
    columns = (TextColumn("breaking the loop"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=schedules)
        for verdict in run_campaign(standard_setting(), range(first, first + schedules)):
            verdicts.append(verdict)
            progress.advance(bar)
    broken = [verdict for verdict in verdicts if verdict.broken]
    _show(verdicts, broken)
    return len(broken)


def _show(verdicts: list[Verdict], broken: list[Verdict]) -> None:
    kinds = Counter(fault.kind for verdict in verdicts for fault in verdict.injections)
    ends = Counter(verdict.state.name for verdict in verdicts)
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("", "measured", "bound"):
        table.add_column(name, justify="left" if not name else "right")
    table.add_row("schedules", str(len(verdicts)), "")
    table.add_row("faults injected", ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())), "")
    table.add_row("states at the end", ", ".join(f"{state} {count}" for state, count in sorted(ends.items())), "")
    table.add_row("longest stop, s", f"{max(v.stopping_time for v in verdicts):.3f}", f"{STOP_TIME:g}")
    table.add_row("farthest stray or stop, rad", f"{max(max(v.stray, v.travel) for v in verdicts):.3f}", f"{STRAY:g}")
    table.add_row(
        "largest torque over its limit",
        f"{max(v.torque_ratio for v in verdicts):.4f}",
        "1.02, amplifier error included",
    )
    table.add_row("ticks", f"{int(np.sum([v.ticks for v in verdicts])):,}", "")
    console = screen()
    console.print(table)
    for verdict in broken[:20]:
        console.print(f"[red]seed {verdict.seed}: {', '.join(verdict.broken)}[/] {verdict.injections}")
    console.print(
        "[green]every property held in every schedule" if not broken else f"[red]{len(broken)} schedules failed"
    )
