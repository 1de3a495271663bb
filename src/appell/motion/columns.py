"""Columns of files by others, matched to a system: by its names, by numbers in order, or by a pattern.

A title is cut into words and numbers: joint_position_1 is (joint, position, 1). Words that say which quantity it is,
those that say nothing ("joint", "measured") and one number or one of the system's own names must make up all of it:

    q1 ... q7    q_1    q[0]    joint_position_1    shoulder_pos    effort_3    dq1    tau_elbow

Numbers run from 0 or from 1, without a hole, in the order of the system. If two sets of columns could be one quantity,
none is guessed: the error names both. A pattern such as "pos_{}" says which; {} stands for numbers or names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from appell.errors import DescriptionError, unknown_name
from appell.motion.record import Record
from appell.motion.titled import parse, titles
from appell.motion.units import declared

SPELLINGS = {
    "q": {"q", "pos", "position", "positions", "angle", "theta", "qpos"},
    "v": {"v", "dq", "vel", "velocity", "velocities", "qdot", "qvel", "dtheta"},
    "a": {"a", "ddq", "acc", "accel", "acceleration", "qddot", "qacc"},
    "tau": {"tau", "torque", "torques", "effort", "trq", "tq"},
}
SILENT = {"joint", "j", "axis", "measured", "meas", "actual", "act", "msr", "state"}
Wanted = Mapping[str, Sequence[str]]


def matched(record: Record, wanted: Wanted, patterns: Mapping[str, str] | None = None) -> Record:
    """The record with the titles of a system, for all quantities that can be told."""
    ours: dict[str, str] = {}
    for kind in patterns or {}:
        if kind not in wanted:
            raise DescriptionError(f"a pattern is given for '{kind}'.", expected=f"one of {', '.join(wanted)}")
    for kind, names in wanted.items():
        own = titles(kind, names)
        if patterns and kind in patterns:
            ours |= dict(zip(_by_pattern(record, patterns[kind], names), own, strict=True))
        elif not any(title in record.columns for title in own):
            families = _families(record.columns, kind, names)
            if len(families) > 1:
                told = " and ".join(f"{family[0]} ... {family[-1]}" for family in families)
                raise DescriptionError(
                    f"two sets of columns could be {kind}: {told}.",
                    source=record.source,
                    hint=f"--columns '{kind}={_guess(families[0][0])}', patterns={{'{kind}': ...}}",
                )
            ours |= dict(zip(families[0], own, strict=True)) if families else {}
    return record.renamed(ours)


def in_units(record: Record, units: Mapping[str, str]) -> Record:
    """The record, told what its quantities or columns are in: in_units(record, {"q": "deg"})."""
    given = dict(record.units)
    for key, unit in units.items():
        if key not in record:
            raise DescriptionError(unknown_name("column", key, record.columns, "The file"), source=record.source)
        ours = (key,) if key in record.columns else titles(key, record.names(key))
        given |= {title: declared(parse(title)[0], unit) for title in ours}
    return replace(record, units=given)


def _by_pattern(record: Record, pattern: str, names: Sequence[str]) -> list[str]:
    """The titles that a pattern means: with numbers from 1, from 0, or with names."""
    if pattern.count("{}") != 1:
        raise DescriptionError(f"the pattern '{pattern}' has no place for numbers.", expected="one {}, as in 'q{}'")
    count = len(names)
    tries = [[str(k) for k in range(1, count + 1)], [str(k) for k in range(count)], list(names)]
    for keys in tries:
        found = [pattern.replace("{}", key) for key in keys]
        if all(title in record.columns for title in found):
            return found
    first = ", ".join(pattern.replace("{}", keys[0]) for keys in tries)
    raise DescriptionError(
        f"the pattern '{pattern}' does not fit {count} columns: there is no complete set that begins with {first}.",
        expected=f"columns like these; there are: {', '.join(record.columns)}",
        source=record.source,
    )


def _families(columns: Sequence[str], kind: str, names: Sequence[str]) -> list[list[str]]:
    """The sets of columns that could be a quantity, complete and in the order of the names."""
    wanted = [tuple(_words(name)) for name in names]
    named: dict[tuple[str, ...], dict[int, str]] = {}
    numbered: dict[tuple[str, ...], dict[int, str]] = {}
    for title in columns:
        words = _words(title)
        for k, name in enumerate(wanted):
            rest = _without(words, name)
            if rest is not None and _says(rest, kind):
                named.setdefault(tuple(rest), {})[k] = title
        digits = [word for word in words if word.isdigit()]
        rest = [word for word in words if not word.isdigit()]
        if len(digits) == 1 and _says(rest, kind):
            numbered.setdefault(tuple(rest), {})[int(digits[0])] = title
    count = len(names)
    found = [[by[k] for k in range(count)] for by in named.values() if len(by) == count]
    for by in numbered.values():
        for first in (1, 0):
            if set(by) == set(range(first, first + count)):
                found.append([by[k] for k in range(first, first + count)])
    unique = {tuple(family): family for family in found}
    return list(unique.values())


def _says(words: Sequence[str], kind: str) -> bool:
    """Whether these words name the quantity, and nothing else."""
    telling = [word for word in words if word not in SILENT]
    return len(telling) == 1 and telling[0] in SPELLINGS[kind]


def _words(title: str) -> list[str]:
    return re.findall(r"[a-z]+|[0-9]+", title.lower())


def _without(words: list[str], name: tuple[str, ...]) -> list[str] | None:
    """The words with those of a name taken out of their midst; None if it does not stand there."""
    for k in range(len(words) - len(name) + 1):
        if tuple(words[k : k + len(name)]) == name:
            return words[:k] + words[k + len(name) :]
    return None


def _guess(title: str) -> str:
    """A pattern that a title could be of."""
    return re.sub(r"[0-9]+(?!.*[0-9])", "{}", title)
