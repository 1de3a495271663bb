"""gym_env: a system as an environment of Gymnasium, on the kernel of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, needed_package
from appell.learning.episodes import Episodes, Reset
from appell.model.system import System
from appell.simulation.rollouts.arguments import number_of_steps

if TYPE_CHECKING:
    from appell.learning.environments import RobotEnv, RobotVectorEnv

PLANNED = ("method", "contacts", "stops", "depth", "stiffness", "sweeps", "saturate")


def gym_env(
    dyn: Dynamics | System,
    reward: Callable,
    *,
    members: int | None = None,
    observation: Callable | None = None,
    terminated: Callable | None = None,
    reset: Reset | None = None,
    actuators: Iterable[str] | None = None,
    action_limits: Any = None,
    law: Callable | None = None,
    dt: float = 2e-3,
    substeps: int = 10,
    horizon: int = 500,
    **planned: Any,
) -> RobotEnv | RobotVectorEnv:
    """A system as a `gymnasium.Env`, or with `members` as a `gymnasium.vector.VectorEnv` of so many agents.

    `reward(q, v, tau)`, `observation(q, v)` (all of q and v if None) and `terminated(q, v)` (positive: the end) are
    functions over traced scalars, asked after every action; write them with ap.sin, ap.cos, ap.select ... They and the
    steps are machine code, and many agents are one call of it.

    An action is held for `substeps` steps of `dt` seconds; an episode is cut off after `horizon` actions. Actions are
    torques (N m, N) of `actuators`, by default of all that have a torque limit, which bounds them; `action_limits`, a
    pair (low, high) of numbers or arrays, takes its place. With `law(q, v, action)`, traced, they are whatever it makes
    torques of, such as positions for a proportional controller, which is then asked in every step.

    `reset(rng)` gives (q, v) for one agent from a NumPy generator, and the parameters of free bodies if there are any,
    which makes every episode one of another robot; by default the system's start and rest, give or take 0.05. Seeds
    make all of it repeatable.

    `method`, `contacts`, `stops`, `depth`, `stiffness`, `sweeps` and `saturate` are those of `rollout`.
    """
    for name in planned:
        if name not in PLANNED:
            raise ArgumentError(f"gym_env has no option '{name}'.", expected=", ".join(PLANNED))
    needed_package("gymnasium", "gym_env", "appell[gym]")
    from appell.learning.environments import RobotEnv, RobotVectorEnv

    episodes = Episodes(
        dyn,
        reward,
        observation=observation,
        terminated=terminated,
        reset=reset,
        actuators=actuators,
        action_limits=action_limits,
        law=law,
        dt=dt,
        substeps=substeps,
        horizon=horizon,
        planned=planned,
    )
    return RobotEnv(episodes) if members is None else RobotVectorEnv(episodes, number_of_steps("members", members))
