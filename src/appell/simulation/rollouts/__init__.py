"""Rollouts: many motions of one system in one compiled kernel."""
