"""Dynamics from Lagrange's equations."""
