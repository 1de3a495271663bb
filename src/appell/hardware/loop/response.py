"""A controller on a plant, sample by sample, without converters between them: what the law itself can do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.control.axes import led, names_of, word
from appell.control.controller import Controller
from appell.errors import ArgumentError, SimulationError
from appell.hardware.cabinet.plant import Plant
from appell.hardware.loop.reference import Reference


@dataclass(frozen=True)
class Response:
    """The sampled motion: each of shape (ticks, n), with one torque an actuator."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    reference: Reference
    led: tuple[int, ...]  # where the coordinates of the reference stand in q

    @property
    def error(self) -> np.ndarray:
        """q - q_d."""
        count = min(len(self.t), len(self.reference))
        wanted = np.vstack([self.reference.q[:count], np.repeat(self.reference.q[-1:], len(self.t) - count, axis=0)])
        return self.q[:, list(self.led)] - wanted


def closed_loop(controller: Controller, plant: Plant, reference: Reference, settle: float = 0.0) -> Response:
    """Follow the reference from where the plant stands, then hold its end for `settle` seconds."""
    period, model, real = controller.design.period, controller.design.model, plant.system
    for axis in ("coordinate", "actuator"):
        found, believed = names_of(real, axis), names_of(model, axis)
        if found != believed:
            raise ArgumentError(
                f"the plant has {word(real, axis)}s {', '.join(found)}, "
                f"the controller's model has {', '.join(believed)}."
            )
    n, kind = model.nv, word(model, "coordinate")
    if reference.n != n or not np.isclose(reference.period, period):
        raise ArgumentError(
            f"the reference has {reference.n} {kind}s and a period of {reference.period:g} s.",
            expected=f"{n} {kind}s and {period:g} s",
        )
    ticks = len(reference) + round(settle / period)
    t = period * np.arange(ticks)
    q, v, tau = (np.empty((ticks, size)) for size in (model.nq, n, model.nu))
    end = reference.end
    for k in range(ticks):
        q[k], v[k] = plant.q, plant.v
        tau[k] = controller(q[k], v[k], reference.samples[k] if k < len(reference) else end)
        plant(tau[k], period)
    lost = ~np.isfinite(tau)
    if lost.any():
        k, which = (int(i) for i in np.argwhere(lost)[0])
        raise SimulationError(
            f"the torque of {word(model, 'actuator')} '{model.actuator_names[which]}' is {tau[k, which]} at "
            f"t = {t[k]:g} s; before, q was ({', '.join(f'{x:.4g}' for x in q[max(k - 1, 0)])}).",
            hint="keep away from singular poses and from the end of reach; gains that are stable at this period",
        )
    return Response(t, q, v, tau, reference, led(model))
