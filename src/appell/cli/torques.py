"""`appell torques ROBOT MOTION`: the joint forces of a motion, as a table, as a record and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli.options import Force, Output, Plot, RobotName


def register(app: typer.Typer) -> None:
    @app.command(epilog="Example: [bold]appell torques puma line.csv --plot torques.png[/].")
    def torques(
        robot: RobotName,
        motion: Annotated[
            Path, typer.Argument(help="Record with columns t, q_<coordinate>, and v_, a_ if they are known.")
        ],
        samples: Annotated[int, typer.Option(min=2, help="Equally spaced times.")] = 201,
        output: Output = None,
        plot: Plot = None,
        friction: Annotated[bool, typer.Option(help="Apply the joints' damping and friction.")] = False,
        force: Force = False,
    ) -> None:
        """The joint forces that a motion takes."""
        from appell.cli.screen import screen
        from appell.describe.load import load
        from appell.dynamics import Dynamics
        from appell.motion.files.formats import check_target
        from appell.motion.names import record_names
        from appell.motion.record import Record

        if output is not None:
            check_target(output, force)
        arm = load(robot)
        names = record_names(arm)
        asked = Record.read(motion).path(names["q"]).record(samples)
        moves = {key: asked[key] for key in "qva"}
        tau = Dynamics(arm, friction=friction).inverse_dynamics(**moves)
        found = Record.of(asked.t, moves | {"tau": tau}, names, about={"robot": arm.name})
        console = screen()
        console.print(_table(arm, found))
        if output is not None:
            found.write(output, overwrite=force)
            console.print(f"written {output}, {samples} samples", highlight=False)
        if plot is not None:
            found.plot(["tau"]).savefig(plot, dpi=130)
            console.print(f"drawn {plot}", highlight=False)


def _table(robot, found):
    """Extremes of every joint, beside its limit where it has one."""
    import numpy as np
    from rich import box
    from rich.table import Table

    v, tau = found.v, found.tau
    table = Table(title=f"{robot.name}, {found.t[-1]:.6g} s", title_justify="left", box=box.SIMPLE_HEAD)
    for k, column in enumerate(("joint", "lowest", "highest", "rms", "limit", "highest power, W")):
        table.add_column(column, justify="left" if k == 0 else "right")
    for k, link in enumerate(robot.moving):
        limit = link.joint.limits.effort
        row = [tau[:, k].min(), tau[:, k].max(), np.sqrt(np.mean(tau[:, k] ** 2)), np.abs(tau[:, k] * v[:, k]).max()]
        cells = [f"{x:.5g}" for x in row]
        over = limit is not None and np.abs(tau[:, k]).max() > limit
        bound = "" if limit is None else f"[red]{limit:g} exceeded[/]" if over else f"{limit:g}"
        table.add_row(link.joint.name, *cells[:3], bound, cells[3])
    return table
