"""Inverse dynamics, forward dynamics and energy of long trees as loops over links: one loop body per kind of joint."""
