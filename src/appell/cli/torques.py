"""`appell torques ROBOT MOTION`: the joint forces of a motion, as a table, as a record and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli.options import Actuators, Base, Force, Output, Physical, Plot, RobotName


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
        actuators: Actuators = False,
        base: Base = "fixed",
        physical: Physical = True,
        force: Force = False,
    ) -> None:
        """The joint forces that a motion takes."""
        import numpy as np

        from appell.cli.reading import read_system
        from appell.cli.screen import say, screen
        from appell.cli.targets import PICTURES, RECORDS, check_target
        from appell.dynamics import Dynamics
        from appell.motion.mechanisms.pose_check import check_pose
        from appell.motion.names import record_names, record_units
        from appell.motion.record import Record

        check_target(output, force, RECORDS)
        check_target(plot, force, PICTURES)
        arm = read_system(robot, base, physical)
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
            found.write(output, overwrite=True)
            say(console, f"written {output}, {samples} samples")
        if plot is not None:
            found.plot(["tau"]).savefig(plot, dpi=130)
            say(console, f"drawn {plot}")


def _table(dyn, found):
    """Extremes of every actuator, beside its limit where it has one."""
    import numpy as np
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from appell.motion.names import FORCES

    system, tau = dyn.system, found.tau
    power = np.abs(tau * np.einsum("tij,tj->ti", dyn.actuator_jacobian(found.q), found.v)).max(axis=0)
    title = Text(f"{system.name}: actuator forces over {found.t[-1]:.6g} s")
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for k, column in enumerate(("actuator", "lowest", "highest", "rms", "limit", "unit", "highest power, W")):
        table.add_column(column, justify="left" if k in (0, 5) else "right")
    for k, (name, actuator) in enumerate(zip(system.actuator_names, system.actuators, strict=True)):
        limit, force = actuator.torque_limit, tau[:, k]
        cells = [f"{x:.5g}" for x in (force.min(), force.max(), np.sqrt(np.mean(force**2)), power[k])]
        over = np.abs(force).max() > limit
        bound = "" if limit == np.inf else f"[red]{limit:g} exceeded[/]" if over else f"{limit:g}"
        table.add_row(escape(name), *cells[:3], bound, FORCES[system.actuator_units[k]], cells[3])
    return table
