"""Logs: what a robot recorded of itself, by column names, checked before anything is computed from it.

    t, q_<joint>, tau_<joint>          needed
    v_<joint>, a_<joint>               used if all of them are there; else differentiated from q

in CSV, NPZ (one array a column, or t, q, v, a, tau whole) or Parquet. `columns` maps our names to a file's own,
`units` says what they are in: {"q": "deg"}. Units that do not fit are caught by comparing the change of q with
the integral of v."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from appell.errors import ArgumentError, DescriptionError, unknown_name
from appell.identify.model import Model, as_model
from appell.identify.samples import rows_text

KINDS = ("q", "v", "a", "tau")
UNITS = {
    "rad": 1.0,
    "deg": np.pi / 180.0,
    "m": 1.0,
    "mm": 1e-3,
    "Nm": 1.0,
    "N": 1.0,
    "mNm": 1e-3,
    "kNm": 1e3,
    "s": 1.0,
    "ms": 1e-3,
}


@dataclass(frozen=True, eq=False)
class Log:
    """Times and (samples, joints) arrays in SI units; v and a are None if they were not recorded."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    v: np.ndarray | None = None
    a: np.ndarray | None = None
    names: tuple[str, ...] = ()
    source: str = ""
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    @property
    def period(self) -> float:
        return float(np.median(np.diff(self.t)))

    def part(self, rows: slice) -> Log:
        v, a = (None if x is None else x[rows] for x in (self.v, self.a))
        return replace(self, t=self.t[rows], q=self.q[rows], tau=self.tau[rows], v=v, a=a)

    def write(self, path: str | Path) -> None:
        """To CSV or NPZ, by the ending; a file that is there is not written over."""
        path = Path(path)
        if path.exists():
            raise ArgumentError(f"{path} is there already; a log is not written over.", hint="another name")
        arrays = {key: x for key in KINDS if (x := getattr(self, key)) is not None}
        heading = ["t", *(f"{key}_{name}" for key in arrays for name in self.names)]
        table = np.column_stack([self.t, *arrays.values()])
        if path.suffix == ".npz":
            np.savez_compressed(path, **dict(zip(heading, table.T, strict=True)))
        elif path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                file.write(",".join(heading) + "\n")
                np.savetxt(file, table, fmt="%.12g", delimiter=",")
        else:
            raise ArgumentError(f"{path} does not end in .csv or .npz.")


def read_log(
    path: str | Path, robot, *, columns: Mapping[str, str] | None = None, units: Mapping[str, str] | None = None
) -> Log:
    """The log of a robot in a file; see `make_log` for the checks."""
    table = _read(Path(path))
    return make_log(table, robot, columns=columns, units=units, source=str(path))


def make_log(
    table: Mapping[str, np.ndarray],
    robot,
    *,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    source: str = "",
) -> Log:
    """A log from columns by name: sorted in time, units converted and believable, gaps and outliers remarked."""
    model = as_model(robot)
    if not model.is_flat:
        raise ArgumentError(f"'{model.name}' has joints that are not of one axis; logs are read for those that are.")
    own, names = dict(columns or {}), model.velocity_names
    whole = _whole(table, names)
    arrays: dict[str, np.ndarray] = {}
    for kind in KINDS:
        wanted = [f"{kind}_{name}" for name in names]
        found = [own.get(title, title) for title in wanted]
        missing = [title for title in found if title not in whole]
        if not missing:
            arrays[kind] = np.column_stack([whole[title] for title in found]).astype(float)
        elif kind in ("q", "tau") or len(missing) < len(found):
            raise DescriptionError(
                unknown_name("column", missing[0], whole, "The log"),
                expected=f"columns {', '.join(wanted)}" + ("" if kind in ("q", "tau") else ", or none of them"),
                source=source,
                hint=f"columns={{'{wanted[found.index(missing[0])]}': '<its name in the file>'}}",
            )
    title = own.get("t", "t" if "t" in whole else "time")
    if title not in whole:
        raise DescriptionError(
            unknown_name("column", title, whole, "The log"), expected="a column t of seconds", source=source
        )
    t = np.asarray(whole[title], float)
    arrays = {"t": t[:, None]} | arrays
    for kind, unit in (units or {}).items():
        if unit not in UNITS or kind not in ("t", *KINDS):
            raise ArgumentError(
                f"column '{kind}' in '{unit}' is not understood.", expected=f"t, q, v, a or tau in {', '.join(UNITS)}"
            )
        if kind in arrays:
            arrays[kind] = arrays[kind] * UNITS[unit]
    return _checked(model, arrays, source)


def _checked(model: Model, arrays: dict[str, np.ndarray], source: str) -> Log:
    t = arrays.pop("t")[:, 0]
    remarks = []
    if len(t) < 20:
        raise DescriptionError(
            f"the log has {len(t)} rows.", expected="at least 20, and better thousands", source=source
        )
    if not np.all(np.isfinite(t)):
        rows = rows_text(np.flatnonzero(~np.isfinite(t)))
        raise DescriptionError(f"column t is not finite in {rows}.", source=source, hint="leave those rows out")
    if not np.all(np.diff(t) > 0.0):
        bad = np.flatnonzero(np.diff(t) <= 0.0) + 1
        raise DescriptionError(
            f"column t does not grow at {rows_text(bad)} (t = {t[bad[0] - 1]:g}, then {t[bad[0]]:g}).",
            expected="rows sorted by time, each instant once",
            source=source,
            hint="sort the rows, and leave repeated ones out",
        )
    wrong = {kind: np.flatnonzero(~np.isfinite(x).all(axis=1)) for kind, x in arrays.items()}
    for kind, lost in wrong.items():
        if len(lost):
            joint = model.velocity_names[int(np.argmax(~np.isfinite(arrays[kind][lost[0]])))]
            remarks.append(
                f"{kind}_{joint}: no number in {len(lost)} rows ({rows_text(lost)}); these rows are left out"
            )
    keep = np.setdiff1d(np.arange(len(t)), np.concatenate(list(wrong.values())))
    if len(keep) < 20:
        raise DescriptionError(f"only {len(keep)} rows of the log are whole. {remarks[0]}", source=source)
    t, arrays = t[keep], {kind: x[keep] for kind, x in arrays.items()}
    gaps = np.flatnonzero(np.diff(t) > 1.5 * np.median(np.diff(t)))
    if len(gaps):
        longest = float(np.diff(t)[gaps].max())
        remarks.append(
            f"t: {len(gaps)} gaps, the longest {longest:.4g} s, after {rows_text(gaps)}; each side is used by itself"
        )
    remarks += _outliers(model, arrays)
    log = Log(t=t, names=model.velocity_names, source=source, remarks=tuple(remarks), **arrays)
    _check_units(log)
    return log


def _outliers(model: Model, arrays: dict[str, np.ndarray]) -> list[str]:
    """Single rows far from the middle of their neighbours, in units of how far rows commonly are."""
    found = []
    for kind, x in arrays.items():
        if len(x) < 5:
            continue
        middle = np.median(np.stack([x[k : len(x) - 4 + k] for k in range(5)]), axis=0)
        away = np.abs(x[2:-2] - middle)
        common = np.percentile(away, 99.0, axis=0) + 1e-3 * np.std(x, axis=0)
        for k, name in enumerate(model.velocity_names):
            rows = np.flatnonzero(away[:, k] > 20.0 * common[k]) + 2
            if len(rows):
                found.append(
                    f"{kind}_{name}: {len(rows)} outliers, {rows_text(rows)}; identify.Robust is not misled by them"
                )
    return found


def _check_units(log: Log) -> None:
    """The change of q must be the integral of v, and that of v the integral of a."""
    for upper, lower in (("q", "v"), ("v", "a")):
        x, rate = getattr(log, upper), getattr(log, lower)
        if x is None or rate is None:
            continue
        step = np.diff(log.t)
        near = step < 1.5 * np.median(step)
        for k, name in enumerate(log.names):
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
                source=log.source,
                hint=f"units={{'{upper}': 'deg'}} if the column is in degrees",
            )


def _whole(table: Mapping[str, np.ndarray], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The table with whole arrays (q, v, a, tau of one column a joint) taken apart."""
    found: dict[str, np.ndarray] = {}
    for title, values in table.items():
        values = np.asarray(values)
        if values.ndim == 2 and values.shape[1] == len(names):
            found |= {f"{title}_{name}": values[:, k] for k, name in enumerate(names)}
        elif values.ndim == 1:
            found[title] = values
    return found


def _read(path: Path) -> dict[str, np.ndarray]:
    source = str(path)
    if not path.is_file():
        raise DescriptionError(f"there is no log {path}.", expected="a .csv, .npz or .parquet file")
    match path.suffix.lower():
        case ".csv":
            return _read_csv(path)
        case ".npz":
            try:
                with np.load(path, allow_pickle=False) as archive:
                    return {key: archive[key] for key in archive.files}
            except (OSError, ValueError, BadZipFile) as error:
                raise DescriptionError(f"the log cannot be read: {error}.", source=source) from None
        case ".parquet":
            try:
                from pyarrow import parquet
            except ImportError:
                raise ArgumentError(
                    "Parquet logs need pyarrow, which is not installed.", hint="pip install pyarrow"
                ) from None
            try:
                table = parquet.read_table(path)
            except (OSError, ValueError) as error:
                raise DescriptionError(f"the log cannot be read: {error}.", source=source) from None
            return {name: table[name].to_numpy() for name in table.column_names}
    raise DescriptionError(f"'{path.name}' is no log that can be read.", expected="a .csv, .npz or .parquet file")


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DescriptionError(f"the log cannot be read: {error}.", source=str(path)) from None
    if not rows:
        raise DescriptionError(
            "the log is empty.", source=str(path), expected="a first line with the names of the columns"
        )
    heading = [title.strip() for title in rows[0]]
    values = np.empty((len(rows) - 1, len(heading)))
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(heading):
            raise DescriptionError(
                f"the row has {len(row)} cells, the heading {len(heading)}.", source=f"{path}, line {number}"
            )
        for k, cell in enumerate(row):
            try:
                values[number - 2, k] = float(cell) if cell.strip() else np.nan
            except ValueError:
                problem = f"column '{heading[k]}' holds {cell!r}, which is no number."
                raise DescriptionError(problem, source=f"{path}, line {number}") from None
    return dict(zip(heading, values.T, strict=True))
