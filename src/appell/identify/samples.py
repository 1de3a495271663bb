"""The arrays that a fit is given, checked before any work: every fault is named with its argument, joint and rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError, rows_text
from appell.identify.model import Model

STILL = 1e-9  # a joint whose velocity and acceleration never exceed this does not move


@dataclass(frozen=True, eq=False)
class Samples:
    """q (samples, nq), v, a and tau (samples, nv), all finite."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray

    def __len__(self) -> int:
        return len(self.q)

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.q, self.v, self.a

    def part(self, rows) -> Samples:
        return Samples(self.q[rows], self.v[rows], self.a[rows], self.tau[rows])


def check(model: Model, q, v, a, tau, unknowns: int) -> Samples:
    """The samples of a fit with so many unknowns, or an ArgumentError."""
    sizes = {"q": model.nq, "v": model.nv, "a": model.nv, "tau": model.nv}
    arrays = {}
    for name, value in zip(sizes, (q, v, a, tau), strict=True):
        array = np.ascontiguousarray(value, dtype=float)
        if array.ndim != 2 or array.shape[1] != sizes[name]:
            raise ArgumentError(
                f"{name} has shape {array.shape}.",
                expected=f"(samples, {sizes[name]}) for '{model.name}', one row a sample",
            )
        if len(array) == 0:
            raise ArgumentError(f"{name} has no samples.", expected=f"at least {unknowns} for {unknowns} unknowns")
        arrays[name] = array
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ArgumentError(
            f"the arrays differ in their number of samples: {told}.", expected="one row a sample in each"
        )
    for name, array in arrays.items():
        if not np.all(np.isfinite(array)):
            rows, columns = np.nonzero(~np.isfinite(array))
            raise ArgumentError(
                f"{name} is not finite in {len(set(rows.tolist()))} of {len(array)} rows, {rows_text(rows)}"
                f" (column {column_name(model, name, int(columns[0]))} first).",
                hint="leave those rows out, or take motion.measured(record, ...), which reports and cuts them",
            )
    samples = Samples(**arrays)
    if len(samples) * model.nv < unknowns:
        raise ArgumentError(
            f"{len(samples)} samples of {model.nv} joints give {len(samples) * model.nv} equations"
            f" for {unknowns} unknowns.",
            expected=f"at least {-(-unknowns // model.nv)} samples, and better a hundred times that",
        )
    still = [
        name
        for k, name in enumerate(model.velocity_names)
        if np.abs(samples.v[:, k]).max() < STILL and np.abs(samples.a[:, k]).max() < STILL
    ]
    if still:
        raise ArgumentError(
            f"joint {', '.join(repr(name) for name in still)} never moves in these samples,"
            " so its parameters cannot be found.",
            hint="record a motion of all joints (appell excite plans one), or check the columns of v and a",
        )
    return samples


def column_name(model: Model, array: str, column: int) -> str:
    names = model.velocity_names if array != "q" or model.nq == model.nv else ()
    return f"{column} of {array}" + (f", joint '{names[column]}'" if names else "")
