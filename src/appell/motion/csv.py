"""Trajectories as text: a heading t, q_<joint>..., v_<joint>..., a_<joint>..., then a line a sample, in full precision.

Read back, samples with v and a make quintics that meet all three; samples of q alone make a cubic spline at rest at its
ends.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from appell.errors import DescriptionError
from appell.motion.path import Trajectory
from appell.motion.paths.spline import Samples, Spline

LARGEST = 200_000_000  # bytes; a longer file is not a trajectory that anybody wrote


def write_csv(trajectory: Trajectory, path: str | Path, samples: int = 201) -> None:
    """Equally spaced samples of a trajectory, in a file."""
    t = trajectory.times(samples)
    write_columns(path, trajectory.names, t, dict(zip("qva", trajectory(t), strict=True)))


def write_columns(path: str | Path, names: tuple[str, ...], t: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    """Arrays (samples, n) by the letter of their heading."""
    heading = ["t", *(f"{letter}_{name}" for letter in columns for name in names)]
    table = np.column_stack([t, *columns.values()])
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(heading)
        writer.writerows([repr(float(x)) for x in row] for row in table)


def read_csv(path: str | Path) -> Trajectory:
    """The trajectory of a file with columns t and q_<joint>, and v_<joint>, a_<joint> if they are there."""
    source = str(path)
    try:
        if Path(path).stat().st_size > LARGEST:
            raise DescriptionError(f"the file is larger than {LARGEST // 10**6} MB.", source=source)
        with Path(path).open(newline="", encoding="utf-8") as file:
            heading, *rows = [row for row in csv.reader(file) if row] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DescriptionError(f"the trajectory cannot be read: {error}.", source=source) from None
    names = tuple(title[2:] for title in heading if title.startswith("q_"))
    if not heading or heading[0].strip() != "t" or not names:
        raise DescriptionError(
            "the first line does not name columns t and q_<joint>.", expected="t,q_1,q_2,...", source=source
        )
    wanted = {letter: [f"{letter}_{name}" for name in names] for letter in "qva"}
    whole = all(title in heading for letter in "va" for title in wanted[letter])
    values = np.empty((len(rows), len(heading)))
    for line, row in enumerate(rows, start=2):
        try:
            values[line - 2, : len(row)] = [float(cell) for cell in row]
        except ValueError:
            row = []
        if len(row) != len(heading):
            raise DescriptionError(f"the row does not hold {len(heading)} numbers.", source=f"{source}, line {line}")
    t = values[:, 0]
    columns = {
        letter: values[:, [heading.index(x) for x in titles]]
        for letter, titles in wanted.items()
        if letter == "q" or whole
    }
    if whole:
        return Samples(t, columns["q"], columns["v"], columns["a"], names)
    return Spline(t, columns["q"], names=names)
