"""The cabinet of Valera 2003: which of its numbers are printed, and which are chosen here."""

from __future__ import annotations

import numpy as np

from appell.hardware import wiring_of
from appell.model.system import System
from appell_lab.papers.page import Page


def hardware(page: Page, robot: System) -> None:
    """Show two tables: the cabinet by quantity, and the actuators by joint."""
    wiring = wiring_of(robot)
    lines = [channel.lines for channel in wiring.channels]
    page.table(
        "The cabinet: printed numbers and our choices",
        ["", "printed", "here"],
        [
            [
                "encoders, joints 1 and 2 / others",
                "200 / 250 counts per turn",
                f"{lines[0]} / {lines[2]} lines with 4 counts each",
            ],
            ["potentiometers", "6, 0 to 5 V", f"{wiring.n}, 0 to {wiring.potentiometer_volts:g} V"],
            ["output to the amplifiers", "6, at most ±10 V", f"{wiring.n}, ±{wiring.volts:g} V"],
            ["bits of the converters", "none; cards PCL-818, PCL-726", f"{wiring.bits}"],
            ["over-temperature inputs, tool outputs", "6, 2", f"{wiring.n}, 2"],
            ["control period", "none; a step takes 0.061 ms", "1 ms"],
            ["gears, rotors, friction", "none", "those commonly given for a PUMA 560"],
            ["motor constants, resistances, gains, brakes", "none", "round numbers of the right size"],
            ["gains of the laws", "none", "all poles at -20/s"],
        ],
        note="Turns are those of the motor. Channels A and B give four counts per line; if the counts of the paper are "
        "edges and not lines, its resolution was four times coarser than ours.",
    )
    rows = []
    for k, (actuator, channel) in enumerate(zip(robot.actuators, wiring.channels, strict=True)):
        step = 2.0 * np.pi / (4 * channel.lines * abs(actuator.gear))
        rows.append(
            [
                f"joint {k + 1}",
                f"{actuator.gear:.4g}",
                f"{1e6 * actuator.rotor_inertia:g}",
                f"{actuator.torque_constant:g}",
                f"{channel.resistance:g}",
                f"{channel.amplifier:g}",
                f"{actuator.torque_limit:g}",
                f"{1e6 * step:.0f}",
                f"{wiring.reachable_torque[k] / 2 ** (wiring.bits - 1):.4f}",
            ]
        )
    page.table(
        "The actuators of this simulation, none of them printed",
        ["", "gear", "rotor, 1e-6 kg m²", "N m/A", "ohm", "A/V", "limit, N m", "count, µrad", "bit, N m"],
        rows,
    )
