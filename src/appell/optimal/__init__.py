"""Optimal control: motions of least cost under limits, computed by compiled iterations."""
