"""Laws of this chapter in rollouts: as a kernel takes them.

A design is asked once a period, told its reference, and remembers the integral of the error and its last torque; its
torque is held in between, as in a control loop. The reference is a path, sampled at the ticks as `loop.reference` does:
its acceleration is taken from the middle of the period, and its end is held. A regulator is asked at every instant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError
from appell.model.constrained import ConstrainedRobot
from appell.model.robot import Robot
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
    """The feedback of x = (ξ, v - v₀), for joints about or along one axis."""
    point = regulator.linear.point
    assert point is not None
    system = point.system
    tree = system.tree if isinstance(system, ConstrainedRobot) else system
    if isinstance(tree, Robot) and not tree.is_flat:
        raise ArgumentError(
            f"a regulator of {system.owner} measures turns of joints of several axes, which no kernel does.",
            expected="joints about or along one axis",
            hint="simulate(system, torque=regulator)",
        )
    rate, places = point.v, list(range(system.nq))
    if isinstance(system, ConstrainedRobot):
        rate = np.array(system.manifold.tree_velocity(system.tree, point.q.tolist(), point.v.tolist()), float)
        places = list(system.manifold.positions)
    K, held, inputs = regulator.K.tolist(), point.tau.tolist(), list(point.inputs)
    q0, v0, w0 = point.q.tolist(), point.v.tolist(), rate.tolist()

    def torque(t, q, v, memory, told):
        x = [*(q[k] - (q0[k] + t * w0[k]) for k in places), *(a - b for a, b in zip(v, v0, strict=True))]
        tau = list(held)
        for row, k in zip(K, inputs, strict=True):
            for gain, place in zip(row, regulator.places, strict=True):
                tau[k] = tau[k] - gain * x[place]
        return tau, memory

    return KernelLaw("regulator", torque, continuous=True)
