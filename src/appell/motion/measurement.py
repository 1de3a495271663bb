"""Checks of measured records, and matching of their columns to the names of a system.

    q_<coordinate>, tau_<actuator>               required; other spellings are matched, see below
    v_<coordinate>, a_<coordinate>               used if all of them exist

Rows with missing numbers are left out; gaps and outliers are reported as remarks. Units that are not declared are
detected, with a warning, from the titles (pos_deg_1), from the ratio of the change of q and the integral of v, and from
the limits of the system. Units that contradict these are errors.

Columns of foreign files are matched to a system by its names, by numbers in order, or by a pattern. A title is split
into words and numbers: joint_position_1 is (joint, position, 1). It must consist of one word for the quantity, any
filler words ("joint", "measured"), and one number or one of the system's names:

    q1 ... q7    q_1    q[0]    joint_position_1    shoulder_pos    effort_3    dq1    tau_elbow

Numbers start at 0 or 1 and are consecutive, in the order of the system. If two sets of columns match one quantity, the
error names both; a pattern such as "pos_{}" selects one, where {} stands for numbers or names.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.errors import DescriptionError, Hint, ModelWarning, rows_text, unknown_name
from appell.motion.clock import GAP_RATIO
from appell.motion.record import Record
from appell.motion.titles import FORCES, declared, in_si, parse, titles

if TYPE_CHECKING:
    from appell.model.system import System

SPELLINGS = {
    "q": {"q", "pos", "position", "positions", "angle", "theta", "qpos"},
    "v": {"v", "dq", "vel", "velocity", "velocities", "qdot", "qvel", "dtheta"},
    "a": {"a", "ddq", "acc", "accel", "acceleration", "qddot", "qacc"},
    "tau": {"tau", "torque", "torques", "effort", "trq", "tq"},
}
UNIT_WORDS = {  # in titles
    **dict.fromkeys(("rad", "radians", "nm"), ""),  # SI
    **dict.fromkeys(("deg", "degrees"), "deg"),
    "mnm": "mNm",
    "mm": "mm",
}
FILLER_WORDS = {"joint", "j", "axis", "measured", "meas", "actual", "act", "msr", "state"}
MIN_ROWS = 20
DEGREES_TOLERANCE = 0.03  # of the ratio of change and integral
MAX_EXCESS = 5.0  # of a limit, beyond which the unit is wrong
MAX_EXCESS_IN_OTHER_UNIT = 1.2
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
    record = record.renamed(new_titles)
    units: dict[str, tuple[str, str]] = {}
    for title, new in new_titles.items():
        word = next((word for word in _words(title) if UNIT_WORDS.get(word)), "")
        if word:
            units[new] = declared(parse(new)[0], UNIT_WORDS[word]), f"the file calls it '{title}'"
    return _with_units(record, units)


def _with_units(record: Record, units: Mapping[str, tuple[str, str]]) -> Record:
    """Return the record with detected units (unit and evidence by title), and warn; declared units have priority."""
    units = {title: each for title, each in units.items() if title not in record.units}
    source = f"{record.source}: " if record.source else ""
    for unit in dict.fromkeys(unit for unit, _ in units.values()):
        columns = [title for title, (each, _) in units.items() if each == unit]
        listed, verb = ", ".join(columns), "is" if len(columns) == 1 else "are"
        evidence = units[columns[0]][1]
        warnings.warn(f"{source}{listed} {verb} read as {unit}, because {evidence}.", ModelWarning, stacklevel=4)
    return replace(record, units={**record.units, **{title: unit for title, (unit, _) in units.items()}})


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
    prefixed: dict[tuple[str, ...], dict[int, str]] = {}
    numbered: dict[tuple[str, ...], dict[int, str]] = {}
    for title in columns:
        words = _words(title)
        for k, name in enumerate(split_names):
            rest = _without(words, name)
            if rest is not None and _names_quantity(rest, kind):
                named.setdefault(tuple(rest), {})[k] = title
            elif rest is not None and sum(word in SPELLINGS[kind] for word in rest) == 1:
                prefixed.setdefault(tuple(rest), {})[k] = title
        digits = [word for word in words if word.isdigit()]
        rest = [word for word in words if not word.isdigit()]
        if len(digits) == 1 and _names_quantity(rest, kind):
            numbered.setdefault(tuple(rest), {})[int(digits[0])] = title
    count = len(names)
    complete = [[by[k] for k in range(count)] for by in named.values() if len(by) == count]
    if not complete:  # a prefix or suffix of all names: q_left_arm_elbow
        complete = [[by[k] for k in range(count)] for by in prefixed.values() if len(by) == count > 1]
    for by in numbered.values():
        for first in (1, 0):
            if set(by) == set(range(first, first + count)):
                complete.append([by[k] for k in range(first, first + count)])
    unique = {tuple(columns): columns for columns in complete}
    return list(unique.values())


def _names_quantity(words: Sequence[str], kind: str) -> bool:
    """Return whether these words, filler words apart, are one spelling of the quantity."""
    significant = [word for word in words if word not in FILLER_WORDS and word not in UNIT_WORDS]
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
    system: System | None = None,
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
        Units of quantities or columns under the system's names, such as {"q": "deg", "tau_elbow": "0.105 Nm/A"}.
        Others are detected, with a warning.
    system
        The system, whose limits are compared with the columns.

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
    record = in_units(matched(record, wanted, patterns), units or {})
    required = ("q", "tau")
    kinds = {kind: names for kind, names in wanted.items() if has_columns(record, kind, names, kind in required)}
    columns = ("t", *(title for kind, names in kinds.items() for title in titles(kind, names)))
    data = record.data[:, [record.columns.index(title) for title in columns]]
    known = {title: unit for title, unit in record.units.items() if title in columns}
    selected = replace(record, columns=columns, data=data, units=known)
    clock = selected.clock
    selected, remarks = _valid_rows(selected, kinds)
    selected = with_detected_units(selected, system).in_si()
    report = replace(selected.clock, duplicates=clock.duplicates)  # gaps are also where rows were left out
    remarks += report.sentences()
    for kind in kinds:
        for title, rows in outlier_rows(selected, kind):
            text = f"{title}: {len(rows)} outliers, {rows_text(rows)}"
            remarks.append(f"{text}; identify.Robust is insensitive to them")
    remarks += _check_torques(selected)
    for ratio in unit_ratios(selected):
        raise ratio.error(selected)
    return replace(selected, about=selected.about | {"remarks": remarks})


def has_columns(record: Record, kind: str, names: Sequence[str], required: bool) -> bool:
    """Return whether all columns of a quantity exist; raise if only some do, or if a required one is missing."""
    columns = titles(kind, names)
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
    """Return the rows in which every column is a number and the time is new, and remarks."""
    t, remarks = record.t, []
    if len(t) < MIN_ROWS:
        raise DescriptionError(
            f"the record has {len(t)} rows.",
            expected=f"at least {MIN_ROWS}, preferably thousands",
            source=record.source,
        )
    for kind in kinds:
        missing = ~np.isfinite(record[kind])
        if missing.any():
            rows = np.flatnonzero(missing.any(axis=1))
            title = f"{kind}_{record.names(kind)[int(np.argmax(missing[rows[0]]))]}"
            remarks.append(f"{title}: no number in {len(rows)} rows ({rows_text(rows)}); these rows are left out")
    valid = np.isfinite(record.data).all(axis=1) & (np.diff(t, prepend=-np.inf) > 0.0)
    if valid.sum() < MIN_ROWS:
        raise DescriptionError(
            f"only {valid.sum()} rows of the record are complete. {'; '.join(remarks)}", source=record.source
        )
    return record.part(valid), remarks


def outlier_rows(record: Record, kind: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield columns and their rows that differ from the median of their neighbours far more than other rows."""
    x = record[kind]
    median = np.median(np.stack([x[k : len(x) - 4 + k] for k in range(5)]), axis=0)
    deviation = np.abs(x[2:-2] - median)
    common = np.percentile(deviation, 99.0, axis=0) + 1e-3 * np.std(x, axis=0)
    for k, title in enumerate(titles(kind, record.names(kind))):
        rows = np.flatnonzero(deviation[:, k] > 20.0 * common[k]) + 2
        if len(rows):
            yield title, rows


def _check_torques(record: Record) -> list[str]:
    """Raise if all torques are zero; return remarks about single ones."""
    zero = (record.tau == 0.0).all(axis=0)
    if zero.all():
        raise DescriptionError(
            f"tau is zero in all samples of {', '.join(titles('tau', record.names('tau')))}.",
            expected="measured torques, or currents with torque constants",
            source=record.source,
            hint="Check that the driver writes the efforts, and that the columns are the right ones.",
        )
    return [f"tau_{name}: zero in all rows" for name, is_zero in zip(record.names("tau"), zero, strict=True) if is_zero]


class _Ratio(NamedTuple):
    """The change of a column as a multiple of the integral of its rate, which is not about 1."""

    upper: str
    lower: str
    name: str
    value: float

    def unit(self) -> tuple[str, str] | None:
        """Return the column that is in degrees, and its unit."""
        if abs(self.value * np.pi / 180.0 - 1.0) < DEGREES_TOLERANCE:
            return f"{self.upper}_{self.name}", declared(self.upper, "deg")
        if abs(self.value * 180.0 / np.pi - 1.0) < DEGREES_TOLERANCE:
            return f"{self.lower}_{self.name}", declared(self.lower, "deg")
        return None

    def sentence(self) -> str:
        return f"{self.upper}_{self.name} changes by {self.value:.4g} times the integral of {self.lower}_{self.name}"

    def error(self, record: Record) -> DescriptionError:
        counts = 2.0 * np.pi * self.value
        column = record[f"{self.upper}_{self.name}"]
        guesses: dict[str, tuple[float, Any]] = {
            "in degrees": (180.0 / np.pi, Hint("Pass {units} if the column is in degrees.", units={self.upper: "deg"})),
            "in radians where the other is in degrees": (
                np.pi / 180.0,
                Hint("Remove degrees from {units} if the column is in radians.", units=...),
            ),
            "with the wrong sign": (-1.0, ""),
        }
        guess, hint = next(
            ((text, hint) for text, (factor, hint) in guesses.items() if 0.8 < self.value / factor < 1.25),
            (f"in another unit, {self.value:.3g} times too large", ""),
        )
        if (column == np.rint(column)).all() and abs(counts) > 100.0:
            guess = f"in encoder counts, about {counts:.4g} per revolution"
            hint = Hint("Pass the exact resolution with {units}.", units={self.upper: f"{counts:.0f} counts/rev"})
        return DescriptionError(
            f"{self.sentence()}: it seems to be {guess}.",
            expected=f"{self.upper} and {self.lower} in consistent units: radians or metres, and seconds",
            source=record.source,
            hint=hint,
        )


def unit_ratios(record: Record) -> Iterator[_Ratio]:
    """Yield the columns whose change is not about the integral of their rate: q and v, v and a."""
    for upper, lower in (("q", "v"), ("v", "a")):
        if upper not in record or lower not in record:
            continue
        names = record.names(upper)
        x, rate, step = record[upper], record.block(lower, names), np.diff(record.t)
        without_gap = step < GAP_RATIO * np.median(step)
        for k, name in enumerate(names):
            change = np.diff(x[:, k])[without_gap]
            integral = (0.5 * (rate[1:, k] + rate[:-1, k]) * step)[without_gap]
            total = np.cumsum(change), np.cumsum(integral)
            size = float(total[1] @ total[1])
            ratio = float(total[0] @ total[1]) / size if size else 1.0
            if not 0.5 < ratio < 2.0:
                yield _Ratio(upper, lower, name, ratio)


def with_detected_units(record: Record, system: System | None) -> Record:
    """Return the record with units of columns that have none, detected with a warning."""
    units: dict[str, tuple[str, str]] = {}  # title -> unit and evidence
    for ratio in unit_ratios(record.in_si()):
        unit = ratio.unit()
        declared_ones = {f"{ratio.upper}_{ratio.name}", f"{ratio.lower}_{ratio.name}"} & set(record.units)
        if unit is not None and not declared_ones:
            units[unit[0]] = unit[1], ratio.sentence()
    if system is not None:
        for title, by_limit, evidence in _units_by_limits(record, system):
            units.setdefault(title, (by_limit, evidence))
    return _with_units(record, units)


def _units_by_limits(record: Record, system: System) -> Iterator[tuple[str, str, str]]:
    """Yield title, unit and evidence of columns that exceed the system's limits in SI units but not in another unit.

    Raise if all columns of a quantity with limits exceed these far, in any unit.
    """
    limits = system.limits
    ranges = np.maximum(np.abs(limits.lower), np.abs(limits.upper))
    tables = {
        "q": (np.where(limits.upper > limits.lower, ranges, np.inf), system.coordinate_units, "rad", "deg"),
        "tau": (limits.torque, system.actuator_units, "rad", "mNm"),
    }
    for kind, (limit, unit_of, base, unit) in tables.items():
        if kind not in record:
            continue
        names, size = record.names(kind), np.abs(record[kind]).max(axis=0)
        judged = np.isfinite(limit) & (limit > 0.0) & np.array([each == base for each in unit_of])
        free = np.array([title not in record.units for title in titles(kind, names)])
        excess = np.where(judged, size / np.where(judged, limit, 1.0), 0.0)
        if not (judged & free).any() or not (excess[judged & free] > MAX_EXCESS).any():
            continue
        k = int(np.argmax(np.where(free, excess, 0.0)))
        si_unit = FORCES[base] if kind == "tau" else base
        evidence = f"{kind}_{names[k]} reaches {size[k]:.4g}, and its limit is {limit[k]:.4g} {si_unit}"
        if (excess[judged & free] * in_si(unit)[1] < MAX_EXCESS_IN_OTHER_UNIT).all():
            like = [name for name, joint_unit in zip(names, unit_of, strict=True) if joint_unit == base]
            yield from ((title, unit, evidence) for title in titles(kind, like))
        else:
            counts = kind == "q" and (record[kind] == np.rint(record[kind])).all()
            guess = {"q": "<number> counts/rev"} if counts else {kind: "<unit>"}
            raise DescriptionError(
                f"{evidence}: the unit is neither {si_unit} nor {unit}"
                + (". All positions are integers, as encoder counts are." if counts else "."),
                expected=f"{kind} within the limits of the robot",
                source=record.source,
                hint=Hint("Pass {units} if the column is in another unit.", units=guess),
            )
