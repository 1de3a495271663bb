"""Derivatives of the equations of motion of a tree by recursions of their own, where a differentiated tape is long."""
