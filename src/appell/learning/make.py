"""`gym_env`: a robot or mechanism as a Gymnasium environment, simulated by the kernel of a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from appell.dynamics import Dynamics
from appell.errors import needed_package
from appell.learning.episodes import Episodes, Reset
from appell.model.system import System
from appell.simulation.contact.contact import BodyContact, Contact
from appell.simulation.options import ImpulseContacts, SpringContacts, checked_steps

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
    contacts: Contact | BodyContact | Iterable[Contact | BodyContact] | str | None = None,
    stops: float | Mapping[str, float] | None = None,
    contact_model: SpringContacts | ImpulseContacts | None = None,
    saturate: bool = False,
    friction: bool | None = None,
    rotors: bool | None = None,
) -> RobotEnv | RobotVectorEnv:
    """Create a Gymnasium environment of a robot or mechanism, for one agent or for many.

    The functions `reward`, `observation`, `terminated` and `law` are traced and compiled together with the integration
    steps: write them with scalar operations and `ap.sin`, `ap.cos`, `ap.select`, .... A step of many agents is one call
    of a kernel.

    Parameters
    ----------
    dyn : Dynamics, Robot or Mechanism
        System of the environment. A robot has the friction and rotors of its description.
    reward : callable
        `reward(t, q, v, tau)`, evaluated after every action, t seconds after the reset.
    members : int, optional
        Number of agents of a `gymnasium.vector.VectorEnv`. None: a `gymnasium.Env` of one agent.
    observation : callable, optional
        `observation(q, v)`, a list of scalars. None: all of q and v.
    terminated : callable, optional
        `terminated(q, v)`; a positive value ends the episode.
    reset : callable, optional
        `reset(rng)` returns the initial (q, v) of one agent from a NumPy random generator. If the system has free
        bodies it returns (q, v, parameters), so that every episode can have another robot. None: uniformly distributed
        within 0.05 of the start of the system, at rest within 0.05.
    actuators : names of actuators, optional
        Actuators whose torques (N m) or forces (N) are the actions. None: all that have a torque limit.
    action_limits : pair (low, high) of numbers or arrays, optional
        Range of the actions. None: the torque limits of the actuators.
    law : callable, optional
        `law(q, v, action)` returns the torques of all actuators, so that actions can be positions or gains. It is
        evaluated in every integration step.
    dt : integration step in s
    substeps : number of integration steps for which an action is held constant
    horizon : number of actions after which an episode is truncated
    method, contacts, stops, contact_model, saturate, friction, rotors
        See `rollout`.

    Returns
    -------
    RobotEnv or RobotVectorEnv
        The same seeds give the same episodes.

    Raises
    ------
    ArgumentError
        If Gymnasium is not installed (`pip install 'appell[gym]'`), or an argument is not valid.

    Examples
    --------
    >>> import appell as ap
    >>> def upright(t, q, v, tau):
    ...     return -ap.cos(q[0]) - 0.01 * v[0] * v[0]
    >>> env = ap.gym_env(ap.load("pendulum"), upright, actuators=["hinge"], action_limits=(-2.0, 2.0))
    >>> env.action_space
    Box(-2.0, 2.0, (1,), float32)
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step([1.0])
    >>> print(observation.round(3), f"{reward:.3f}", terminated, truncated)
    [ 0.797 -0.174] -0.699 False False
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
    return RobotEnv(episodes) if members is None else RobotVectorEnv(episodes, checked_steps("members", members))
