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
        actuators: Annotated[bool, typer.Option("--actuators", help="Count their rotors and friction.")] = False,
        force: Force = False,
    ) -> None:
        """The joint forces that a motion takes."""
        import numpy as np

        from appell.cli.screen import screen
        from appell.describe.load import load
        from appell.dynamics import Dynamics
        from appell.motion.files.formats import check_target
        from appell.motion.mechanisms.pose_check import check_pose
        from appell.motion.names import record_names, record_units
        from appell.motion.record import Record

        if output is not None:
            check_target(output, force)
        arm = load(robot)
        names = record_names(arm)
        asked = Record.read(motion).path(names["q"]).record(samples)
        moves = {key: asked[key] for key in "qva"}
        dyn = Dynamics(arm, friction=actuators, rotors=actuators)
        with np.errstate(invalid="ignore"):
            tau = dyn.inverse_dynamics(**moves)
        if (lost := np.flatnonzero(~np.isfinite(tau).all(axis=-1))).size:
            check_pose(dyn, asked.q[lost[0]])
        found = Record.of(asked.t, moves | {"tau": tau}, names, units=record_units(arm), about={"robot": arm.name})
        console = screen()
        console.print(_table(dyn, found))
        if output is not None:
            found.write(output, overwrite=force)
            console.print(f"written {output}, {samples} samples", highlight=False)
        if plot is not None:
            found.plot(plot, ["tau"])
            console.print(f"drawn {plot}", highlight=False)


def _table(dyn, found):
    """Extremes of every actuator, beside its limit where it has one."""
    import numpy as np
    from rich import box
    from rich.table import Table

    system, tau = dyn.system, found.tau
    power = np.abs(tau * np.einsum("tij,tj->ti", dyn.actuator_jacobian(found.q), found.v)).max(axis=0)
    table = Table(title=f"{system.name}, {found.t[-1]:.6g} s", title_justify="left", box=box.SIMPLE_HEAD)
    for k, column in enumerate(("actuator", "lowest", "highest", "rms", "limit", "highest power, W")):
        table.add_column(column, justify="left" if k == 0 else "right")
    for k, (name, actuator) in enumerate(zip(system.actuator_names, system.actuators, strict=True)):
        limit, force = actuator.torque_limit, tau[:, k]
        cells = [f"{x:.5g}" for x in (force.min(), force.max(), np.sqrt(np.mean(force**2)), power[k])]
        over = np.abs(force).max() > limit
        bound = "" if limit == np.inf else f"[red]{limit:g} exceeded[/]" if over else f"{limit:g}"
        table.add_row(name, *cells[:3], bound, cells[3])
    return table
