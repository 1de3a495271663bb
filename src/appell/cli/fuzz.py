"""`appell fuzz`: a campaign that tries to break appell, for as long as one lets it."""

from __future__ import annotations

from typing import Annotated

import typer

from appell.cli import completions
from appell.cli.options import MEASURE, Json, Results

FOUND = 3  # the exit code if something broke


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=MEASURE,
        epilog="Examples: [bold]appell fuzz --minutes 60 --output fuzz.json[/]; [bold]appell fuzz --only files "
        "--case 123456[/] repeats one case. Robots and motions are judged by Pinocchio: pip install pin.",
    )
    def fuzz(
        minutes: Annotated[float, typer.Option(help="How long, in minutes, all hunts together.")] = 5.0,
        seed: Annotated[int, typer.Option(help="Of the first case; each later one has the next number.")] = 0,
        only: Annotated[
            str,
            typer.Option(
                help="Some hunts of --list, with commas; all of them if not given.", autocompletion=completions.hunts
            ),
        ] = "",
        cases: Annotated[int | None, typer.Option(help="At most so many cases a hunt.")] = None,
        case: Annotated[int | None, typer.Option(help="Repeat the case of this seed, of one hunt.")] = None,
        output: Results = None,
        json: Json = False,
        list_: Annotated[bool, typer.Option("--list", help="Show the hunts, and do nothing.")] = False,
    ) -> None:
        """Try to break appell: random robots, spoiled files, motions, kills, attacks. Exit code 3 if it breaks."""
        from appell.cli.fuzz_show import carry_out, repeat, show_hunts
        from appell.errors import ArgumentError, check_number
        from appell.lab.campaigns.fuzz.campaign import Bounds
        from appell.lab.campaigns.fuzz.hunts import chosen

        check_number("--minutes", minutes, least=0.0, above=True)
        if cases is not None:
            check_number("--cases", cases, least=1)
        if min(seed, case or 0) < 0:
            raise ArgumentError("a seed is negative.", expected="a whole number from 0")
        hunts = chosen(only)
        if list_:
            show_hunts(hunts, json)
            return
        if case is not None and len(hunts) != 1:
            raise ArgumentError("--case is of one hunt.", hint="--only files --case 123456")
        if case is not None:
            broken = repeat(hunts[0], case, json)
        else:
            broken = carry_out(hunts, Bounds(60.0 * minutes, cases, seed), output, json) > 0
        if broken:
            raise typer.Exit(FOUND)
