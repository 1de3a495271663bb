"""Scenes of systems and records, which pages, movies and live views show."""
