"""Errors speak Python; on the command line their hints name flags.

physical=False becomes --no-physical, base='floating' becomes --base floating, rtol becomes --rtol: as far as the
command that failed has such a flag. What it has not is left as it is.
"""

from __future__ import annotations

import re
from typing import Any

RENAMED = {"overwrite": "force", "solver": "method"}  # keyword -> flag, where they differ
KEYWORD = re.compile(r"\b(?P<name>[a-z_]+)=(?P<value>'[^']*'|\{'[^']*': '[^']*'\}|[\w.+-]+)")
SETTING = re.compile(r"(?<![\w'-])(?P<name>rtol|max_[a-z]+|inertia|forward)\b(?!=)")


def flags(command: Any) -> set[str]:
    """The options of a command, and of those below it."""
    own = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return own.union(*(flags(below) for below in getattr(command, "commands", {}).values()))


def in_flags(message: str, known: set[str]) -> str:
    """The message of an error with what is to be tried in terms of flags."""
    lines = message.split("\n")
    return "\n".join(_translated(line, known) if line.startswith("  try ") else line for line in lines)


def _translated(line: str, known: set[str]) -> str:
    def keyword(found: re.Match) -> str:
        name, value = found["name"], found["value"]
        flag = RENAMED.get(name, name).replace("_", "-")
        if value == "False" and f"--no-{flag}" in known:
            return f"--no-{flag}"
        if f"--{flag}" not in known:
            return found[0]
        if value == "True":
            return f"--{flag}"
        return f"--{flag} " + value.strip("{}").replace("': '", "=").replace("'", "")

    def setting(found: re.Match) -> str:
        flag = "--" + found["name"].replace("_", "-")
        return flag if flag in known else found[0]

    return SETTING.sub(setting, KEYWORD.sub(keyword, line))
