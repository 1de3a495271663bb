"""`appell control campaign`: schedules of faults with a bar, and a table of what came of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from appell.cli.screen import screen
from appell.lab.campaigns.control import STOP_TIME, STRAY, Finding, run_campaign, standard_setting


def run_and_show(schedules: int, first: int) -> int:
    """How many schedules broke a property."""
    findings: list[Finding] = []
    columns = (TextColumn("breaking the loop"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=schedules)
        for finding in run_campaign(standard_setting(), range(first, first + schedules)):
            findings.append(finding)
            progress.advance(bar)
    broken = [finding for finding in findings if finding.broken]
    _show(findings, broken)
    return len(broken)


def _show(findings: list[Finding], broken: list[Finding]) -> None:
    kinds = Counter(fault.kind for finding in findings for fault in finding.injections)
    ends = Counter(finding.state.name for finding in findings)
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("", "measured", "bound"):
        table.add_column(name, justify="left" if not name else "right")
    table.add_row("schedules", str(len(findings)), "")
    table.add_row("faults injected", ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())), "")
    table.add_row("states at the end", ", ".join(f"{state} {count}" for state, count in sorted(ends.items())), "")
    table.add_row("longest stop, s", f"{max(v.stopping_time for v in findings):.3f}", f"{STOP_TIME:g}")
    table.add_row("farthest from the way, rad", f"{max(v.stray for v in findings):.3f}", f"{STRAY:g}")
    table.add_row(
        "largest torque over its limit",
        f"{max(v.torque_ratio for v in findings):.4f}",
        "1.02, amplifier error included",
    )
    table.add_row("ticks", f"{int(np.sum([v.ticks for v in findings])):,}", "")
    console = screen()
    console.print(table)
    for finding in broken[:20]:
        console.print(f"[red]seed {finding.seed}: {', '.join(finding.broken)}[/] {finding.injections}")
    console.print(
        "[green]every property held in every schedule" if not broken else f"[red]{len(broken)} schedules failed"
    )
