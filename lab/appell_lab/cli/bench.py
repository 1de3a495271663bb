"""`appell bench`: compare the speed of appell with Pinocchio, or with all peers that can be built on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from appell.cli import options
from appell.cli.input import check_target
from appell.cli.options import MEASURE, complete_base, complete_robot, entries_of, new_app, option
from appell.cli.output import Printer, say, watched
from appell.errors import ArgumentError

app = new_app()


@app.command(
    rich_help_panel=MEASURE,
    epilog="Example: [bold]appell bench --robot puma --part batch --quick[/]. Needs Pinocchio: pip install pin. "
    "[bold]appell bench --peers[/] needs a C++ compiler and pip install 'appell\\[peers]'.",
)
def bench(
    robot: Annotated[
        list[str] | None,
        option("A zoo name, a file, or 'talos'; repeatable. Default: puma and talos.", complete=complete_robot),
    ] = None,
    base: Annotated[
        str | None, option("Base of the robots: fixed, floating or planar.", complete=complete_base)
    ] = None,
    physical: options.Physical = True,
    part: Annotated[
        list[str] | None,
        option(
            "batch, call, start, counts, parallel, loops, kinematics, control, rollouts; repeatable. Default: all.",
            complete=entries_of("appell_lab.bench.run:PARTS"),
        ),
    ] = None,
    batch: Annotated[int | None, option("Number of samples in a batch; default: 10,000.")] = None,
    peers: Annotated[
        bool,
        option(
            "Build Pinocchio (C++), CasADi (C) and MuJoCo (C), and compare with the fastest of them.",
            "",
            "--peers",
        ),
    ] = False,
    build_limit: Annotated[float, option("Time limit in seconds for building one peer.")] = 900.0,
    quick: Annotated[bool, option("Fewer repetitions, for a quick estimate.", "", "--quick")] = False,
    output: options.Results = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Measure speed and time to first result on one core, compared with Python loops over Pinocchio."""
    from appell_lab.bench.run import BATCH_SIZE, PARTS, Plan, run, tasks
    from appell_lab.bench.subject import find, pinocchio

    check_target(output, force, (".json",))
    if peers:
        _refuse({"--base": base, "--part": part, "--batch": batch})
        _against_peers(robot or [], build_limit, quick, output, json)
        return
    effort = {"turns": 5, "processes": 1} if quick else {"turns": 25, "processes": 5}
    subjects = [find(name, base, physical) for name in robot or ("puma", "talos")]
    plan = Plan(subjects, tuple(part or PARTS), BATCH_SIZE if batch is None else batch, quick=quick, **effort)
    pinocchio()
    with watched(sum(task.ticks for task in tasks(plan))) as watch:
        report = run(plan, watch)
    units = {"units": {"ours, theirs": "s", "value, aim": "unit of the figure"}}
    out = Printer(json)
    out.answer(report.content | units, report.table(), report.verdict())
    if output is not None:
        report.save(output)
        out.say(f"written {output}")


def _refuse(given: dict[str, object]) -> None:
    """Raise ArgumentError if an option is given that has no effect with --peers."""
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name} has no effect with --peers.", expected="--robot or --quick")


def _against_peers(robots: list[str], build_limit: float, quick: bool, output: Path | None, json: bool) -> None:
    from rich.console import Console

    from appell_lab.bench.peers.builds import BuildFolder
    from appell_lab.bench.peers.run_peers import build, chosen_rows, peers_of, run_peers

    out, progress = Printer(json), Console(stderr=True)
    rows, turns = chosen_rows(robots), 5 if quick else 25
    peers = peers_of(BuildFolder(limit=build_limit, say=lambda line: say(progress, line)))
    build(rows, peers)
    with watched(turns * len(rows)) as watch:
        peer_report = run_peers(rows, peers, turns, watch, quick)
    data = peer_report.content | {"units": {"anchor, contests": "s"}}
    out.answer(data, peer_report.table(), *peer_report.refusals(), peer_report.verdict())
    if output is not None:
        peer_report.save(output)
        out.say(f"written {output}")
