"""Dynamics from Kane's equations: generalised inertia forces are summed along partial velocities."""
