"""Measured records, checked before anything is computed from them.

    q_<coordinate>, tau_<actuator>               needed; other spellings are matched, see `columns`
    v_<coordinate>, a_<coordinate>               used if all of them are there

Rows without a number are left out; gaps and outliers are remarked. Units that do not fit are caught by comparing the
change of q with the integral of v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from appell.errors import DescriptionError, rows_text, unknown_name
from appell.motion.columns import in_units, matched
from appell.motion.record import Record
from appell.motion.titled import titles

FEWEST = 20  # rows
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
            hint=f"--columns '{kind}=<name>{{}}' with {{}} where its columns are numbered (patterns={{'{kind}': ...}}),"
            f" or --columns {missing[0]}=<name> one by one (columns=...)",
        )
    return not missing


def _whole_rows(record: Record, kinds) -> tuple[Record, list[str]]:
    """The rows in which every column is a number, each instant once."""
    t, remarks = record.t, []
    if len(t) < FEWEST:
        raise DescriptionError(
            f"the record has {len(t)} rows.", expected=f"at least {FEWEST}, and better thousands", source=record.source
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
    if keep.sum() < FEWEST:
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
