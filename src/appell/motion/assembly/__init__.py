"""Constrained robots at one configuration: closing their loops, counting their freedoms, keeping their velocities."""
