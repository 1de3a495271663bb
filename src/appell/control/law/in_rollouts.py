"""Laws of this chapter in rollouts: as a kernel takes them.

A design is asked once a period, told its reference, and remembers the integral of the error and its last torque; its
torque is held in between, as in a control loop. The reference is a path, sampled at the ticks as `loop.reference` does:
its acceleration is taken from the middle of the period, and its end is held. A regulator is asked at every instant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import dot
from appell.control.law.measured import measures
from appell.errors import ArgumentError
from appell.model.constrained import ConstrainedRobot
from appell.simulation.rollouts.laws import KernelLaw

if TYPE_CHECKING:
    from appell.control.law.design import Design
    from appell.control.law.regulator import Regulator


def design_law(design: Design, reference: Any) -> KernelLaw:
    """`reference` is a path, a function q, v, a = path(t), or numbers: where to go, and stay."""
    n, nu = design.model.nv, design.model.nu
    telling = _telling(design, reference)

    def torque(t, q, v, memory, told):
        wanted = [told[:n], told[n : 2 * n], told[2 * n :]]
        step = design.step(q, v, wanted, memory[:n], memory[n:])
        return step.tau, [*step.integral, *step.tau]

    return KernelLaw(design.law.name, torque, np.zeros(n + nu), 3 * n, telling, design.period)


def _telling(design: Design, reference: Any) -> Callable[[np.ndarray], np.ndarray]:
    n, period = design.model.nv, design.period
    if reference is None:
        raise ArgumentError(
            f"law '{design.law.name}' has nothing to follow.", expected="reference=, a path, or where to go"
        )
    if not callable(reference):
        place = design.model.sized("reference", reference, n)

        def held(t: np.ndarray) -> np.ndarray:
            found = np.zeros((*place.shape[:-1], len(t), 3 * n))
            found[..., :n] = place[..., None, :]
            return found

        return held
    until = getattr(reference, "duration", np.inf)

    def told(t: np.ndarray) -> np.ndarray:
        q, v, _ = reference(np.minimum(t, until))
        a = reference(np.minimum(t + 0.5 * period, until))[2]
        found = np.stack([np.asarray(x, float) for x in (q, v, a)], axis=1)
        if found.shape != (len(t), 3, n):
            raise ArgumentError(f"the reference moves {found.shape[-1]} coordinates.", expected=f"{n}")
        found[t > until, 1:] = 0.0
        return found.reshape(len(t), 3 * n)

    return told


def regulator_law(regulator: Regulator) -> KernelLaw:
    """The feedback of x = (ξ, v - v₀), as far as a kernel measures ξ."""
    point = regulator.linear.point
    assert point is not None
    system, w0, velocities = point.system, point.v.tolist(), list(range(point.system.nv))
    names, q0, v0 = system.velocity_names, point.q.tolist(), point.v.tolist()
    if isinstance(system, ConstrainedRobot):
        w0 = system.manifold.tree_velocity(system.tree, q0, v0)
        velocities, names = list(system.manifold.positions), system.tree.velocity_names
    known, count = measures(system, q0, w0), len(velocities)
    for place in regulator.places:
        if place < count and velocities[place] not in known:
            raise ArgumentError(
                f"the regulator of {system.owner} feeds back '{names[velocities[place]]}', the way of a joint of "
                "several axes, which no kernel measures.",
                expected="turns, and ways of joints of one axis",
                hint="simulate(system, torque=regulator)",
            )
    K, held, inputs = regulator.K.tolist(), point.tau.tolist(), list(point.inputs)

    def torque(t, q, v, memory, told):
        x = [
            known[velocities[place]](t, q) if place < count else v[place - count] - v0[place - count]
            for place in regulator.places
        ]
        tau = list(held)
        for row, k in zip(K, inputs, strict=True):
            tau[k] = tau[k] - dot(row, x)
        return tau, memory

    return KernelLaw("regulator", torque, continuous=True)
