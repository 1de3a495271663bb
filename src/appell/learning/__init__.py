"""Reinforcement learning: robots as Gymnasium environments, simulated by rollouts."""

from appell.learning.make import gym_env

__all__ = ["gym_env"]
