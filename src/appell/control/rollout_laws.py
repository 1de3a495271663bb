"""Designs and regulators as control laws of rollouts.

A design is evaluated once per period with its reference. Its state is the integral of the error and the last torque,
which is held between two evaluations as in a control loop. The reference is a path, sampled as in `loop.reference`: the
acceleration is taken from the middle of the period, and the end of the path is held. A regulator is evaluated at every
instant, with the deviation ξ of the system from a point that moves with constant velocity:

    one axis      ξ = q - (q₀ + t w)                                                                             (1)
    quaternion    ξ = log((p₀ exp(t w))⁻¹ p), the rotation from the point to the joint                           (2)
    planar        the angle as in (1), without full rotations                                                    (3)

The translations of floating and planar joints depend on their rotations; their deviations are not available.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.loops import UNROLLED
from appell.algebra.scalar import Scalar, Vector, atan2, cos, dot, nearest, select, sin, sqrt
from appell.compile.tape.traced_array import traced_array
from appell.errors import ArgumentError
from appell.model.joints import Floating, Planar, Spherical
from appell.model.system import System
from appell.simulation.rollouts.laws import KernelLaw

if TYPE_CHECKING:
    from appell.control.design import Design
    from appell.control.regulator import Regulator

MIN_SQUARED_SINE = 1e-300  # squared sine of half a rotation angle, below which there is no rotation
FULL_ROTATION = 2.0 * math.pi  # rad
Deviation = Any  # function (t, q) -> ξ


def design_law(design: Design, reference: Any, sensors: Mapping[str, Callable] | None = None) -> KernelLaw:
    """Return the law of a design; `reference` is a path, a function q, v, a = path(t), or a constant target.

    `sensors` are functions of (t, q, v) that compute the further measurements of the law, by name.
    """
    n, values = design.model.link_nv, design.parameter_blocks.start
    sample, measured = _sampled(design, reference), sensors or {}
    if missing := [name for name in design.sensors if name not in measured]:
        raise ArgumentError(
            f"law '{design.law.name}' needs the sensor '{missing[0]}', which the rollout does not have.",
            expected="law=design.sensing(NAME=function), with a function of (t, q, v) over traced scalars",
        )

    def signal(t: np.ndarray) -> np.ndarray:
        samples = sample(t)
        return np.concatenate([samples, np.broadcast_to(values, (*samples.shape[:-1], len(values)))], axis=-1)

    def torque(t, q, v, memory, samples, loops=UNROLLED):
        target = [samples[:n], samples[n : 2 * n], samples[2 * n : 3 * n]]
        readings = {name: list(measured[name](t, traced_array(q), traced_array(v))) for name in design.sensors}
        step = design.step(q, v, target, memory, time=t, sensors=readings, parameters=samples[3 * n :], loops=loops)
        return step.tau, step.memory

    size = 3 * n + len(values)
    return KernelLaw(design.law.name, torque, design.memory.start, size, signal, design.period, looped=design.looped)


def _sampled(design: Design, reference: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from times (ticks,) to samples (q_d, v_d, a_d) of a reference, (ticks, 3 n)."""
    n, period = design.model.link_nv, design.period
    if reference is None:
        raise ArgumentError(
            f"no reference is given for law '{design.law.name}'.", expected="reference=, a path or a target"
        )
    if not callable(reference):
        target = design.model.sized("reference", reference, n)

        def constant(t: np.ndarray) -> np.ndarray:
            samples = np.zeros((*target.shape[:-1], len(t), 3 * n))
            samples[..., :n] = target[..., None, :]
            return samples

        return constant
    until = getattr(reference, "duration", np.inf)

    def along_path(t: np.ndarray) -> np.ndarray:
        q, v, _ = reference(np.minimum(t, until))
        a = reference(np.minimum(t + 0.5 * period, until))[2]
        samples = np.stack([np.asarray(x, float) for x in (q, v, a)], axis=1)
        if samples.shape != (len(t), 3, n):
            raise ArgumentError(f"the reference has {samples.shape[-1]} coordinates.", expected=f"{n} coordinates")
        samples[t > until, 1:] = 0.0
        return samples.reshape(len(t), 3 * n)

    return along_path


def regulator_law(regulator: Regulator) -> KernelLaw:
    """Return the law of a regulator, for deviations ξ that a kernel can compute."""
    point = regulator.linear.point
    assert point is not None
    system, w0, velocities = point.system, point.v.tolist(), list(range(point.system.nv))
    names, q0, v0 = system.velocity_names, point.q.tolist(), point.v.tolist()
    if system.is_constrained:
        w0 = system.map.tree_velocity(system.tree, q0, v0)
        velocities, names = list(system.map.positions), system.tree.velocity_names
    known, count = deviations(system, q0, w0), len(velocities)
    for index in regulator.indices:
        if index < count and velocities[index] not in known:
            raise ArgumentError(
                f"the regulator of {system.owner} feeds back '{names[velocities[index]]}', a translation of a joint "
                "with several axes, which is not available in a rollout.",
                expected="rotations, and positions of joints with one axis",
                hint="Use simulate(system, torque=regulator).",
            )
    K, held, inputs = regulator.K.tolist(), point.tau.tolist(), list(point.inputs)

    def torque(t, q, v, memory, samples):
        x = [
            known[velocities[index]](t, q) if index < count else v[index - count] - v0[index - count]
            for index in regulator.indices
        ]
        tau = list(held)
        for row, k in zip(K, inputs, strict=True):
            tau[k] = tau[k] - dot(row, x)
        return tau, memory

    return KernelLaw("regulator", torque, continuous=True)


def deviations(system: System, q0: Sequence[float], w0: Sequence[float]) -> dict[int, Deviation]:
    """Return functions (t, q) -> ξ, by the index of a velocity of the system or of its tree.

    q0 and w0 are the configuration and these velocities at the operating point.
    """
    if system.tree is None:
        return {k: partial(_along, k, q0[k], w0[k]) for k in range(system.nv)}
    functions: dict[int, Deviation] = {}
    for link in system.tree.moving:
        motion, (q, v) = link.joint.motion, system.tree.span(link.joint)
        if motion.nv == 1:
            functions[v.start] = partial(_along, q.start, q0[q.start], w0[v.start])
        elif isinstance(motion, Planar):
            functions[v.stop - 1] = partial(_angle, q.stop - 1, q0[q.stop - 1], w0[v.stop - 1])
        elif isinstance(motion, Floating | Spherical):
            p, w = list(q0[q.stop - 4 : q.stop]), list(w0[v.stop - 3 : v.stop])
            functions |= {v.stop - 3 + axis: partial(_rotation, q.stop - 4, p, w, axis) for axis in range(3)}
        for i, k in enumerate(range(system.tree.nv)[system.tree.modal_span(link)[1]], start=q.stop):
            functions[k] = partial(_along, i, q0[i], w0[k])
    tree = system.tree
    motors = zip(range(tree.link_nq, tree.nq), range(tree.link_nv, tree.nv), strict=True)
    return functions | {v: partial(_along, q, q0[q], w0[v]) for q, v in motors}


def _along(k: int, start: float, rate: float, t: Scalar, q: Vector) -> Scalar:
    return q[k] - (start + t * rate)  # (1)


def _angle(k: int, start: float, rate: float, t: Scalar, q: Vector) -> Scalar:
    deviation = _along(k, start, rate, t, q)
    return deviation - FULL_ROTATION * nearest(deviation / FULL_ROTATION)  # (3)


def _rotation(first: int, p0: list[float], w: list[float], axis: int, t: Scalar, q: Vector) -> Scalar:
    """Return one component of (2)."""
    speed = math.hypot(*w)
    half = 0.5 * speed * t
    moved = [*((sin(half) / speed) * x if speed else 0.0 for x in w), cos(half) if speed else 1.0]
    x, y, z, c = _product(p0, moved)
    error = _product([-x, -y, -z, c], q[first : first + 4])
    shorter = [select(error[3], part, -part) for part in error]  # the shorter of the two rotations
    square = sum((part * part for part in shorter[:3]), start=0.0)
    sine = sqrt(select(square - MIN_SQUARED_SINE, square, 1.0))
    return select(square - MIN_SQUARED_SINE, 2.0 * atan2(sine, shorter[3]) / sine, 2.0) * shorter[axis]


def _product(q: Vector, p: Vector) -> list[Scalar]:
    """Return the quaternion product q ⊗ p, each (x, y, z, w)."""
    (x, y, z, w), (dx, dy, dz, dw) = q, p
    return [
        w * dx + x * dw + y * dz - z * dy,
        w * dy - x * dz + y * dw + z * dx,
        w * dz + x * dy - y * dx + z * dw,
        w * dw - x * dx - y * dy - z * dz,
    ]
