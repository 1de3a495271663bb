"""Rollouts: many motions of one system in one kernel."""
