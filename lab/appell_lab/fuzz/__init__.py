"""Fuzzing: targets that try to break appell with random cases, each checked against an independent reference."""
