"""Rows of constraints on a tree, the velocity map that they define, and the assembly of loops."""
