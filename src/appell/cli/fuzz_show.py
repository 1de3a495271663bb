"""A campaign with a bar, a table of what was tried, and every finding with what repeats it."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path

from appell.cli.answers import table, tell
from appell.cli.screen import say, screen
from appell.display.bar import Bar
from appell.lab.campaigns.fuzz.campaign import Bag, Bounds, content, run
from appell.lab.campaigns.fuzz.hunt import Hunt
from appell.lab.campaigns.fuzz.watched import Watched

LONGEST = 2000  # characters of a case that are shown


def show_hunts(hunts: Sequence[Hunt], json: bool) -> None:
    rows = [
        {"hunt": hunt.name, "about": hunt.about, "seconds": hunt.seconds, "megabytes": hunt.megabytes} for hunt in hunts
    ]
    if json:
        tell(rows)
        return
    heads = {"hunt": "hunt", "about": "what it tries"}
    limits = {"seconds": ("a case may take, s", "g"), "megabytes": ("and MB", "")}
    screen().print(table(rows, {**heads, **limits}))


def carry_out(hunts: Sequence[Hunt], bounds: Bounds, path: Path | None, json: bool) -> int:
    """How many kinds of findings there are."""
    done: dict[str, int] = {}
    with Bar("hunting", None, "cases", patience=0.0) as bar:

        def told(bag: Bag) -> None:
            done[bag.hunt] = bag.cases
            bar.label = bag.hunt + (f", {len(bag.broken)} broken" if bag.broken else "")
            bar(sum(done.values()))

        bags = run(hunts, bounds, told, path)
    if json:
        tell(content(bags) | {"units": {"seconds, slowest": "s of processor time"}})
    else:
        show(bags)
    return sum(len(bag.broken) for bag in bags)


def show(bags: Sequence[Bag]) -> None:
    console = screen()
    rows = [
        {
            "hunt": bag.hunt,
            "cases": bag.cases,
            "seconds": bag.seconds,
            "slowest": bag.slowest[0],
            "figures": "\n".join(f"{name} {value:.3g}" for name, (value, _) in sorted(bag.figures.items())),
            "broken": len(bag.broken),
        }
        for bag in bags
    ]
    heads = {"hunt": "hunt", "cases": ("cases", ","), "seconds": ("processor, s", ".1f")}
    heads |= {"slowest": ("slowest, s", ".2f"), "figures": "worst figures", "broken": ("broken", "")}
    console.print(table(rows, heads))
    for bag in bags:
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(bag.counts.items()))
        say(console, f"{bag.hunt}: {told or 'nothing to count'}")
    for broken in (broken for bag in bags for broken in bag.broken):
        say(console, f"\n{broken.hunt}, {broken.times} times: {broken.problem}")
        say(console, f"  repeat    {broken.command}")
        say(console, f"  smallest  {dumps(broken.case)[:LONGEST]}")
    if not any(bag.broken for bag in bags):
        say(console, "nothing broke")


def repeat(hunt: Hunt, seed: int, json: bool) -> bool:
    """One case again; whether it broke."""
    console, case = screen(), hunt.case(seed)
    with Watched(hunt) as watched:
        verdict, seconds = watched.check(case)
    if json:
        answer = {"hunt": hunt.name, "seed": seed, "case": case, "figures": verdict.figures}
        tell(answer | {"problem": verdict.problem, "seconds": seconds, "units": {"seconds": "s of processor time"}})
        return bool(verdict.problem)
    say(console, dumps(case)[:LONGEST])
    for name, value in verdict.figures.items():
        say(console, f"{name} {value:.6g}")
    say(console, f"{verdict.problem or 'all held'}, {seconds:.2f} s of processor time")
    return bool(verdict.problem)
