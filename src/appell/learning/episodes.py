"""Episodes: what environments of one agent and of many have in common, over arrays with an axis of members.

Actions are torques of some actuators within their limits, or numbers from which a law computes torques.

    q, v         = substeps of the kernel of a rollout, with the action held
    observation  = observation(q, v)          at the end of them
    reward       = reward(q, v, tau)          there too; tau is what acted last
    terminated   = terminated(q, v) > 0

All of these are traced; two kernels do the work, whatever the number of members. A member that blows up ends where it
was last finite, with reward 0: it has `diverged`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.simulation.options import number_of_steps, step_length
from appell.simulation.rollouts.laws import KernelLaw
from appell.simulation.rollouts.plan import Rollout
from appell.simulation.rollouts.tracing import called, name_of, scalar_of, scalars_of

Reset = Callable[[np.random.Generator], Sequence[Any]]
SPREAD = 0.05  # of starts about the system's own


@dataclass(frozen=True)
class Actions:
    """Lowest and highest values, what they are called, and the places of torques; a law has none."""

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    places: np.ndarray | None
    law: KernelLaw | None = None

    @staticmethod
    def of(system: System, actuators: Iterable[str] | None, limits: Any, law: Callable | None) -> Actions:
        if law is not None:
            return _of_law(law, actuators, limits)
        known = system.limits.torque
        if actuators is None:
            listed = [name for name, most in zip(system.actuator_names, known, strict=True) if 0.0 < most < np.inf]
        else:
            listed = [actuators] if isinstance(actuators, str) else list(actuators)
        for name in listed:
            if name not in system.actuator_names:
                raise ArgumentError(unknown_name("actuator", str(name), system.actuator_names, system.owner))
        places = np.array([system.actuator_names.index(name) for name in listed], int)
        if not listed:
            raise ArgumentError(
                f"no actuator of {system.owner} has a torque limit, so that nobody knows what an action may be.",
                hint="Actuator(torque=...), or actuators=[...] with action_limits=(low, high)",
            )
        if limits is None:
            if endless := [name for name, k in zip(listed, places, strict=True) if not 0.0 < known[k] < np.inf]:
                raise ArgumentError(
                    f"actuators of {system.owner} have no torque limit: {', '.join(endless)}.",
                    hint="Actuator(torque=...), or action_limits=(low, high)",
                )
            limits = -known[places], known[places]
        return Actions(tuple(listed), *_bounds(limits, len(listed)), places)

    def clipped(self, given: Any, members: int) -> np.ndarray:
        """Actions (members, size) within their limits."""
        try:
            found = np.asarray(given, float).reshape(members, -1)
        except (TypeError, ValueError):
            found = np.zeros((0, 0))
        if found.shape != (members, len(self.low)):
            raise ArgumentError(
                f"an action has shape {np.shape(given)}.", expected=f"{len(self.low)} numbers: {', '.join(self.names)}"
            )
        if not np.isfinite(found).all():
            raise ArgumentError(f"an action is not finite: {found[~np.isfinite(found).all(axis=1)][0]}.")
        return np.clip(found, self.low, self.high)


def _of_law(law: Callable, actuators: Iterable[str] | None, limits: Any) -> Actions:
    if actuators is not None:
        raise ArgumentError("there are actuators and a law.", expected="a law gives the torques of all actuators")
    if not callable(law):
        raise ArgumentError(f"law is {law!r}.", expected="a function of (q, v, action) over traced scalars")
    if limits is None:
        raise ArgumentError("a law has no limits for its actions.", expected="action_limits=(low, high), a number each")
    low, high = _bounds(limits, None)

    def torque(t, q, v, memory, told):
        return called(law, f"law '{name_of(law)}'", q, v, told), memory

    names = tuple(f"action {k + 1}" for k in range(len(low)))
    return Actions(names, low, high, None, KernelLaw(name_of(law), torque, told=len(low)))


def _bounds(limits: Any, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest action, as numbers of the space that an agent sees: single precision."""
    try:
        low, high = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, float)) for x in limits))
        low, high = (np.array(np.broadcast_to(x, size or x.shape)) for x in (low, high))
    except (TypeError, ValueError):
        low = high = np.zeros(0)
    if low.ndim != 1 or not len(low) or not (np.isfinite([low, high]).all() and (low < high).all()):
        raise ArgumentError(
            f"action_limits are {limits!r}.", expected=f"(low, high) of finite numbers, {size or 'one'} an action each"
        )
    return low.astype(np.float32).astype(float), high.astype(np.float32).astype(float)


@dataclass
class Members:
    """Where all members are: states, parameters of free bodies, and how many actions they have taken."""

    q: np.ndarray
    v: np.ndarray
    parameters: np.ndarray
    taken: np.ndarray


@dataclass(frozen=True)
class Told:
    """What a step gave, a row a member."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    diverged: np.ndarray


class Episodes:
    """A system as an environment; for its arguments see `gym_env`."""

    def __init__(
        self,
        dyn: Dynamics | System,
        reward: Callable,
        *,
        observation: Callable | None,
        terminated: Callable | None,
        reset: Reset | None,
        actuators: Any,
        action_limits: Any,
        law: Callable | None,
        dt: float,
        substeps: int,
        horizon: int,
        planned: dict[str, Any],
    ):
        for name, given in {"reward": reward, "observation": observation, "terminated": terminated}.items():
            if not (callable(given) or (given is None and name != "reward")):
                raise ArgumentError(f"{name} is {given!r}.", expected="a function over traced scalars")
        system = dyn.system if isinstance(dyn, Dynamics) else dyn
        self.dt, self.substeps = step_length(dt), number_of_steps("substeps", substeps)
        self.horizon = number_of_steps("horizon", horizon)
        self.actions = Actions.of(system, actuators, action_limits, law)
        self.plan = Rollout(dyn, law=self.actions.law, **planned)
        self.dyn, self.system = self.plan.dyn, system
        if self.dyn.wrenches or system.prescribed:
            raise ArgumentError("an environment has neither wrenches nor prescribed motions.")
        self.reset = reset
        self.readout = self._readout(reward, observation, terminated)
        self._results = [array.name for array in self.plan.march.outputs]
        self._parameters = self.plan.formula.held.get("parameters", 0)
        if self._parameters and reset is None:
            raise ArgumentError(
                f"{system.owner} has free bodies, and nobody gives their parameters.",
                expected="reset=, a function of a generator that gives (q, v, parameters)",
            )

    @property
    def observed(self) -> int:
        """How many numbers an observation has."""
        return self.readout.outputs[0].size

    def _readout(self, reward: Callable, observation: Callable | None, terminated: Callable | None) -> Function:
        what = {
            given: f"{name} '{name_of(given)}'" for name, given in (("reward", reward), ("ends", terminated)) if given
        }

        def body(q, v, tau):
            seen = [*q, *v] if observation is None else list(called(observation, "observation", q, v))
            rewarded = scalar_of(called(reward, what[reward], q, v, tau), what[reward])
            ends = (
                0.0 if terminated is None else scalar_of(called(terminated, what[terminated], q, v), what[terminated])
            )
            named = [f"{k}" for k in range(len(seen))]
            return {"observation": scalars_of(seen, named, "observation"), "reward": rewarded, "terminated": ends}

        system = self.system
        inputs = {"q": system.nq, "v": system.nv, "tau": system.nu}
        return Function.of("readout", inputs, body, "What an agent is told.", system.owner)

    # ---- starts

    def begun(self, generators: Sequence[np.random.Generator]) -> Members:
        """A start for every generator."""
        taken = np.zeros(len(generators), int)
        if self.reset is None:
            n = self.system.nv
            spread = np.array([rng.uniform(-SPREAD, SPREAD, 2 * n) for rng in generators])
            q = self.system.integrate(self.system.start, spread[:, :n])
            return Members(q, spread[:, n:], np.zeros((len(q), 0)), taken)
        rows = [self._checked(self.reset(rng)) for rng in generators]
        q, v, parameters = (np.array([row[k] for row in rows]) for k in range(3))
        return Members(q, v, parameters, taken)

    def _checked(self, given: Any) -> list[np.ndarray]:
        sizes = {"q": self.system.nq, "v": self.system.nv} | (
            {"parameters": self._parameters} if self._parameters else {}
        )
        try:
            found = [np.asarray(each, float) for each in given]
        except (TypeError, ValueError):
            found = []
        if [each.shape for each in found] != [(size,) for size in sizes.values()]:
            told = ", ".join(f"{name} ({size},)" for name, size in sizes.items())
            raise ArgumentError(f"reset gave arrays of shapes {[np.shape(each) for each in found]}.", expected=told)
        if not all(np.isfinite(each).all() for each in found):
            raise ArgumentError("reset gave a start that is not finite.", expected="finite numbers")
        return [*found, np.zeros(0)][:3]

    # ---- steps

    def seen(self, members: Members) -> np.ndarray:
        """What members observe where they are."""
        observation, _, _ = self.readout(members.q, members.v, np.zeros(self.system.nu))
        return np.asarray(observation, np.float32)

    def step(self, members: Members, action: Any) -> Told:
        """Move all members on, in place."""
        count, span = len(members.q), self.substeps
        acting = np.broadcast_to(self.actions.clipped(action, count)[:, None], (count, span, len(self.actions.low)))
        torque = np.zeros((count, span, self.system.nu))
        if self.actions.places is not None:
            torque[..., self.actions.places] = acting
        begun = members.taken * (span * self.dt)
        driven = [begun[:, None] + self.dt * np.arange(span), torque, *([acting] if self.actions.law else [])]
        held = [np.full(count, self.dt), *([members.parameters] if self._parameters else [])]
        with np.errstate(all="ignore"):
            after = self.plan.march(members.q, members.v, *held, *driven, every=span)
        q, v, tau = (after[self._results.index(name)][:, 0] for name in ("q", "v", "tau"))
        lost = ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
        members.q, members.v = (np.where(lost[:, None], x, y) for x, y in ((members.q, q), (members.v, v)))
        members.taken = members.taken + 1
        observation, reward, ends = self.readout(members.q, members.v, np.where(lost[:, None], 0.0, tau))
        return Told(
            np.asarray(observation, np.float32),
            np.where(lost, 0.0, reward),
            (np.asarray(ends) > 0.0) | lost,
            members.taken >= self.horizon,
            lost,
        )
