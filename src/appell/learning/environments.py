"""Environments of Gymnasium: one agent, or many in one kernel.

Many agents are reset by themselves: the step after the one that ended an episode begins the next one, whatever the
action is, and rewards nothing (`AutoresetMode.NEXT_STEP`). Agent k of many, seeded with s, is the one agent that is
seeded with s + k.
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
    """Of observations and of actions."""
    actions = episodes.actions
    return (
        gymnasium.spaces.Box(-np.inf, np.inf, (episodes.observed,), np.float32),
        gymnasium.spaces.Box(actions.low.astype(np.float32), actions.high.astype(np.float32), dtype=np.float32),
    )


class RobotEnv(gymnasium.Env):
    """One agent."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, episodes: Episodes):
        self.episodes = episodes
        self.observation_space, self.action_space = _spaces(episodes)
        self._members: Members | None = None

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """q and v."""
        members = self._begun()
        return members.q[0].copy(), members.v[0].copy()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._members = self.episodes.begun([self.np_random])
        return self.episodes.seen(self._members)[0], {}

    def step(self, action):
        found = self.episodes.step(self._begun(), action)
        info = {"diverged": True} if found.diverged[0] else {}
        ends = bool(found.terminated[0]), bool(found.truncated[0])
        return found.observation[0], float(found.reward[0]), *ends, info

    def _begun(self) -> Members:
        if self._members is None:
            raise gymnasium.error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        return self._members


class RobotVectorEnv(VectorEnv):
    """Many agents of one system, moved by one call of its kernel."""

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
        seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else seed
        if seeds is not None:
            if len(seeds) != self.num_envs:
                raise gymnasium.error.Error(f"{len(seeds)} seeds are given for {self.num_envs} agents.")
            known = zip(seeds, self._generators, strict=True)
            self._generators = [old if own is None else seeding.np_random(own)[0] for own, old in known]
        self._members, self._ended = self.episodes.begun(self._generators), np.zeros(self.num_envs, bool)
        return self.episodes.seen(self._members), {}

    def step(self, actions):
        if self._members is None:
            raise gymnasium.error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        members, renewed = self._members, self._ended
        found = self.episodes.step(members, actions)
        observation, reward = found.observation.copy(), found.reward.copy()
        terminated, truncated, lost = (x & ~renewed for x in (found.terminated, found.truncated, found.diverged))
        if renewed.any():
            which = np.flatnonzero(renewed)
            fresh = self.episodes.begun([self._generators[k] for k in which])
            for name in ("q", "v", "parameters", "taken"):
                getattr(members, name)[which] = getattr(fresh, name)
            observation[which], reward[which] = self.episodes.seen(fresh), 0.0
        self._ended = terminated | truncated
        info = {"diverged": lost, "_diverged": lost} if lost.any() else {}
        return observation, reward, terminated, truncated, info
