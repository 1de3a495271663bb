"""What Valera 2003 prints of its cabinet, and what is ours, where the numbers stand."""

from __future__ import annotations

import numpy as np

from appell.hardware import wiring_of
from appell.model.system import System
from appell_lab.papers.page import Page


def hardware(page: Page, robot: System) -> None:
    """Two tables: quantity by quantity, and the drives joint by joint."""
    wiring = wiring_of(robot)
    lines = [channel.lines for channel in wiring.channels]
    page.table(
        "The cabinet: what is printed and what is ours",
        ["", "printed", "here"],
        [
            [
                "encoders, joints 1 and 2 / others",
                "200 / 250 counts a turn",
                f"{lines[0]} / {lines[2]} lines of 4",
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
        note="A turn is one of the motor. Channels A and B of a line give four counts; if the paper's counts are edges "
        "and not lines, its resolution was four times coarser than ours.",
    )
    rows = []
    for k, (own, channel) in enumerate(zip(robot.actuators, wiring.channels, strict=True)):
        step = 2.0 * np.pi / (4 * channel.lines * abs(own.gear))
        rows.append(
            [
                f"joint {k + 1}",
                f"{own.gear:.4g}",
                f"{1e6 * own.rotor_inertia:g}",
                f"{own.torque_constant:g}",
                f"{channel.resistance:g}",
                f"{channel.amplifier:g}",
                f"{own.torque_limit:g}",
                f"{1e6 * step:.0f}",
                f"{wiring.reachable_torque[k] / 2 ** (wiring.bits - 1):.4f}",
            ]
        )
    page.table(
        "The drives of this simulation, none of them printed",
        ["", "gear", "rotor, 1e-6 kg m²", "N m/A", "ohm", "A/V", "limit, N m", "a count, µrad", "a bit, N m"],
        rows,
    )
