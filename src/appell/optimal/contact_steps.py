"""Steps of a robot on contacts: semi-implicit Euler with frames held at acceleration level, and impacts between phases.

    v⁺ = v + h a(q, v, τ, active)          q⁺ = q ⊕ h v⁺, the exponential                                          (1)
    v⁻ = impulse(q, v, active)             before (1), where contacts are added                                     (2)

a and the forces λ of active contacts are those of `ContactSet.forward_dynamics`; its derivatives follow from the
implicit function theorem. Which contacts are active, and where, are data of a knot, so that all phases share one code.
(2) is another kind of knot. Forces are inputs of costs and constraints: with F = ∂λ/∂z, gradients are multiplied by Fᵀ,
and Hessians are Fᵀ H F, without the curvature of λ.

Friction is a pyramid in the axes of the foothold, for active contacts: μ λ_z ± λ_x ≥ 0 and μ λ_z ± λ_y ≥ 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from appell.algebra.scalar import Scalar
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, check_number, value_text
from appell.model.joints import Floating
from appell.optimal.constraints import Bounded
from appell.optimal.objective import KnotInputs, Rows
from appell.optimal.steps import Given, KnotStep, KnotStepResult, StepSlopes, add, product, scaled

FLOW, IMPACT = 0, 1  # kinds of knots
IDENTITY_FOOTHOLD = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
INACTIVE_MARGIN = 1.0  # N: slack of the friction rows of contacts that are not active


class Phases:
    """Contacts of a motion: which are active in each phase, their gains and friction."""

    def __init__(self, dyn: Dynamics, contacts: Any, phases: Any, steps: int, gains: Any, cone: float | None):
        if not isinstance(contacts, Mapping):
            raise ArgumentError(
                f"contacts is {value_text(contacts)}.", expected='a mapping such as {"foot": ap.Touch("foot")}'
            )
        if not dyn.system.is_tree or dyn.free_bodies:
            raise ArgumentError(
                f"{dyn.system.owner} has loops or free bodies, with which contact phases are not supported.",
                expected="a tree whose inertial parameters are numbers",
            )
        self.set = dyn.contacts(**contacts)
        self.cone = cone
        if cone is not None:
            check_number("cone, the coefficient of friction,", cone, least=0.0, above=True)
        try:
            self.gains = [float(x) for x in gains]
        except (TypeError, ValueError):
            self.gains = []
        if len(self.gains) != 2 or not all(0.0 <= x < np.inf for x in self.gains):
            raise ArgumentError(f"gains is {value_text(gains)}.", expected="(k_p in 1/s², k_d in 1/s), not negative")
        self.active = _active(self.set, [(steps, self.set.names)] if phases is None else phases, steps)  # (steps, nc)
        added = np.maximum(self.active[1:] - self.active[:-1], 0.0).any(axis=1)
        self.kinds = [FLOW, *(IMPACT if impact else FLOW for impact in added)]
        self.changes = bool((self.active != self.active[0]).any())

    @property
    def force_size(self) -> int:
        """Number of components of the forces of all contacts."""
        return len(self.set.rows) * self.width

    @property
    def width(self) -> int:
        """Number of components of the force of one contact, with zeros."""
        return max(row.size for row in self.set.rows)

    @property
    def carries(self) -> bool:
        """Whether contacts can hold a floating base at the start."""
        links = self.set.dyn.system.tree.moving
        return bool(self.active[0].any()) and isinstance(links[0].joint.motion, Floating)

    @property
    def needs_footholds(self) -> bool:
        """Whether accelerations depend on the footholds."""
        return any(self.gains)

    def driven(self, forces: bool) -> dict[str, int]:
        """Return the sizes of the data of a knot; `forces`: whether forces are used, in axes of the footholds."""
        count = len(self.set.rows)
        sizes = {"active": count} if self.changes else {}
        return sizes | ({"footholds": 12 * count} if forces or self.needs_footholds else {})

    def values(self, q0: np.ndarray, footholds: Any, forces: bool) -> np.ndarray:
        """Return the data of all knots, (members, steps, size).

        `footholds` are poses [R p], (nc, 3, 4) or (steps, nc, 3, 4); None: those at the starts q0, (members, nq), for
        points with friction with the axes of the world.
        """
        steps, count = self.active.shape
        parts = [self.active[None]] if self.changes else []
        if "footholds" in self.driven(forces):
            given = self._start_poses(q0)[:, None] if footholds is None else np.asarray(footholds, float)
            if footholds is not None and given.shape not in ((count, 3, 4), (steps, count, 3, 4)):
                raise ArgumentError(
                    f"footholds has shape {given.shape}.", expected=f"({count}, 3, 4) or ({steps}, {count}, 3, 4)"
                )
            given = given.reshape(len(q0) if footholds is None else 1, -1, 12 * count)
            parts.append(np.broadcast_to(given, (len(given), steps, 12 * count)))
        members = max((len(part) for part in parts), default=1)
        parts = [np.broadcast_to(part, (members, *part.shape[1:])) for part in parts]
        return np.concatenate(parts, axis=2) if parts else np.zeros((1, steps, 0))

    def _start_poses(self, q0: np.ndarray) -> np.ndarray:
        poses = np.array(self.set.poses(q0), float)
        points = [row.size == 3 for row in self.set.rows]
        if self.cone is not None:
            poses[:, points, :, :3] = np.eye(3)
        return poses

    def friction_rows(self, given: Given) -> list[Bounded]:
        """Return the rows of the friction pyramids."""
        if self.cone is None or "force" not in given:
            return []
        rows, active = [], self.mask(given)
        for k, name in enumerate(self.set.names):
            fx, fy, fz = given["force"][k * self.width : k * self.width + 3]
            slack = (1.0 - active[k]) * INACTIVE_MARGIN
            for axis, f in (("x", fx), ("y", fy)):
                for sign, label in ((1.0, "+"), (-1.0, "-")):
                    row = f"friction of '{name}' along {label}{axis}"
                    rows.append(Bounded(row, 0.0, float(self.cone) * fz + sign * f + slack, None))
        return rows

    def mask(self, given: Given) -> list[Scalar]:
        """Return the active set at a knot."""
        return list(given["active"]) if self.changes else [float(x) for x in self.active[0]]

    def footholds(self, given: Given) -> list[Any]:
        """Return the footholds at a knot, (nc, 3, 4)."""
        count = len(self.set.rows)
        if "footholds" not in given:
            return [IDENTITY_FOOTHOLD] * count
        flat = list(given["footholds"])
        return [[flat[12 * c + 4 * i : 12 * c + 4 * i + 4] for i in range(3)] for c in range(count)]


def _active(contacts: Any, phases: Any, steps: int) -> np.ndarray:
    rows: list[np.ndarray] = []
    expected = f'[(number of steps, names of active contacts), ...], {steps} steps together; [(10, ["left"]), ...]'
    try:
        pairs = [(count, names) for count, names in phases]
    except (TypeError, ValueError):
        raise ArgumentError(f"phases is {value_text(phases)}.", expected=expected) from None
    for count, names in pairs:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ArgumentError(f"a phase has {value_text(count)} steps.", expected=expected)
        listed: Iterable[str] = [names] if isinstance(names, str) else names
        rows += [contacts.mask(*listed)] * int(count)
    if len(rows) != steps:
        raise ArgumentError(f"the phases have {len(rows)} steps together, the problem has {steps}.", expected=expected)
    return np.array(rows)


class ContactStep(KnotStep):
    """Equations (1) and (2)."""

    def __init__(
        self, dyn: Dynamics, actuators: Sequence[int], inputs: KnotInputs, names: Sequence[str], phases: Phases
    ):
        super().__init__(dyn, "euler", actuators, inputs, names, smoothing=None)
        self.phases = phases

    def _contact_inputs(self, given: Given, v: Sequence[Scalar]) -> list[Any]:
        phases, tau = self.phases, self.torques(given["u"])
        return [list(given["q"]), list(v), tau, phases.footholds(given), phases.mask(given), phases.gains]

    def _impact(self, given: Given, function: Any, *more: Any) -> Any:
        phases = self.phases
        return function(given["q"], given["v"], phases.footholds(given), phases.mask(given), *more)

    def __call__(self, given: Given, kind: int = FLOW) -> KnotStepResult:
        v, h = list(given["v"]), given["time"][1]
        if kind == IMPACT:
            v = list(self._impact(given, self.phases.set.impulse, 0.0).v_after)
        dynamics = self.phases.set.forward_dynamics(*self._contact_inputs(given, v))
        return self._end(given, v, list(dynamics.a), list(np.ravel(dynamics.force)), h)

    def _end(self, given: Given, v: list[Scalar], a: list[Scalar], force: list[Scalar], h: Scalar) -> KnotStepResult:
        after = [x + h * y for x, y in zip(v, a, strict=True)]
        q = self.manifold.exponential(list(given["q"]), [h * x for x in after])
        return KnotStepResult(q, after, force)

    def derivatives(self, given: Given, kind: int = FLOW) -> tuple[KnotStepResult, StepSlopes]:
        if kind == FLOW:
            return self.flow(given, list(given["v"]))
        v, by_q, by_v = self.impact(given)
        after, slopes = self.flow(given, v)
        n = len(v)
        F = [after_impact(row, n, by_q, by_v) for row in slopes.of_force]
        S = [after_impact([*p, *q], n, by_q, by_v) for p, q in zip(slopes.P, slopes.Q, strict=True)]
        return after, slopes._replace(P=[row[:n] for row in S], Q=[row[n:] for row in S], of_force=F)

    def impact(self, given: Given) -> tuple[list[Scalar], Rows, Rows]:
        """Return the velocity after (2), and its derivatives by q and v."""
        result = self._impact(given, self.phases.set.impulse_derivatives())
        v, by_q, by_v = (np.asarray(x, object).tolist() for x in result)
        return v, by_q, by_v

    def flow(self, given: Given, v: list[Scalar]) -> tuple[KnotStepResult, StepSlopes]:
        """Return the state after (1) from the velocity v, and its derivatives by q, v and u."""
        h = given["time"][1]
        with_forces = "force" in self.inputs.sizes
        solved = self.phases.set.derivatives("q", "v", "tau", forces=with_forces)(*self._contact_inputs(given, v))
        results = {name: np.asarray(value, object) for name, value in solved._asdict().items()}
        a, force = results["a"].tolist(), np.ravel(results["force"]).tolist()
        after = self._end(given, v, a, force, h)
        columns = self.actuators
        by_q, by_v, by_u = results["da_dq"].tolist(), results["da_dv"].tolist(), results["da_dtau"][:, columns].tolist()
        unit = [[1.0 if i == j else 0.0 for j in range(len(v))] for i in range(len(v))]
        P, Q, R = scaled(h, by_q), add(unit, scaled(h, by_v)), scaled(h, by_u)
        F: list[Rows] = []
        if with_forces:
            F = [results[f"dforce_d{name}"].reshape(len(force), -1).tolist() for name in ("q", "v", "tau")]
            F[2] = [[row[k] for k in columns] for row in F[2]]
        T_q, T_v, by_h = self.manifold.exponential_slopes(after.q, given["q"], after.v, h)
        of_v, of_x = [[0.0] * len(self.names) for _ in v], [[0.0] * len(self.names) for _ in T_q]
        if "time" in self.names:
            share = 1.0 / self.inputs.steps
            for row, x in zip(of_v, a, strict=True):
                row[0] = share * x
            for row, x in zip(of_x, by_h, strict=True):
                row[0] = share * x
        of_force = [[*q, *w, *u] for q, w, u in zip(*F, strict=True)] if F else []
        by_p = [*add(of_x, product(T_v, of_v)), *of_v]
        return after, StepSlopes(T_q, T_v, P, Q, R, None, by_p, of_force)


def after_impact(row: Sequence[Scalar], size: int, by_q: Rows, by_v: Rows) -> list[Scalar]:
    """Return derivatives by (q, v, ...) from those with the velocity after an impact, whose derivatives are given."""
    of_q, of_v = row[:size], list(row[size : 2 * size])
    [chained_q], [chained_v] = product([of_v], by_q), product([of_v], by_v)
    return [*(x + y for x, y in zip(of_q, chained_q, strict=True)), *chained_v, *row[2 * size :]]
