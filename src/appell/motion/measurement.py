"""Measured records, checked before anything is computed from them.

    q_<coordinate>, tau_<actuator>               needed; other spellings are matched, see `columns`
    v_<coordinate>, a_<coordinate>               used if all of them are there

Rows without a number are left out; gaps and outliers are remarked. Units that do not fit are caught by comparing the
change of q with the integral of v.

Columns of files by others, matched to a system: by its names, by numbers in order, or by a pattern.

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
SILENT = {"joint", "j", "axis", "measured", "meas", "actual", "act", "msr", "state"}
WantedNames = Mapping[str, Sequence[str]]


def matched(record: Record, wanted: WantedNames, patterns: Mapping[str, str] | None = None) -> Record:
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
                    hint=Hint("{patterns}", patterns={kind: _guess(families[0][0])}),
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


FEWEST_ROWS = 20  # rows
GAP = 3.0  # median steps: a longer one is a gap, over which nothing is computed


def measured(
    record: Record,
    coordinate_names: Sequence[str],
    actuator_names: Sequence[str],
    *,
    patterns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Record:
    """The columns of a system in its own order and in SI units, believable; remarks are in `about["remarks"]`.

    Titles such as q1 or shoulder_pos are told by themselves; `patterns`, {"q": "pos_{}"}, says it where they cannot be.
    `units`, {"q": "deg"}, are of quantities or columns under the system's own names.
    """
    wanted = {"q": coordinate_names, "v": coordinate_names, "a": coordinate_names, "tau": actuator_names}
    record = in_units(matched(record, wanted, patterns), units or {}).in_si()
    kinds = {kind: names for kind, names in wanted.items() if _has(record, kind, names)}
    ours = ("t", *(title for kind, names in kinds.items() for title in titles(kind, names)))
    data = record.data[:, [record.columns.index(title) for title in ours]]
    units = {title: unit for title, unit in record.units.items() if title in ours}
    found = replace(record, columns=ours, data=data, units=units)
    found, remarks = _whole_rows(found, kinds)
    remarks += _gaps(found.t) + [text for kind in kinds for text in _outliers(found, kind)]
    _check_units(found, tuple(coordinate_names))
    return replace(found, about=found.about | {"remarks": remarks})


def _has(record: Record, kind: str, names: Sequence[str]) -> bool:
    """Whether all columns of a quantity are there; raise if some are, or if it is one that is needed."""
    ours, needed = titles(kind, names), kind in ("q", "tau")
    missing = [title for title in ours if title not in record.columns]
    if missing and (needed or len(missing) < len(ours)):
        raise DescriptionError(
            unknown_name("column", missing[0], record.columns, "The record"),
            expected=f"columns {', '.join(ours)}" + ("" if needed else ", or none of them"),
            source=record.source,
            hint=Hint(
                "{patterns} with {{}} where its columns are numbered, or {columns} when the record is read",
                patterns={kind: "<name>{}"},
                columns={missing[0]: "<name>"},
            ),
        )
    return not missing


def _whole_rows(record: Record, kinds) -> tuple[Record, list[str]]:
    """The rows in which every column is a number, each instant once."""
    t, remarks = record.t, []
    if len(t) < FEWEST_ROWS:
        raise DescriptionError(
            f"the record has {len(t)} rows.",
            expected=f"at least {FEWEST_ROWS}, and better thousands",
            source=record.source,
        )
    if (bad := np.flatnonzero(np.diff(t) == 0.0) + 1).size:
        raise DescriptionError(
            f"column t does not grow at {rows_text(bad)} (t = {t[bad[0]]:g} again).",
            expected="each instant once",
            source=record.source,
            hint="leave repeated rows out",
        )
    for kind in kinds:
        lost = ~np.isfinite(record[kind])
        if lost.any():
            rows = np.flatnonzero(lost.any(axis=1))
            title = f"{kind}_{record.names(kind)[int(np.argmax(lost[rows[0]]))]}"
            remarks.append(f"{title}: no number in {len(rows)} rows ({rows_text(rows)}); these rows are left out")
    keep = np.isfinite(record.data).all(axis=1)
    if keep.sum() < FEWEST_ROWS:
        raise DescriptionError(f"only {keep.sum()} rows of the record are whole. {remarks[0]}", source=record.source)
    return record.part(keep), remarks


def _gaps(t: np.ndarray) -> list[str]:
    step = np.diff(t)
    gaps = np.flatnonzero(step > GAP * np.median(step))
    if not len(gaps):
        return []
    longest = float(step[gaps].max())
    return [f"t: {len(gaps)} gaps, the longest {longest:.4g} s, after {rows_text(gaps)}; each side is used by itself"]


def _outliers(record: Record, kind: str) -> list[str]:
    """Single rows far from the middle of their neighbours, in units of how far rows commonly are."""
    x, found = record[kind], []
    middle = np.median(np.stack([x[k : len(x) - 4 + k] for k in range(5)]), axis=0)
    away = np.abs(x[2:-2] - middle)
    common = np.percentile(away, 99.0, axis=0) + 1e-3 * np.std(x, axis=0)
    for k, name in enumerate(record.names(kind)):
        rows = np.flatnonzero(away[:, k] > 20.0 * common[k]) + 2
        if len(rows):
            found.append(
                f"{kind}_{name}: {len(rows)} outliers, {rows_text(rows)}; identify.Robust is not misled by them"
            )
    return found


def _check_units(record: Record, names: tuple[str, ...]) -> None:
    """The change of q must be the integral of v, and that of v the integral of a."""
    for upper, lower in (("q", "v"), ("v", "a")):
        if upper not in record or lower not in record:
            continue
        x, rate, step = record[upper], record[lower], np.diff(record.t)
        near = step < GAP * np.median(step)
        for k, name in enumerate(names):
            change = np.diff(x[:, k])[near]
            integral = (0.5 * (rate[1:, k] + rate[:-1, k]) * step)[near]
            moved = np.cumsum(change), np.cumsum(integral)
            size = float(moved[1] @ moved[1])
            if size == 0.0:
                continue
            ratio = float(moved[0] @ moved[1]) / size
            if 0.5 < ratio < 2.0:
                continue
            guesses = {
                "in degrees": 180 / np.pi,
                "in radians where the other is in degrees": np.pi / 180,
                "with the wrong sign": -1.0,
            }
            told = next(
                (text for text, f in guesses.items() if 0.8 < ratio / f < 1.25),
                f"in another unit, {ratio:.3g} times too large",
            )
            raise DescriptionError(
                f"{upper}_{name} changes by {ratio:.4g} times the integral of {lower}_{name}: it seems to be {told}.",
                expected=f"{upper} and {lower} of one unit, radians or metres and seconds",
                source=record.source,
                hint=f"units={{'{upper}': 'deg'}} if the column is in degrees",
            )
