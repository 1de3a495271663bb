"""Episodes: what environments of one agent and of many have in common, over arrays with an axis of members.

    q, v         = substeps of the kernel of a rollout, with the action held
    observation  = observation(q, v)          at the end of them
    reward       = reward(q, v, tau)          there too; tau is what acted last
    terminated   = terminated(q, v) > 0

All of these are traced; two kernels do the work, whatever the number of members. A member that blows up ends where it
was last finite, with reward 0: it has `diverged`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.learning.actions import Actions
from appell.model.system import System
from appell.simulation.rollouts.arguments import number_of_steps, step_length
from appell.simulation.rollouts.plan import Rollout
from appell.simulation.rollouts.tracing import called, name_of, scalar_of, scalars_of

Reset = Callable[[np.random.Generator], Sequence[Any]]
SPREAD = 0.05  # of starts about the system's own


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
