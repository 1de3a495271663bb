"""`appell check ROBOT MOTION`: list what is wrong with a recorded or planned motion."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import appell as ap
from appell.cli import options
from appell.cli.input import pairs, read_system
from appell.cli.options import IDENTIFY, LOG, argument, new_app, option
from appell.cli.output import Printer, table

EXIT_CODE_PROBLEMS = 3
LISTED_TIMES = 3  # in a row of the table

app = new_app()


@app.command(rich_help_panel=IDENTIFY, epilog="Example: [bold]appell check puma log.csv[/].")
def check(
    robot: options.RobotName,
    motion: Annotated[
        Path, argument("Record or ROS 2 bag of the motion, with columns t, q_<coordinate>, and optionally v, a, tau.")
    ],
    base: options.Base = "fixed",
    physical: options.Physical = True,
    units: Annotated[
        list[str] | None, option("Units that are not SI, such as q=deg or tau=mNm. May be repeated.", LOG)
    ] = None,
    columns: Annotated[
        list[str] | None,
        option(
            "Column names: 'q=pos_{}' for all joints, q_joint1=shoulder_pos, or t=sec+nanosec. May be repeated.", LOG
        ),
    ] = None,
    topic: options.Topics = None,
    clock: options.Clock = "header",
    json: options.Json = False,
) -> None:
    """List what is wrong with a recorded or planned motion.

    Checked are the clock, missing numbers, units, the limits of positions, speeds and torques, recorded torques against
    inverse dynamics, and collisions. The exit code is 3 if there are problems.
    """
    titles = pairs(columns, "--columns")
    patterns = {key: title for key, title in titles.items() if "{}" in title}
    exact = {key: title for key, title in titles.items() if key not in patterns}
    system = read_system(robot, base, physical)
    result = ap.check(
        system,
        motion,
        patterns=patterns,
        units=pairs(units, "--units"),
        columns=exact,
        topics=topic or (),
        clock=clock,
    )
    rows = []
    for problem in result.problems:
        more = " ..." if len(problem.times) > LISTED_TIMES else ""
        times = ", ".join(f"{t:.6g}" for t in problem.times[:LISTED_TIMES]) + more
        rows.append({"kind": problem.kind, "name": problem.name, "times": times, "text": problem.text})
    heads = {"kind": "problem", "name": "joint or column", "times": "from t, s", "text": "details"}
    title = f"{system.name}: {len(rows)} problems in {result.rows} rows over {result.duration:.6g} s"
    shown = [table(rows, heads, title)] if rows else [f"{system.name}: {result}"]
    Printer(json).answer(asdict(result) | {"ok": result.ok}, *shown, *(f"not checked: {x}" for x in result.skipped))
    if not result.ok:
        raise typer.Exit(EXIT_CODE_PROBLEMS)
