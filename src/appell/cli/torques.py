"""`appell torques ROBOT MOTION`: the joint forces of a motion, as a table, as a record and as a plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli.answers import Markup, table, tell
from appell.cli.options import SIMULATE, Actuators, Base, Force, Json, Output, Physical, Plot, RobotName

if TYPE_CHECKING:
    from rich.table import Table

    from appell.dynamics import Dynamics
    from appell.motion.record import Record


def register(app: typer.Typer) -> None:
    @app.command(rich_help_panel=SIMULATE, epilog="Example: [bold]appell torques puma line.csv --plot torques.png[/].")
    def torques(
        robot: RobotName,
        motion: Annotated[
            Path, typer.Argument(help="Record with columns t, q_<coordinate>, and v_, a_ if they are known.")
        ],
        samples: Annotated[int, typer.Option(min=2, help="How many times, equally spaced over the motion.")] = 201,
        output: Output = None,
        plot: Plot = None,
        actuators: Actuators = False,
        base: Base = "fixed",
        physical: Physical = True,
        json: Json = False,
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
        answer, console = _answer(dyn, found), screen(aside=json)
        if json:
            tell(answer)
        else:
            console.print(_table(answer))
        if output is not None:
            found.write(output, overwrite=True)
            say(console, f"written {output}, {samples} samples")
        if plot is not None:
            found.plot(plot, ["tau"])
            say(console, f"drawn {plot}")


def _answer(dyn: Dynamics, found: Record) -> dict[str, Any]:
    """Extremes of every actuator, beside its limit where it has one."""
    import numpy as np

    from appell.motion.names import FORCES

    system, tau = dyn.system, found.tau
    power = np.abs(tau * np.einsum("tij,tj->ti", dyn.actuator_jacobian(found.q), found.v)).max(axis=0)
    rows = [
        {
            "actuator": name,
            "lowest": force.min(),
            "highest": force.max(),
            "rms": np.sqrt(np.mean(force**2)),
            "limit": None if actuator.torque_limit == np.inf else actuator.torque_limit,
            "exceeded": bool(np.abs(force).max() > actuator.torque_limit),
            "unit": FORCES[unit],
            "highest_power": most,
        }
        for name, actuator, unit, force, most in zip(
            system.actuator_names, system.actuators, system.actuator_units, tau.T, power, strict=True
        )
    ]
    units = {"duration": "s", "lowest, highest, rms, limit": "unit of the row", "highest_power": "W"}
    return {"robot": system.name, "duration": found.t[-1] - found.t[0], "actuators": rows, "units": units}


def _table(answer: dict[str, Any]) -> Table:
    rows = [
        row | {"limit": Markup(f"[red]{row['limit']:g} exceeded[/]") if row["exceeded"] else row["limit"]}
        for row in answer["actuators"]
    ]
    heads = {"actuator": "actuator", **{key: (key, ".5g") for key in ("lowest", "highest", "rms")}}
    heads |= {"limit": ("limit", "g"), "unit": "unit", "highest_power": ("highest power, W", ".5g")}
    return table(rows, heads, f"{answer['robot']}: actuator forces over {answer['duration']:.6g} s")
