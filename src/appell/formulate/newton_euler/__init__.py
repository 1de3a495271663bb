"""Dynamics from Newton's and Euler's equations, body by body."""
