"""Pictures: records over time (`plot`), systems in space (`scene`, `drawing`, `movie`), and the look they share."""
