"""`appell torques ROBOT MOTION`: compute the actuator forces of a motion, as a table, a record and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

import appell as ap
from appell.cli import options
from appell.cli.input import PICTURES, RECORDS, check_target, read_record, read_system
from appell.cli.options import SIMULATE, argument, new_app, option
from appell.cli.output import Markup, Printer, table

app = new_app()


@app.command(rich_help_panel=SIMULATE, epilog="Example: [bold]appell torques puma line.csv --plot torques.png[/].")
def torques(
    robot: options.RobotName,
    motion: Annotated[
        Path, argument("Record or ROS 2 bag of the motion, with columns t, q_<coordinate>, and optionally v_* and a_*.")
    ],
    topic: options.Topics = None,
    clock: options.Clock = "header",
    samples: Annotated[int, option("Number of equally spaced samples of the motion.", min=2)] = 201,
    no_friction: options.NoFriction = False,
    no_rotors: options.NoRotors = False,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    output: options.Output = None,
    plot: options.Plot = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Compute the actuator forces of a motion."""
    from appell.kinematics.mechanisms import check_pose
    from appell.motion.titles import FORCES, record_names, record_units

    check_target(output, force, RECORDS)
    check_target(plot, force, PICTURES)
    system = read_system(robot, base, physical)
    names = record_names(system)
    sampled = read_record(motion, system, topics=topic, clock=clock).path(names["q"]).record(samples)
    blocks = {key: sampled[key] for key in "qva"}
    dyn = ap.Dynamics(system, friction=not no_friction, rotors=not no_rotors)
    with np.errstate(invalid="ignore"):
        tau = dyn.inverse_dynamics(**blocks)
    if (invalid := np.flatnonzero(~np.isfinite(tau).all(axis=-1))).size:
        check_pose(dyn, sampled.q[invalid[0]])
    units, about = record_units(system), {"robot": system.name}
    record = ap.Record.of(sampled.t, blocks | {"tau": tau}, names, units=units, about=about)
    rates = np.einsum("tij,tj->ti", dyn.actuator_jacobian(record.q), record.v)
    power = np.abs(tau * rates).max(axis=0)
    free = [[np.inf if x.no_load_speed is None else x.no_load_speed] for x in system.actuators]
    available = np.maximum(1.0 - np.maximum(np.sign(tau) * rates, 0.0).T / free, 0.0)  # fraction of the limit
    rows = [
        {
            "actuator": name,
            "lowest": force.min(),
            "highest": force.max(),
            "rms": np.sqrt(np.mean(force**2)),
            "limit": None if actuator.torque_limit == np.inf else actuator.torque_limit,
            "exceeded": bool((np.abs(force) / actuator.torque_limit > share).any()),
            "unit": FORCES[unit],
            "highest_power": most,
        }
        for name, actuator, unit, force, most, share in zip(
            system.actuator_names, system.actuators, system.actuator_units, tau.T, power, available, strict=True
        )
    ]
    duration = record.t[-1] - record.t[0]
    units = {"duration": "s", "lowest, highest, rms, limit": "unit of the row", "highest_power": "W"}
    data = {"robot": system.name, "duration": duration, "actuators": rows, "units": units}
    marked = [row | {"limit": Markup(f"[red]{row['limit']:g} exceeded[/]")} if row["exceeded"] else row for row in rows]
    heads = {"actuator": "actuator", **{key: (key, ".5g") for key in ("lowest", "highest", "rms")}}
    heads |= {"limit": ("limit", "g"), "unit": "unit", "highest_power": ("highest power, W", ".5g")}
    out = Printer(json)
    out.answer(data, table(marked, heads, f"{system.name}: actuator forces over {duration:.6g} s"))
    out.files(record, output)
    if plot is not None:
        record.plot(plot, ["tau"], overwrite=True)
        out.say(f"wrote {plot}")
