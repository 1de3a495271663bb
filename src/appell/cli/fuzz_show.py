"""A campaign with a bar, a table of what was tried, and every finding with what repeats it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from appell.cli.screen import say, screen
from appell.lab.campaigns.fuzz.campaign import Bounds, Tally, run
from appell.lab.campaigns.fuzz.hunt import Hunt
from appell.lab.campaigns.fuzz.watched import Watched

LONGEST = 2000  # characters of a case that are shown


def show_hunts(hunts: Sequence[Hunt]) -> None:
    table = Table("hunt", "what it tries", "a case may take", box=box.SIMPLE_HEAD)
    for hunt in hunts:
        table.add_row(hunt.name, hunt.about, f"{hunt.seconds:g} s, {hunt.megabytes} MB")
    screen().print(table)


def carry_out(hunts: Sequence[Hunt], bounds: Bounds, path: Path | None) -> int:
    """How many kinds of findings there are."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=None)

        def tell(tally: Tally) -> None:
            found = f", [red]{len(tally.broken)} broken[/]" if tally.broken else ""
            progress.update(bar, description=f"{tally.hunt}: {tally.cases:,} cases{found}")

        tallies = run(hunts, bounds, tell, path)
    show(tallies)
    return sum(len(tally.broken) for tally in tallies)


def show(tallies: Sequence[Tally]) -> None:
    console = screen()
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("hunt", "cases", "processor, s", "slowest, s", "worst figures", "broken"):
        table.add_column(name, justify="left" if name in ("hunt", "worst figures") else "right")
    for tally in tallies:
        figures = "\n".join(f"{name} {value:.3g}" for name, (value, _) in sorted(tally.figures.items()))
        numbers = (f"{tally.cases:,}", f"{tally.seconds:.1f}", f"{tally.slowest[0]:.2f}")
        table.add_row(tally.hunt, *numbers, figures, str(len(tally.broken)))
    console.print(table)
    for tally in tallies:
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(tally.counts.items()))
        say(console, f"{tally.hunt}: {told or 'nothing to count'}")
    for broken in (broken for tally in tallies for broken in tally.broken):
        say(console, f"\n{broken.hunt}, {broken.times} times: {broken.problem}")
        say(console, f"  repeat    {broken.command}")
        say(console, f"  smallest  {json.dumps(broken.case)[:LONGEST]}")
    if not any(tally.broken for tally in tallies):
        say(console, "nothing broke")


def repeat(hunt: Hunt, seed: int) -> bool:
    """One case again; whether it broke."""
    console, case = screen(), hunt.case(seed)
    say(console, json.dumps(case)[:LONGEST])
    with Watched(hunt) as watched:
        outcome, seconds = watched.check(case)
    for name, value in outcome.figures.items():
        say(console, f"{name} {value:.6g}")
    say(console, f"{outcome.problem or 'all held'}, {seconds:.2f} s of processor time")
    return bool(outcome.problem)
