"""`appell bench`: how fast it is on this machine, against Pinocchio."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli.options import Force, Physical


def register(app: typer.Typer) -> None:
    @app.command(
        epilog="Example: [bold]appell bench --robot puma --part batch --quick[/]. Needs Pinocchio: pip install pin."
    )
    def bench(
        robot: Annotated[
            list[str] | None,
            typer.Option(help="A zoo name, a file, or 'talos'; may be repeated. Without it: puma and talos."),
        ] = None,
        base: Annotated[str | None, typer.Option(help="How the robots stand: fixed, floating or planar.")] = None,
        physical: Physical = True,
        part: Annotated[
            list[str] | None,
            typer.Option(
                help="batch, call, start, counts, parallel, kinematics or control; may be repeated. Without it: all."
            ),
        ] = None,
        batch: Annotated[int, typer.Option(help="Samples in a batch.")] = 10_000,
        quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats: a first impression.")] = False,
        json: Annotated[Path | None, typer.Option(help="Write machine, versions and figures to this .json.")] = None,
        force: Force = False,
    ) -> None:
        """Measure speed and time to first result on one core, against a Python loop over Pinocchio."""
        from appell.cli.screen import say, screen, watched
        from appell.cli.targets import check_target
        from appell.lab.bench.run import PARTS, Plan, run, tasks
        from appell.lab.bench.subject import find, pinocchio

        check_target(json, force, (".json",))
        pinocchio()
        effort = {"turns": 5, "processes": 1} if quick else {"turns": 25, "processes": 5}
        subjects = [find(name, base, physical) for name in robot or ("puma", "talos")]
        plan = Plan(subjects, tuple(part or PARTS), batch, quick=quick, **effort)
        console = screen()
        with watched(sum(task.ticks for task in tasks(plan))) as watch:
            report = run(plan, watch)
        console.print(report.table())
        console.print(report.verdict())
        if json is not None:
            report.save(json)
            say(console, f"written to {json}")
