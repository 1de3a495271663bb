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
from appell.lab.campaigns.fuzz.campaign import Bag, Bounds, run
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

        def tell(bag: Bag) -> None:
            found = f", [red]{len(bag.broken)} broken[/]" if bag.broken else ""
            progress.update(bar, description=f"{bag.hunt}: {bag.cases:,} cases{found}")

        bags = run(hunts, bounds, tell, path)
    show(bags)
    return sum(len(bag.broken) for bag in bags)


def show(bags: Sequence[Bag]) -> None:
    console = screen()
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("hunt", "cases", "processor, s", "slowest, s", "worst figures", "broken"):
        table.add_column(name, justify="left" if name in ("hunt", "worst figures") else "right")
    for bag in bags:
        figures = "\n".join(f"{name} {value:.3g}" for name, (value, _) in sorted(bag.figures.items()))
        numbers = (f"{bag.cases:,}", f"{bag.seconds:.1f}", f"{bag.slowest[0]:.2f}")
        table.add_row(bag.hunt, *numbers, figures, str(len(bag.broken)))
    console.print(table)
    for bag in bags:
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(bag.counts.items()))
        say(console, f"{bag.hunt}: {told or 'nothing to count'}")
    for broken in (broken for bag in bags for broken in bag.broken):
        say(console, f"\n{broken.hunt}, {broken.times} times: {broken.problem}")
        say(console, f"  repeat    {broken.command}")
        say(console, f"  smallest  {json.dumps(broken.case)[:LONGEST]}")
    if not any(bag.broken for bag in bags):
        say(console, "nothing broke")


def repeat(hunt: Hunt, seed: int) -> bool:
    """One case again; whether it broke."""
    console, case = screen(), hunt.case(seed)
    say(console, json.dumps(case)[:LONGEST])
    with Watched(hunt) as watched:
        verdict, seconds = watched.check(case)
    for name, value in verdict.figures.items():
        say(console, f"{name} {value:.6g}")
    say(console, f"{verdict.problem or 'all held'}, {seconds:.2f} s of processor time")
    return bool(verdict.problem)
