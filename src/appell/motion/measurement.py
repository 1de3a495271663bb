"""Checks of measured records, and matching of their columns to the names of a system.

    q_<coordinate>, tau_<actuator>               required; other spellings are matched, see below
    v_<coordinate>, a_<coordinate>               used if all of them exist

Rows with missing numbers are left out; gaps and outliers are reported as remarks. Wrong units are detected by comparing
the change of q with the integral of v.

Columns of foreign files are matched to a system by its names, by numbers in order, or by a pattern. A title is split
into words and numbers: joint_position_1 is (joint, position, 1). It must consist of one word for the quantity, any
filler words ("joint", "measured"), and one number or one of the system's names:

    q1 ... q7    q_1    q[0]    joint_position_1    shoulder_pos    effort_3    dq1    tau_elbow

Numbers start at 0 or 1 and are consecutive, in the order of the system. If two sets of columns match one quantity, the
error names both; a pattern such as "pos_{}" selects one, where {} stands for numbers or names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from appell.errors import DescriptionError, Hint, rows_text, unknown_name
from appell.motion.record import Record
from appell.motion.titles import declared, parse, titles

SPELLINGS = {
    "q": {"q", "pos", "position", "positions", "angle", "theta", "qpos"},
    "v": {"v", "dq", "vel", "velocity", "velocities", "qdot", "qvel", "dtheta"},
    "a": {"a", "ddq", "acc", "accel", "acceleration", "qddot", "qacc"},
    "tau": {"tau", "torque", "torques", "effort", "trq", "tq"},
}
FILLER_WORDS = {"joint", "j", "axis", "measured", "meas", "actual", "act", "msr", "state"}
MIN_ROWS = 20
GAP_RATIO = 3.0  # of the median time between rows: a longer interval is a gap, over which nothing is computed
Names = Mapping[str, Sequence[str]]  # by quantity


def matched(record: Record, wanted: Names, patterns: Mapping[str, str] | None = None) -> Record:
    """Return the record with the titles of a system for all quantities that can be matched.

    Parameters
    ----------
    record
        The record.
    wanted
        Names of the system's columns by quantity.
    patterns
        Patterns of titles by quantity, such as {"q": "pos_{}"}.
    """
    new_titles: dict[str, str] = {}
    for kind in patterns or {}:
        if kind not in wanted:
            raise DescriptionError(f"a pattern is given for '{kind}'.", expected=f"one of {', '.join(wanted)}")
    for kind, names in wanted.items():
        system_titles = titles(kind, names)
        if patterns and kind in patterns:
            new_titles |= dict(zip(_by_pattern(record, patterns[kind], names), system_titles, strict=True))
        elif not any(title in record.columns for title in system_titles):
            candidates = _candidates(record.columns, kind, names)
            if len(candidates) > 1:
                listed = " and ".join(f"{columns[0]} ... {columns[-1]}" for columns in candidates)
                raise DescriptionError(
                    f"two sets of columns could be {kind}: {listed}.",
                    source=record.source,
                    hint=Hint("Select one with {patterns}.", patterns={kind: _guess(candidates[0][0])}),
                )
            new_titles |= dict(zip(candidates[0], system_titles, strict=True)) if candidates else {}
    return record.renamed(new_titles)


def in_units(record: Record, units: Mapping[str, str]) -> Record:
    """Return the record with declared units of quantities or columns: in_units(record, {"q": "deg"})."""
    given = dict(record.units)
    for key, unit in units.items():
        if key not in record:
            raise DescriptionError(unknown_name("column", key, record.columns, "The file"), source=record.source)
        columns = (key,) if key in record.columns else titles(key, record.names(key))
        given |= {title: declared(parse(title)[0], unit) for title in columns}
    return replace(record, units=given)


def _by_pattern(record: Record, pattern: str, names: Sequence[str]) -> list[str]:
    """Return the titles that match a pattern, with numbers from 1, numbers from 0, or names."""
    if pattern.count("{}") != 1:
        raise DescriptionError(f"the pattern '{pattern}' does not contain one {{}}.", expected="one {}, as in 'q{}'")
    count = len(names)
    keys_to_try = [[str(k) for k in range(1, count + 1)], [str(k) for k in range(count)], list(names)]
    for keys in keys_to_try:
        columns = [pattern.replace("{}", key) for key in keys]
        if all(title in record.columns for title in columns):
            return columns
    first = ", ".join(pattern.replace("{}", keys[0]) for keys in keys_to_try)
    raise DescriptionError(
        f"the pattern '{pattern}' does not match {count} columns: there is no complete set that starts with {first}.",
        expected=f"columns like these; the columns are: {', '.join(record.columns)}",
        source=record.source,
    )


def _candidates(columns: Sequence[str], kind: str, names: Sequence[str]) -> list[list[str]]:
    """Return the complete sets of columns that could be a quantity, in the order of the names."""
    split_names = [tuple(_words(name)) for name in names]
    named: dict[tuple[str, ...], dict[int, str]] = {}
    numbered: dict[tuple[str, ...], dict[int, str]] = {}
    for title in columns:
        words = _words(title)
        for k, name in enumerate(split_names):
            rest = _without(words, name)
            if rest is not None and _names_quantity(rest, kind):
                named.setdefault(tuple(rest), {})[k] = title
        digits = [word for word in words if word.isdigit()]
        rest = [word for word in words if not word.isdigit()]
        if len(digits) == 1 and _names_quantity(rest, kind):
            numbered.setdefault(tuple(rest), {})[int(digits[0])] = title
    count = len(names)
    complete = [[by[k] for k in range(count)] for by in named.values() if len(by) == count]
    for by in numbered.values():
        for first in (1, 0):
            if set(by) == set(range(first, first + count)):
                complete.append([by[k] for k in range(first, first + count)])
    unique = {tuple(columns): columns for columns in complete}
    return list(unique.values())


def _names_quantity(words: Sequence[str], kind: str) -> bool:
    """Return whether these words, filler words apart, are one spelling of the quantity."""
    significant = [word for word in words if word not in FILLER_WORDS]
    return len(significant) == 1 and significant[0] in SPELLINGS[kind]


def _words(title: str) -> list[str]:
    return re.findall(r"[a-z]+|[0-9]+", title.lower())


def _without(words: list[str], name: tuple[str, ...]) -> list[str] | None:
    """Return the words without those of a name; None if they do not contain the name."""
    for k in range(len(words) - len(name) + 1):
        if tuple(words[k : k + len(name)]) == name:
            return words[:k] + words[k + len(name) :]
    return None


def _guess(title: str) -> str:
    """Return a pattern that matches a title: its last number is replaced by {}."""
    return re.sub(r"[0-9]+(?!.*[0-9])", "{}", title)


def measured(
    record: Record,
    coordinate_names: Sequence[str],
    actuator_names: Sequence[str],
    *,
    patterns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Record:
    """Return the columns of a system in its order and in SI units, checked for plausibility.

    Parameters
    ----------
    record
        The measured record.
    coordinate_names, actuator_names
        Names of the system.
    patterns
        Patterns of titles by quantity, such as {"q": "pos_{}"}. Titles such as q1 or shoulder_pos are matched without.
    units
        Units of quantities or columns under the system's names, such as {"q": "deg"}.

    Returns
    -------
    Record
        Columns t, q and tau, and v and a if they are complete. `about["remarks"]` lists omitted rows, gaps and
        outliers.

    Raises
    ------
    DescriptionError
        If columns are missing or ambiguous, if there are fewer than 20 valid rows, or if units are inconsistent.
    """
    wanted = {"q": coordinate_names, "v": coordinate_names, "a": coordinate_names, "tau": actuator_names}
    record = in_units(matched(record, wanted, patterns), units or {}).in_si()
    kinds = {kind: names for kind, names in wanted.items() if _has(record, kind, names)}
    columns = ("t", *(title for kind, names in kinds.items() for title in titles(kind, names)))
    data = record.data[:, [record.columns.index(title) for title in columns]]
    units = {title: unit for title, unit in record.units.items() if title in columns}
    selected = replace(record, columns=columns, data=data, units=units)
    selected, remarks = _valid_rows(selected, kinds)
    remarks += _gaps(selected.t) + [text for kind in kinds for text in _outliers(selected, kind)]
    _check_units(selected, tuple(coordinate_names))
    return replace(selected, about=selected.about | {"remarks": remarks})


def _has(record: Record, kind: str, names: Sequence[str]) -> bool:
    """Return whether all columns of a quantity exist; raise if only some do, or if a required one is missing."""
    columns, required = titles(kind, names), kind in ("q", "tau")
    missing = [title for title in columns if title not in record.columns]
    if missing and (required or len(missing) < len(columns)):
        raise DescriptionError(
            unknown_name("column", missing[0], record.columns, "The record"),
            expected=f"columns {', '.join(columns)}" + ("" if required else ", or none of them"),
            source=record.source,
            hint=Hint(
                "Pass {patterns} with {{}} in place of numbers, or {columns} when reading the record.",
                patterns={kind: "<name>{}"},
                columns={missing[0]: "<name>"},
            ),
        )
    return not missing


def _valid_rows(record: Record, kinds) -> tuple[Record, list[str]]:
    """Return the rows in which every column is a number, and remarks; raise if times repeat."""
    t, remarks = record.t, []
    if len(t) < MIN_ROWS:
        raise DescriptionError(
            f"the record has {len(t)} rows.",
            expected=f"at least {MIN_ROWS}, preferably thousands",
            source=record.source,
        )
    if (bad := np.flatnonzero(np.diff(t) == 0.0) + 1).size:
        raise DescriptionError(
            f"column t does not grow at {rows_text(bad)} (t = {t[bad[0]]:g} again).",
            expected="strictly ascending times",
            source=record.source,
            hint="Remove repeated rows.",
        )
    for kind in kinds:
        missing = ~np.isfinite(record[kind])
        if missing.any():
            rows = np.flatnonzero(missing.any(axis=1))
            title = f"{kind}_{record.names(kind)[int(np.argmax(missing[rows[0]]))]}"
            remarks.append(f"{title}: no number in {len(rows)} rows ({rows_text(rows)}); these rows are left out")
    valid = np.isfinite(record.data).all(axis=1)
    if valid.sum() < MIN_ROWS:
        raise DescriptionError(
            f"only {valid.sum()} rows of the record are complete. {remarks[0]}", source=record.source
        )
    return record.part(valid), remarks


def _gaps(t: np.ndarray) -> list[str]:
    step = np.diff(t)
    gaps = np.flatnonzero(step > GAP_RATIO * np.median(step))
    if not len(gaps):
        return []
    longest = float(step[gaps].max())
    return [f"t: {len(gaps)} gaps, the longest {longest:.4g} s, after {rows_text(gaps)}; each side is used separately"]


def _outliers(record: Record, kind: str) -> list[str]:
    """Return remarks about single rows that differ from the median of their neighbours far more than other rows."""
    x, remarks = record[kind], []
    median = np.median(np.stack([x[k : len(x) - 4 + k] for k in range(5)]), axis=0)
    deviation = np.abs(x[2:-2] - median)
    common = np.percentile(deviation, 99.0, axis=0) + 1e-3 * np.std(x, axis=0)
    for k, name in enumerate(record.names(kind)):
        rows = np.flatnonzero(deviation[:, k] > 20.0 * common[k]) + 2
        if len(rows):
            remarks.append(
                f"{kind}_{name}: {len(rows)} outliers, {rows_text(rows)}; identify.Robust is insensitive to them"
            )
    return remarks


def _check_units(record: Record, names: tuple[str, ...]) -> None:
    """Raise unless the change of q is about the integral of v, and that of v about the integral of a."""
    for upper, lower in (("q", "v"), ("v", "a")):
        if upper not in record or lower not in record:
            continue
        x, rate, step = record[upper], record[lower], np.diff(record.t)
        without_gap = step < GAP_RATIO * np.median(step)
        for k, name in enumerate(names):
            change = np.diff(x[:, k])[without_gap]
            integral = (0.5 * (rate[1:, k] + rate[:-1, k]) * step)[without_gap]
            total = np.cumsum(change), np.cumsum(integral)
            size = float(total[1] @ total[1])
            if size == 0.0:
                continue
            ratio = float(total[0] @ total[1]) / size
            if 0.5 < ratio < 2.0:
                continue
            guesses = {
                "in degrees": 180 / np.pi,
                "in radians where the other is in degrees": np.pi / 180,
                "with the wrong sign": -1.0,
            }
            hints = {
                "in degrees": Hint("Pass {units} if the column is in degrees.", units={upper: "deg"}),
                "in radians where the other is in degrees": Hint(
                    "Remove degrees from {units} if the column is in radians.", units=...
                ),
            }
            guess = next(
                (text for text, f in guesses.items() if 0.8 < ratio / f < 1.25),
                f"in another unit, {ratio:.3g} times too large",
            )
            raise DescriptionError(
                f"{upper}_{name} changes by {ratio:.4g} times the integral of {lower}_{name}: it seems to be {guess}.",
                expected=f"{upper} and {lower} in consistent units: radians or metres, and seconds",
                source=record.source,
                hint=hints.get(guess, ""),
            )
