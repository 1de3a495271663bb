"""Derivatives of the equations of motion of a tree by dedicated recursions, shorter than a differentiated tape."""
