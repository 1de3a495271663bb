"""Readers of mesh files."""
