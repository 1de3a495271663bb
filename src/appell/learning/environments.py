"""Gymnasium environments: one agent, or many agents in one kernel.

Many agents are reset automatically (`AutoresetMode.NEXT_STEP`): the step after the end of an episode starts the next
one, ignores the action and has reward 0. With seed s, agent k of many behaves like the single agent with seed s + k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from appell.learning.episodes import Episodes, Members


def _spaces(episodes: Episodes) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    """Return the observation space and the action space."""
    actions = episodes.actions
    return (
        gymnasium.spaces.Box(-np.inf, np.inf, (episodes.observation_size,), np.float32),
        gymnasium.spaces.Box(actions.low.astype(np.float32), actions.high.astype(np.float32), dtype=np.float32),
    )


class RobotEnv(gymnasium.Env):
    """An environment of one agent; created by `gym_env`."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as in the base class

    def __init__(self, episodes: Episodes):
        self.episodes = episodes
        self.observation_space, self.action_space = _spaces(episodes)
        self._members: Members | None = None

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates q and velocities v."""
        members = self._current_members()
        return members.q[0].copy(), members.v[0].copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Start an episode; return the observation and an empty dict."""
        super().reset(seed=seed)
        self._members = self.episodes.start([self.np_random])
        return self.episodes.observe(self._members)[0], {}

    def step(self, action):
        """Apply an action; return observation, reward, terminated, truncated and info."""
        result = self.episodes.step(self._current_members(), action)
        info = {"diverged": True} if result.diverged[0] else {}
        ends = bool(result.terminated[0]), bool(result.truncated[0])
        return result.observation[0], float(result.reward[0]), *ends, info

    def _current_members(self) -> Members:
        if self._members is None:
            raise gymnasium.error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        return self._members


class RobotVectorEnv(VectorEnv):
    """An environment of many agents, simulated by one call of a kernel per step; created by `gym_env`."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, episodes: Episodes, members: int):
        self.episodes, self.num_envs = episodes, members
        self.single_observation_space, self.single_action_space = _spaces(episodes)
        self.observation_space = batch_space(self.single_observation_space, members)
        self.action_space = batch_space(self.single_action_space, members)
        self._generators: list[np.random.Generator] = [seeding.np_random()[0] for _ in range(members)]
        self._members: Members | None = None
        self._ended = np.zeros(members, bool)

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None):
        """Start an episode of every agent; return the observations and an empty dict."""
        seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else seed
        if seeds is not None:
            if len(seeds) != self.num_envs:
                raise gymnasium.error.Error(f"{len(seeds)} seeds were passed for {self.num_envs} agents.")
            pairs = zip(seeds, self._generators, strict=True)
            self._generators = [old if new is None else seeding.np_random(new)[0] for new, old in pairs]
        self._members, self._ended = self.episodes.start(self._generators), np.zeros(self.num_envs, bool)
        return self.episodes.observe(self._members), {}

    def step(self, actions):
        """Apply one action per agent; return observations, rewards, terminated, truncated and info."""
        if self._members is None:
            raise gymnasium.error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        members, restarting = self._members, self._ended
        result = self.episodes.step(members, actions)
        observation, reward = result.observation.copy(), result.reward.copy()
        ends = result.terminated, result.truncated, result.diverged
        terminated, truncated, diverged = (x & ~restarting for x in ends)
        if restarting.any():
            which = np.flatnonzero(restarting)
            fresh = self.episodes.start([self._generators[k] for k in which])
            for name in ("q", "v", "parameters", "taken"):
                getattr(members, name)[which] = getattr(fresh, name)
            observation[which], reward[which] = self.episodes.observe(fresh), 0.0
        self._ended = terminated | truncated
        info = {"diverged": diverged, "_diverged": diverged} if diverged.any() else {}
        return observation, reward, terminated, truncated, info
