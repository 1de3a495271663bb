"""The control laws by name: those of Table 4 of Valera et al. 2003, two common baselines, and laws of the whole state.

    τ = M(q) u + C(q, v) v + G(q)          one call of inverse dynamics with a := u                           (1)

    point-to-point      u = -Kd v - Kp e                          e = q - q_d                                (2)
    tracking            u = a_d - Kd (v - v_d) - Kp e                                                        (3)
    tracking-integral   u = a_d - Kd (v - v_d) - Kp e - Ki ∫e                                                (4)
    pd-gravity          τ = G(q) - Kd (v - v_d) - Kp e                                                       (5)
    pid                 τ = -Kd (v - v_d) - Kp e - Ki ∫e                                                     (6)

The laws of `task_space`, `slotine_li`, `cooperation` and `elastic_joints` are functions of the whole state.

Table 4 prints Kd q̇ in (3) and (4); this would brake every motion, so Kd ė is used here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

from appell.algebra.scalar import Scalar
from appell.control.cooperation import two_arms
from appell.control.elastic_joints import elastic_tracking, motor_pd, torque_feedback
from appell.control.gains import Gains
from appell.control.slotine_li import adaptive, passivity
from appell.control.task_space import hybrid_force, impedance, operational_space
from appell.control.traced_law import TracedLaw
from appell.errors import ArgumentError, unknown_name


@dataclass(frozen=True)
class Law:
    """A control law: feedback that gives an acceleration for the model (`model="motion"`) or a torque."""

    name: str
    model: str  # "motion": feedback is u of (1); "gravity": feedback is a torque, G(q) is added; "none": a torque
    integral: bool
    tracks: bool  # whether the reference must start at the arm's position; otherwise it may be a distant target
    feedback: Callable[..., Scalar] = field(repr=False)  # (e, v, ė, a_d, ∫e, kp, kd, ki)

    def __reduce__(self):
        """Pickle the laws of `LAWS` by name."""
        if LAWS.get(self.name) is self:
            return find_law, (self.name,)
        return Law, tuple(getattr(self, each.name) for each in fields(self))


LAWS: dict[str, Law | TracedLaw] = {
    law.name: law
    for law in (
        Law("point-to-point", "motion", False, False, lambda e, v, de, a, s, kp, kd, ki: -(kd * v) - kp * e),  # (2)
        Law("tracking", "motion", False, True, lambda e, v, de, a, s, kp, kd, ki: a - kd * de - kp * e),  # (3)
        Law(
            "tracking-integral", "motion", True, True, lambda e, v, de, a, s, kp, kd, ki: a - kd * de - kp * e - ki * s
        ),
        Law("pd-gravity", "gravity", False, True, lambda e, v, de, a, s, kp, kd, ki: -(kd * de) - kp * e),  # (5)
        Law("pid", "none", True, True, lambda e, v, de, a, s, kp, kd, ki: -(kd * de) - kp * e - ki * s),  # (6)
        operational_space(),
        impedance(),
        hybrid_force(),
        passivity(),
        adaptive(),
        two_arms(),
        motor_pd(),
        torque_feedback(),
        elastic_tracking(),
    )
}


def find_law(name: str) -> Law | TracedLaw:
    """Return the control law of a name, or "module:name" of a user's file in the current folder or on Python's path.

    Raises
    ------
    ArgumentError
        If the law does not exist; the message lists all names.
    """
    module, colon, member = name.partition(":")
    if colon:
        return _law_of_module(name, module, member)
    if name not in LAWS:
        raise ArgumentError(
            unknown_name("control law", name, LAWS, "appell"),
            hint="Write a law of your own as module:name, such as my_module:my_law.",
        )
    return LAWS[name]


def _law_of_module(text: str, module: str, member: str) -> Law | TracedLaw:
    sys.path.insert(0, "")
    try:
        law = getattr(importlib.import_module(module.removesuffix(".py")), member)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise ArgumentError(
            f"control law '{text}' cannot be imported: {error}.",
            expected="module:name, with a module in the current folder or on Python's path",
        ) from error
    finally:
        sys.path.remove("")
    if not isinstance(law, Law | TracedLaw):
        raise ArgumentError(
            f"'{text}' is a {type(law).__name__}, not a control law.",
            expected="a function decorated with @ap.control.law()",
        )
    return law


def feedback(law: Law, gains: Gains, q: Sequence, v: Sequence, reference: Sequence[Sequence], integral) -> list[Scalar]:
    """Return u of (2) to (4), or the torque of (5) and (6) without gravity, per coordinate."""
    q_d, v_d, a_d = reference
    rows = zip(q, v, q_d, v_d, a_d, integral, gains.kp, gains.kd, gains.ki, strict=True)
    return [
        law.feedback(position - target, rate, rate - target_rate, acceleration, total, kp, kd, ki)
        for position, rate, target, target_rate, acceleration, total, kp, kd, ki in rows
    ]
