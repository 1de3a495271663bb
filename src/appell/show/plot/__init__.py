"""Figures: records over time (`plot`), systems in space (`drawing`), and the style that they share (`style`)."""
