"""`appell fuzz`: try to break appell with random input, for a given time."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli import options
from appell.cli.options import MEASURE, entries_of, new_app, option
from appell.cli.output import Printer, table
from appell.errors import ArgumentError, check_number
from appell.progress import Bar

if TYPE_CHECKING:
    from appell_lab.fuzz.campaign import Bag, Bounds
    from appell_lab.fuzz.target import Hunt

FOUND = 3  # the exit code if something broke
LONGEST = 2000  # characters of a case that are shown

app = new_app()


@app.command(
    rich_help_panel=MEASURE,
    epilog="Examples: [bold]appell fuzz --minutes 60 --output fuzz.json[/]; [bold]appell fuzz --only files "
    "--case 123456[/] repeats one case. Robots and motions are judged by Pinocchio: pip install pin.",
)
def fuzz(
    minutes: Annotated[float, option("Duration in minutes, all hunts together.")] = 5.0,
    seed: Annotated[int, option("Seed of the first case; each later case has the next number.")] = 0,
    only: Annotated[
        str,
        option(
            "Some hunts of --list, with commas; all of them if not given.",
            complete=entries_of("appell_lab.fuzz.targets:HUNTS"),
        ),
    ] = "",
    cases: Annotated[int | None, option("Largest number of cases per hunt.")] = None,
    case: Annotated[int | None, option("Repeat the case of this seed; needs one hunt in --only.")] = None,
    output: options.Results = None,
    json: options.Json = False,
    list_: Annotated[bool, option("Only list the hunts.", "", "--list")] = False,
) -> None:
    """Try to break appell: random robots, spoiled files, motions, kills, attacks. Exit code 3 if it breaks."""
    from appell_lab.fuzz.campaign import Bounds
    from appell_lab.fuzz.targets import chosen

    check_number("--minutes", minutes, least=0.0, above=True)
    if cases is not None:
        check_number("--cases", cases, least=1)
    if min(seed, case or 0) < 0:
        raise ArgumentError("a seed is negative.", expected="a whole number from 0")
    hunts = chosen(only)
    if list_:
        _list(hunts, Printer(json))
        return
    if case is not None and len(hunts) != 1:
        raise ArgumentError("--case is of one hunt.", hint="--only files --case 123456")
    if case is not None:
        broken = _repeat(hunts[0], case, Printer(json))
    else:
        broken = _run(hunts, Bounds(60.0 * minutes, cases, seed), output, Printer(json))
    if broken:
        raise typer.Exit(FOUND)


def _list(hunts: Sequence[Hunt], out: Printer) -> None:
    rows = [
        {"hunt": hunt.name, "about": hunt.about, "seconds": hunt.seconds, "megabytes": hunt.megabytes} for hunt in hunts
    ]
    limits = {"seconds": ("a case may take, s", "g"), "megabytes": ("and MB", "")}
    out.answer(rows, table(rows, {"hunt": "hunt", "about": "what it tries", **limits}))


def _run(hunts: Sequence[Hunt], bounds: Bounds, path: Path | None, out: Printer) -> bool:
    """Run a campaign with a bar; print its results and every finding with what repeats it. Return whether it broke."""
    from appell_lab.fuzz.campaign import content, run

    done: dict[str, int] = {}
    with Bar("hunting", None, "cases", delay=0.0) as bar:

        def update(bag: Bag) -> None:
            done[bag.hunt] = bag.cases
            bar.label = bag.hunt + (f", {len(bag.broken)} broken" if bag.broken else "")
            bar(sum(done.values()))

        bags = run(hunts, bounds, update, path)
    out.answer(content(bags) | {"units": {"seconds, slowest": "s of processor time"}}, *shown(bags))
    return any(bag.broken for bag in bags)


def shown(bags: Sequence[Bag]) -> list[Any]:
    """Return the results of a campaign for the terminal."""
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
    lines: list[Any] = [table(rows, heads)]
    for bag in bags:
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(bag.counts.items()))
        lines.append(f"{bag.hunt}: {counts or 'nothing to count'}")
    for broken in (broken for bag in bags for broken in bag.broken):
        lines += [f"\n{broken.hunt}, {broken.times} times: {broken.problem}", f"  repeat    {broken.command}"]
        lines.append(f"  smallest  {dumps(broken.case)[:LONGEST]}")
    return lines if any(bag.broken for bag in bags) else [*lines, "nothing broke"]


def _repeat(hunt: Hunt, seed: int, out: Printer) -> bool:
    """Run one case again; return whether it broke."""
    from appell_lab.fuzz.watched import Watched

    case = hunt.case(seed)
    with Watched(hunt) as watched:
        verdict, seconds = watched.check(case)
    data = {"hunt": hunt.name, "seed": seed, "case": case, "figures": verdict.figures}
    out.answer(
        data | {"problem": verdict.problem, "seconds": seconds, "units": {"seconds": "s of processor time"}},
        dumps(case)[:LONGEST],
        *(f"{name} {value:.6g}" for name, value in verdict.figures.items()),
        f"{verdict.problem or 'all held'}, {seconds:.2f} s of processor time",
    )
    return bool(verdict.problem)
