"""The response of a controller on a plant, without the converters and sensors of a cabinet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.control.axes import axis_word, controlled_indices, names_of
from appell.control.controller import Controller
from appell.errors import ArgumentError, SimulationError
from appell.hardware.loop.reference import Reference
from appell.hardware.plant import Plant
from appell.motion.record import Record


@dataclass(frozen=True)
class Response:
    """The sampled motion: times (ticks,), and q, v and tau with one row per tick."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    reference: Reference
    controlled_indices: tuple[int, ...]  # indices in q of the coordinates of the reference
    plant: Plant | None = None
    plant_q: np.ndarray | None = None  # true coordinates of the plant, with the motors of its elastic joints
    plant_v: np.ndarray | None = None

    @property
    def error(self) -> np.ndarray:
        """q - q_d of the controlled coordinates, of shape (ticks, nv)."""
        count = min(len(self.t), len(self.reference))
        target = np.vstack([self.reference.q[:count], np.repeat(self.reference.q[-1:], len(self.t) - count, axis=0)])
        return self.q[:, list(self.controlled_indices)] - target

    def measured(
        self,
        *,
        motor_counts: float = 4096.0,
        link_counts: float | None = None,
        torque_noise: float | np.ndarray | None = None,
        seed: int = 0,
    ) -> Record:
        """Return what the sensors of a plant with elastic joints measure, for `identify.identify_elastic_joints`.

        Parameters
        ----------
        motor_counts : float
            Counts per revolution of the encoders at the motors.
        link_counts : float, optional
            Counts per revolution (per m) of the encoders at the joints; None: there are none.
        torque_noise : float or array, optional
            Standard deviation of the torque sensors after the gears, the same for all or one per elastic joint, N m
            or N; None: there are none.
        seed : int
            Seed of the noise.

        Returns
        -------
        Record
            Columns motor_* (rad), tau_* (N m or N) and, with these sensors, q_* and spring_*.
        """
        if self.plant is None or self.plant_q is None or not self.plant.system.elastic_joints:
            raise ArgumentError("the plant of this response has no elastic joints, whose sensors could be simulated.")
        system, rng = self.plant.system, np.random.default_rng(seed)
        gears = np.array([system.drives[name].gear for name in system.elastic_joints])
        count = 2.0 * np.pi / motor_counts
        blocks = {"motor": count * np.round(gears * self.plant_q[:, system.link_nq :] / count), "tau": self.tau}
        names = {"motor": system.elastic_joints, "tau": system.actuator_names}
        if link_counts is not None:
            units = np.array([2.0 * np.pi if unit == "rad" else 1.0 for unit in system.coordinate_units])
            count_q = units[: system.link_nq] / link_counts
            blocks["q"] = count_q * np.round(self.plant_q[:, : system.link_nq] / count_q)
            names["q"] = system.coordinate_names[: system.link_nq]
        if torque_noise is not None:
            torques = self.plant.parts.smooth.spring_torques(self.plant_q, self.plant_v)
            blocks["spring"] = torques + rng.normal(0.0, torque_noise, torques.shape)
            names["spring"] = system.elastic_joints
        return Record.of(self.t, blocks, names)


def closed_loop(
    controller: Controller,
    plant: Plant,
    reference: Reference,
    settle: float = 0.0,
    sensors: Mapping[str, Callable[[Plant], Any]] | None = None,
) -> Response:
    """Simulate a controller that follows a reference from the current state of a plant.

    Parameters
    ----------
    controller : Controller
    plant : Plant
        If it has elastic joints and the controller's model has not, the controller measures the motors.
    reference : with the period of the controller
    settle : time in s for which the end of the reference is held
    sensors : functions of the plant that compute the further measurements of the law, by name

    Returns
    -------
    Response

    Raises
    ------
    ArgumentError
        If plant, controller and reference do not match.
    SimulationError
        If a torque is not finite.

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> arm, period = ap.load("planar-2r"), 1e-3
    >>> controller = ap.control.Controller(ap.control.Design(arm, ap.control.critical(20.0, period)))
    >>> plant = ap.hardware.Plant(arm)
    >>> path = ap.motion.Ramp(plant.q, plant.q + 0.3, 1.0, 2.0)
    >>> response = ap.hardware.closed_loop(controller, plant, ap.hardware.Reference.sampled(path, period))
    >>> bool(np.abs(response.error).max() < 1e-3)
    True
    """
    period, model, real = controller.design.period, controller.design.model, plant.system
    for axis in ("coordinate", "actuator"):
        actual, modelled = names_of(real, axis), names_of(model, axis)
        if actual != modelled:
            raise ArgumentError(
                f"the plant has {axis_word(real, axis)}s {', '.join(actual)}, "
                f"the controller's model has {', '.join(modelled)}."
            )
    n, kind = model.link_nv, axis_word(model, "coordinate")
    at_motors = bool(real.elastic_joints) and not model.elastic_joints
    if at_motors and not model.is_tree:
        raise ArgumentError(
            f"the controller's model has rigid joints, but the plant {real.owner} has elastic ones, and its motors do "
            "not determine the coordinates.",
            expected="a tree, or a model with elastic joints",
        )
    if reference.n != n or not np.isclose(reference.period, period):
        raise ArgumentError(
            f"the reference has {reference.n} {kind}s and a period of {reference.period:g} s.",
            expected=f"{n} {kind}s and {period:g} s",
        )
    ticks = len(reference) + round(settle / period)
    t = period * np.arange(ticks)
    q, v, tau = (np.empty((ticks, size)) for size in (model.nq, model.nv, model.nu))
    end, states = reference.end, (np.empty((ticks, real.nq)), np.empty((ticks, real.nv)))
    for k in range(ticks):
        states[0][k], states[1][k] = plant.q, plant.v
        q[k], v[k] = plant.actuator_state if at_motors else (plant.q, plant.v)
        measured = {name: sensor(plant) for name, sensor in (sensors or {}).items()}
        target = reference.samples[k] if k < len(reference) else end
        tau[k] = controller(q[k], v[k], target, time=t[k], **measured)
        plant(tau[k], period)
    invalid = ~np.isfinite(tau)
    if invalid.any():
        k, which = (int(i) for i in np.argwhere(invalid)[0])
        raise SimulationError(
            f"the torque of {axis_word(model, 'actuator')} '{model.actuator_names[which]}' is {tau[k, which]} at "
            f"t = {t[k]:g} s; q was ({', '.join(f'{x:.4g}' for x in q[max(k - 1, 0)])}) before.",
            hint="Avoid singular poses and the limits of reach, or use gains that are stable at this period.",
        )
    return Response(t, q, v, tau, reference, controlled_indices(model), plant, *states)
