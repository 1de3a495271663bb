"""Episodes: the common part of environments of one agent and of many, over arrays with an axis of members.

Actions are torques of some actuators within their limits, or numbers from which a law computes torques.

    q, v         = substeps of the kernel of a rollout, with the action held constant
    observation  = observation(q, v)          after the last substep
    reward       = reward(t, q, v, tau)       after the last substep, t s after the reset; tau acted during it
    terminated   = terminated(q, v) > 0

All of these are traced and run in two kernels for any number of members. A member whose state becomes non-finite has
`diverged`: its episode ends in its last finite state, with reward 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.tape.traced_array import traced_array
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.model.system import System
from appell.simulation.options import checked_step_length, checked_steps
from appell.simulation.rollouts.laws import KernelLaw
from appell.simulation.rollouts.plan import Rollout
from appell.simulation.rollouts.tracing import called, name_of, scalar_of, scalars_of

Reset = Callable[[np.random.Generator], Sequence[Any]]
START_SPREAD = 0.05  # half width of the random initial states around the start of the system, rad or m, and per s


@dataclass(frozen=True)
class Actions:
    """The actions of an environment: torques of actuators, or numbers that a law turns into torques."""

    names: tuple[str, ...]
    low: np.ndarray  # smallest values
    high: np.ndarray  # largest values
    actuators: np.ndarray | None  # indices of the actuators whose torques the actions are; None with a law
    law: KernelLaw | None = None

    @staticmethod
    def of(system: System, actuators: Iterable[str] | None, limits: Any, law: Callable | None) -> Actions:
        """Return the actions for the arguments `actuators`, `action_limits` and `law` of `gym_env`."""
        if law is not None:
            return _of_law(law, actuators, limits)
        torque = system.limits.torque
        if actuators is None:
            names = [name for name, limit in zip(system.actuator_names, torque, strict=True) if 0.0 < limit < np.inf]
        else:
            names = [actuators] if isinstance(actuators, str) else list(actuators)
        for name in names:
            if name not in system.actuator_names:
                raise ArgumentError(unknown_name("actuator", str(name), system.actuator_names, system.owner))
        indices = np.array([system.actuator_names.index(name) for name in names], int)
        if not names:
            raise ArgumentError(
                f"no actuator of {system.owner} has a torque limit, so the range of actions is unknown.",
                hint="Describe limits with Actuator(torque=...), or pass actuators=[...] and action_limits=(...).",
            )
        if limits is None:
            if unlimited := [name for name, k in zip(names, indices, strict=True) if not 0.0 < torque[k] < np.inf]:
                raise ArgumentError(
                    f"actuators of {system.owner} have no torque limit: {', '.join(unlimited)}.",
                    hint="Describe limits with Actuator(torque=...), or pass action_limits=(low, high).",
                )
            limits = -torque[indices], torque[indices]
        return Actions(tuple(names), *_bounds(limits, len(names)), indices)

    def clipped(self, given: Any, members: int) -> np.ndarray:
        """Return actions, (members, size), limited to their range."""
        try:
            actions = np.asarray(given, float).reshape(members, -1)
        except (TypeError, ValueError, OverflowError):
            actions = np.zeros((0, 0))
        if actions.shape != (members, len(self.low)):
            raise ArgumentError(
                f"an action has shape {np.shape(given)}.", expected=f"{len(self.low)} numbers: {', '.join(self.names)}"
            )
        if not np.isfinite(actions).all():
            raise ArgumentError(f"an action is not finite: {actions[~np.isfinite(actions).all(axis=1)][0]}.")
        return np.clip(actions, self.low, self.high)


def _of_law(law: Callable, actuators: Iterable[str] | None, limits: Any) -> Actions:
    if actuators is not None:
        raise ArgumentError(
            "gym_env has actuators and a law.", expected="one of them: a law computes the torques of all actuators"
        )
    if not callable(law):
        raise ArgumentError(f"law is {law!r}.", expected="a function of (q, v, action) over traced scalars")
    if limits is None:
        raise ArgumentError(
            "the law of gym_env has no limits for its actions.",
            expected="action_limits=(low, high), one number per action each",
        )
    low, high = _bounds(limits, None)

    def torque(t, q, v, memory, action):
        return called(law, f"law '{name_of(law)}'", traced_array(q), traced_array(v), traced_array(action)), memory

    names = tuple(f"action {k + 1}" for k in range(len(low)))
    return Actions(names, low, high, None, KernelLaw(name_of(law), torque, signal_size=len(low)))


def _bounds(limits: Any, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest action, rounded to single precision as in the action space."""
    try:
        low, high = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x, float)) for x in limits))
        low, high = (np.array(np.broadcast_to(x, size or x.shape)) for x in (low, high))
    except (TypeError, ValueError, OverflowError):
        low = high = np.zeros(0)
    if low.ndim != 1 or not len(low) or not (np.isfinite([low, high]).all() and (low < high).all()):
        raise ArgumentError(
            f"action_limits are {limits!r}.",
            expected="(low, high), low < high, finite numbers or arrays with one number per action"
            + (f" ({size})" if size else ""),
        )
    return low.astype(np.float32).astype(float), high.astype(np.float32).astype(float)


def _check_parameters(reward: Callable) -> None:
    """Raise ArgumentError for a reward of (q, v, tau), which lacks the time."""
    try:
        parameters = inspect.signature(reward)
    except (TypeError, ValueError):  # a function without a readable signature
        return
    try:
        parameters.bind(*"tqvu")
        lacks_time = next(iter(parameters.parameters)) == "q"
    except TypeError:
        lacks_time = True
    if lacks_time:
        raise ArgumentError(
            f"reward '{name_of(reward)}' has the parameters {parameters}.",
            expected="(t, q, v, tau), as for the cost of a rollout; t is the time since the reset, in s",
            hint="Add t as the first parameter.",
        )


@dataclass
class Members:
    """The current state of all members; `taken` counts the actions of the episode."""

    q: np.ndarray
    v: np.ndarray
    parameters: np.ndarray
    taken: np.ndarray


@dataclass(frozen=True)
class EpisodeStep:
    """The results of a step, one row per member."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    diverged: np.ndarray


class Episodes:
    """Episodes of one or many members of a system; for the arguments see `gym_env`."""

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
        self.dt, self.substeps = checked_step_length(dt), checked_steps("substeps", substeps)
        self.horizon = checked_steps("horizon", horizon)
        self.actions = Actions.of(system, actuators, action_limits, law)
        # limits that fall with the speed cannot be part of the range of actions: they are applied in the kernel
        falling = law is None and any(actuator.no_load_speed is not None for actuator in system.actuators)
        saturate = bool(planned.get("saturate")) or falling
        self.plan = Rollout(dyn, law=self.actions.law, **planned | {"saturate": saturate})
        self.dyn, self.system = self.plan.dyn, system
        if self.dyn.wrenches or system.prescribed:
            raise ArgumentError(
                f"{system.owner} has external wrenches or prescribed motions.",
                expected="a system without them: actions are the only inputs of an environment",
            )
        self.reset = reset
        _check_parameters(reward)
        self.readout = self._readout(reward, observation, terminated)
        self._results = [array.name for array in self.plan.scan.outputs]
        self._parameters = self.plan.formula.held.get("parameters", 0)
        if self._parameters and reset is None:
            raise ArgumentError(
                f"{system.owner} has free bodies, but reset does not provide their parameters.",
                expected="reset, a function of a random generator that returns (q, v, parameters)",
            )

    @property
    def observation_size(self) -> int:
        """The number of entries of an observation."""
        return self.readout.outputs[0].size

    def _readout(self, reward: Callable, observation: Callable | None, terminated: Callable | None) -> Function:
        labels = {
            given: f"{name} '{name_of(given)}'"
            for name, given in (("reward", reward), ("terminated", terminated))
            if given
        }

        def body(t, q, v, tau):
            observed = [*q, *v] if observation is None else list(called(observation, "observation", q, v))
            rewarded = scalar_of(called(reward, labels[reward], t, q, v, tau), labels[reward])
            ends = (
                0.0
                if terminated is None
                else scalar_of(called(terminated, labels[terminated], q, v), labels[terminated])
            )
            names = [f"{k}" for k in range(len(observed))]
            return {"observation": scalars_of(observed, names, "observation"), "reward": rewarded, "terminated": ends}

        system = self.system
        inputs = {"t": (), "q": system.nq, "v": system.nv, "tau": system.nu}
        return Function.of("readout", inputs, body, "Observation, reward and end of an episode.", system.owner)

    # ---- initial states

    def start(self, generators: Sequence[np.random.Generator]) -> Members:
        """Return members in random initial states, one per generator."""
        taken = np.zeros(len(generators), int)
        if self.reset is None:
            n = self.system.nv
            offsets = np.array([rng.uniform(-START_SPREAD, START_SPREAD, 2 * n) for rng in generators])
            q = self.system.integrate(self.system.start, offsets[:, :n])
            return Members(q, offsets[:, n:], np.zeros((len(q), 0)), taken)
        rows = [self._checked(self.reset(rng)) for rng in generators]
        q, v, parameters = (np.array([row[k] for row in rows]) for k in range(3))
        return Members(q, v, parameters, taken)

    def _checked(self, given: Any) -> list[np.ndarray]:
        sizes = {"q": self.system.nq, "v": self.system.nv} | (
            {"parameters": self._parameters} if self._parameters else {}
        )
        try:
            arrays = [np.asarray(each, float) for each in given]
        except (TypeError, ValueError, OverflowError):
            arrays = []
        if [array.shape for array in arrays] != [(size,) for size in sizes.values()]:
            expected = ", ".join(f"{name} ({size},)" for name, size in sizes.items())
            raise ArgumentError(
                f"reset returned arrays of shapes {[array.shape for array in arrays]}.", expected=expected
            )
        if not all(np.isfinite(array).all() for array in arrays):
            raise ArgumentError("reset returned an initial state that is not finite.", expected="finite numbers")
        return [*arrays, np.zeros(0)][:3]

    # ---- steps

    def observe(self, members: Members) -> np.ndarray:
        """Return the observations of members in their current states."""
        observation, _, _ = self.readout(0.0, members.q, members.v, np.zeros(self.system.nu))
        return np.asarray(observation, np.float32)

    def step(self, members: Members, action: Any) -> EpisodeStep:
        """Advance all members in place by one action."""
        count, substeps = len(members.q), self.substeps
        actions = np.broadcast_to(
            self.actions.clipped(action, count)[:, None], (count, substeps, len(self.actions.low))
        )
        torque = np.zeros((count, substeps, self.system.nu))
        if self.actions.actuators is not None:
            torque[..., self.actions.actuators] = actions
        start = members.taken * (substeps * self.dt)
        driven = [start[:, None] + self.dt * np.arange(substeps), torque, *([actions] if self.actions.law else [])]
        held = [np.full(count, self.dt), *([members.parameters] if self._parameters else [])]
        with np.errstate(all="ignore"):
            after = self.plan.scan(members.q, members.v, *held, *driven, every=substeps)
        q, v, tau = (after[self._results.index(name)][:, 0] for name in ("q", "v", "tau"))
        diverged = ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
        members.q, members.v = (np.where(diverged[:, None], x, y) for x, y in ((members.q, q), (members.v, v)))
        members.taken = members.taken + 1
        t = members.taken * (substeps * self.dt)
        observation, reward, ends = self.readout(t, members.q, members.v, np.where(diverged[:, None], 0.0, tau))
        return EpisodeStep(
            np.asarray(observation, np.float32),
            np.where(diverged, 0.0, reward),
            (np.asarray(ends) > 0.0) | diverged,
            members.taken >= self.horizon,
            diverged,
        )
