"""Learning to act: rollouts as environments of Gymnasium."""

from appell.learning.make import gym_env

__all__ = ["gym_env"]
