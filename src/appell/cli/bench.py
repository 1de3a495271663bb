"""`appell bench`: how fast it is on this machine, against Pinocchio, or against all that can be built beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli import completions
from appell.cli.answers import tell
from appell.cli.options import MEASURE, Force, Json, Physical, Results


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=MEASURE,
        epilog="Example: [bold]appell bench --robot puma --part batch --quick[/]. Needs Pinocchio: pip install pin. "
        "[bold]appell bench --peers[/] needs a C++ compiler and pip install 'appell\\[peers]'.",
    )
    def bench(
        robot: Annotated[
            list[str] | None,
            typer.Option(
                help="A zoo name, a file, or 'talos'; may be repeated. Without it: puma and talos.",
                autocompletion=completions.robots,
            ),
        ] = None,
        base: Annotated[
            str | None,
            typer.Option(help="How the robots stand: fixed, floating or planar.", autocompletion=completions.bases),
        ] = None,
        physical: Physical = True,
        part: Annotated[
            list[str] | None,
            typer.Option(
                help="batch, call, start, counts, parallel, loops, kinematics, control, rollouts; repeatable. "
                "Without it: all.",
                autocompletion=completions.parts,
            ),
        ] = None,
        batch: Annotated[int | None, typer.Option(help="Samples in a batch; 10,000 if not given.")] = None,
        peers: Annotated[
            bool,
            typer.Option(
                "--peers",
                help="Build Pinocchio in C++, CasADi's C and MuJoCo's driver, and print the table against the best.",
            ),
        ] = False,
        build_limit: Annotated[float, typer.Option(help="Seconds that one build of a peer may take.")] = 900.0,
        quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats: a first impression.")] = False,
        output: Results = None,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """Measure speed and time to first result on one core, against a Python loop over Pinocchio."""
        from appell.cli.screen import say, screen, watched
        from appell.cli.targets import check_target
        from appell.lab.bench.run import BATCH, PARTS, Plan, run, tasks
        from appell.lab.bench.subject import find, pinocchio

        check_target(output, force, (".json",))
        if peers:
            _refuse({"--base": base, "--part": part, "--batch": batch})
            _against_peers(robot or [], build_limit, quick, output, json)
            return
        pinocchio()
        effort = {"turns": 5, "processes": 1} if quick else {"turns": 25, "processes": 5}
        subjects = [find(name, base, physical) for name in robot or ("puma", "talos")]
        plan = Plan(subjects, tuple(part or PARTS), BATCH if batch is None else batch, quick=quick, **effort)
        console = screen(aside=json)
        with watched(sum(task.ticks for task in tasks(plan))) as watch:
            report = run(plan, watch)
        if json:
            tell(report.content | {"units": {"ours, theirs": "s", "value, aim": "unit of the figure"}})
        else:
            console.print(report.table())
            console.print(report.verdict())
        if output is not None:
            report.save(output)
            say(console, f"written to {output}")


def _refuse(given: dict[str, object]) -> None:
    """What says nothing about the table of peers must not be given with it."""
    from appell.errors import ArgumentError

    for option, value in given.items():
        if value is not None:
            raise ArgumentError(
                f"{option} does not go with --peers, whose rows are fixed.", expected="--robot, --quick"
            )


def _against_peers(robots: list[str], build_limit: float, quick: bool, output: Path | None, json: bool) -> None:
    from rich.console import Console

    from appell.cli.screen import say, screen, watched
    from appell.lab.bench.peers.match import build, chosen_rows, peers_of, play
    from appell.lab.bench.peers.workshop import Workshop

    console, progress = screen(aside=json), Console(stderr=True)
    rows, turns = chosen_rows(robots), 5 if quick else 25
    peers = peers_of(Workshop(limit=build_limit, say=lambda line: say(progress, line)))
    build(rows, peers)
    with watched(turns * len(rows)) as watch:
        standing = play(rows, peers, turns, watch, quick)
    if json:
        tell(standing.content | {"units": {"anchor, contests": "s"}})
    else:
        console.print(standing.table())
        for line in standing.refusals():
            say(console, line)
        console.print(standing.verdict())
    if output is not None:
        standing.save(output)
        say(console, f"written to {output}")
