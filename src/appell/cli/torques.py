"""`appell torques ROBOT TRAJECTORY`: the joint forces of a motion, as a table, as CSV and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.errors import ArgumentError


def register(app: typer.Typer) -> None:
    @app.command(epilog="Example: [bold]appell torques puma line.csv --plot torques.png[/].")
    def torques(
        robot: Annotated[str, typer.Argument(help="A robot of the zoo, or a .urdf or .toml file.")],
        trajectory: Annotated[
            Path, typer.Argument(help="CSV with columns t, q_<joint>, and v_, a_ if they are known.")
        ],
        samples: Annotated[int, typer.Option(min=2, help="Equally spaced times.")] = 201,
        output: Annotated[Path | None, typer.Option(help="CSV to write: t, q, v, a and tau of every joint.")] = None,
        plot: Annotated[Path | None, typer.Option(help="PNG to write.")] = None,
        friction: Annotated[bool, typer.Option(help="Apply the joints' damping and friction.")] = False,
    ) -> None:
        """The joint forces that a motion takes."""
        from appell.cli.screen import screen
        from appell.describe.load import load
        from appell.dynamics import Dynamics
        from appell.motion import read_csv
        from appell.motion.csv import write_columns
        from appell.motion.plot import new_figure, plot_torques

        arm, motion = load(robot), read_csv(trajectory)
        if len(motion.names) != arm.nv or arm.nq != arm.nv:
            raise ArgumentError(
                f"{trajectory} moves {len(motion.names)} joints: {', '.join(motion.names)}.",
                expected=f"the {arm.nv} of robot '{arm.name}': {', '.join(arm.joint_names)}",
            )
        t = motion.times(samples)
        q, v, a = motion(t)
        tau = Dynamics(arm, friction=friction).inverse_dynamics(q, v, a)
        console = screen()
        console.print(_table(arm, motion.duration, v, tau))
        if output is not None:
            write_columns(output, motion.names, t, {"q": q, "v": v, "a": a, "tau": tau})
            console.print(f"written {output}, {samples} samples", highlight=False)
        if plot is not None:
            figure = new_figure(9.0, 5.0)
            plot_torques(figure.subplots(), t, tau, arm.joint_names)
            figure.savefig(plot, dpi=130)
            console.print(f"drawn {plot}", highlight=False)


def _table(robot, duration: float, v, tau):
    """Extremes of every joint, beside its limit where it has one."""
    import numpy as np
    from rich import box
    from rich.table import Table

    table = Table(title=f"{robot.name}, {duration:.6g} s", title_justify="left", box=box.SIMPLE_HEAD)
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
