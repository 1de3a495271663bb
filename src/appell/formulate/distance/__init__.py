"""Signed distances of shapes on the links of a tree."""
