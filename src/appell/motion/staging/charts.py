"""Curves below a moving scene: energies, positions, forces, by unit, at most as many lines in one as there are colours.

The motion of a simulation is drawn as it is between the rows. Many rows become the lowest and the highest of every
stretch that a chart can show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from appell.display.scene import Chart
from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell.motion.names import record_units
from appell.motion.pictures.panels import Panel, arranged
from appell.motion.pictures.sampling import Samples, finely
from appell.motion.record import Record
from appell.motion.titled import parse

ROWS = 1500  # of a chart
WORDS = {"q": "position", "tau": "force"}
TURNS = {"q": "angle", "tau": "torque"}  # where the unit says so
SHOWN = ("q", "tau")


def charts(record: Record, dyn: Dynamics) -> list[Chart]:
    """Energy first, then forces and positions, of what moves."""
    record = replace(record, units=record_units(dyn.system) | dict(record.units))
    panels = [panel for panel in arranged(record, ())[0] if panel.quantity in SHOWN and panel.unit != "1"]
    panels.sort(key=lambda panel: panel.quantity != "tau")
    samples = _samples(record, panels)
    moving = [panel for panel in panels if any(np.ptp(record[title]) > 0.0 for title in panel.columns)]
    return [*_energies(record, dyn, samples), *(_chart(record, panel, samples, panels) for panel in moving or panels)]


def _samples(record: Record, panels: list[Panel]) -> Samples | None:
    """The motion between the rows, where it is known."""
    known = record.between is not None and "q" in record and "v" in record and np.ptp(record.t) > 0.0
    return finely(record, [panel.columns for panel in panels]) if known else None


def _energies(record: Record, dyn: Dynamics, samples: Samples | None) -> list[Chart]:
    """Kinetic, potential and total if the robot and its velocities tell them, else the total if the record says it."""
    known = _both_energies(record, dyn, samples)
    if known is not None:
        t, kinetic, potential = known
        names, values = ("kinetic", "potential", "total"), np.stack([kinetic, potential, kinetic + potential], axis=-1)
        return [Chart("energy", "J", names, *thin(t, values))]
    if "energy" not in record:
        return []
    return [Chart("energy", record.unit("energy") or "J", ("total",), *thin(record.t, record.energy[:, None]))]


def _both_energies(
    record: Record, dyn: Dynamics, samples: Samples | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Times, kinetic and potential energy; None if a mass is missing, or a motion is prescribed that nobody kept."""
    system = dyn.system
    if "v" not in record or set(record.names("v")) != set(system.velocity_names):
        return None
    t, q, v = (record.t, record.q, record.v) if samples is None else (samples.t, samples.q, samples.v)
    q = q[:, [record.names("q").index(name) for name in system.coordinate_names]]
    v = v[:, [record.names("v").index(name) for name in system.velocity_names]]
    try:
        with np.errstate(invalid="ignore"):  # where a leg does not reach, there is no energy
            return t, *dyn.energy(q, v)
    except AppellError:
        return None


def _chart(record: Record, panel: Panel, samples: Samples | None, panels: list[Panel]) -> Chart:
    t, values = record.t, np.column_stack([record[title] for title in panel.columns])
    if panel.quantity == "q" and samples is not None:
        names = record.names("q")
        t, values = samples.t, samples.q[:, [names.index(parse(title)[1]) for title in panel.columns]]
    turning = panel.unit in ("rad", "N m")
    title = (TURNS if turning else WORDS)[panel.quantity]
    if sum((other.quantity, other.unit) == (panel.quantity, panel.unit) for other in panels) > 1:
        title = f"{title}, {' to '.join(dict.fromkeys((panel.names[0], panel.names[-1])))}"  # one of several
    return Chart(title, panel.unit, panel.names, *thin(t, values))


def thin(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (rows, names) without those that cannot be seen: the lowest and the highest of each name stay, by blocks."""
    if len(t) <= ROWS:
        return t, values
    blocks = np.array_split(np.arange(len(t)), max(1, ROWS // (2 * values.shape[1])))
    kept = {0, len(t) - 1}
    for block in blocks:
        part = values[block]
        kept |= set((block[0] + np.where(np.isnan(part), np.inf, part).argmin(axis=0)).tolist())
        kept |= set((block[0] + np.where(np.isnan(part), -np.inf, part).argmax(axis=0)).tolist())
    rows = sorted(kept)
    return t[rows], values[rows]
