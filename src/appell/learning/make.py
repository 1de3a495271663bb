"""gym_env: a system as an environment of Gymnasium, on the kernel of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from appell.dynamics import Dynamics
from appell.errors import needed_package
from appell.learning.episodes import Episodes, Reset
from appell.model.system import System
from appell.simulation.contact.contact import Contact
from appell.simulation.options import ImpulseContacts, SpringContacts, number_of_steps

if TYPE_CHECKING:
    from appell.learning.environments import RobotEnv, RobotVectorEnv


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
    method: str = "rk4",
    contacts: Contact | Iterable[Contact] | None = None,
    stops: float | Mapping[str, float] | None = None,
    contact_model: SpringContacts | ImpulseContacts | None = None,
    saturate: bool = False,
    friction: bool | None = None,
    rotors: bool | None = None,
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

    `method` and what follows are those of `rollout`: a robot moves with the friction and rotors it was described with.
    """
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
        planned={
            "method": method,
            "contacts": contacts,
            "stops": stops,
            "contact_model": contact_model,
            "saturate": saturate,
            "friction": friction,
            "rotors": rotors,
        },
    )
    return RobotEnv(episodes) if members is None else RobotVectorEnv(episodes, number_of_steps("members", members))
