"""Maps of the workspace: where all legs reach, and how near to singular the actuator Jacobian is there.

Calls of the compiled `survey` cover the grid block by block. The condition number of J grows without bound both where
a leg is stretched (J infinite) and where the actuators lose hold of the platform (J singular). It compares metres with
radians if the coordinates do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.display.bar import Bar
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, unknown_name
from appell.model.mechanism import Mechanism
from appell.motion.pictures.look import label, new_figure, styled

BLOCK = 10_000  # poses a call


@dataclass(frozen=True)
class Workspace:
    """A grid over some coordinates, the others held; arrays have one axis for each, in the order of `names`."""

    mechanism: Mechanism
    names: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    margin: np.ndarray  # of the leg that reaches least far, negative out of reach
    condition: np.ndarray  # of the actuator Jacobian, infinite out of reach

    @property
    def reachable(self) -> np.ndarray:
        return np.isfinite(self.condition)

    @property
    def share(self) -> float:
        """Which part of the grid can be reached."""
        return float(self.reachable.mean())

    def plot(self, figure: Any = None, highest: float = 1e3) -> Any:
        """The condition number in colours over two coordinates; blank out of reach, one colour above `highest`."""
        if len(self.names) != 2:
            raise ArgumentError(
                f"a map over {', '.join(self.names)} cannot be drawn.", expected="a grid of two coordinates"
            )
        with styled():
            from matplotlib.colors import LogNorm

            figure = figure or new_figure(7.0, 5.5)
            axes = figure.add_subplot()
        units = dict(zip(self.mechanism.coordinate_names, self.mechanism.coordinate_units, strict=True))
        shown = np.ma.masked_invalid(np.where(self.reachable, self.condition, np.nan))
        image = axes.pcolormesh(*self.values, shown.T, norm=LogNorm(1.0, highest), cmap="viridis_r", shading="nearest")
        if self.reachable.any() and not self.reachable.all():
            axes.contour(*self.values, self.reachable.T.astype(float), levels=[0.5], colors="black", linewidths=1)
        figure.colorbar(image, ax=axes, label="condition number of the actuator Jacobian", extend="max")
        axes.set(
            xlabel=label(self.names[0], units[self.names[0]]),
            ylabel=label(self.names[1], units[self.names[1]]),
            title=f"{self.mechanism.name}: {self.share:.0%} of the grid is in reach",
        )
        return figure


def workspace(dyn: Dynamics, axes: Mapping[str, Any], at=None) -> Workspace:
    """The map over `axes`, name -> values, with the other coordinates as in `at`, home if None."""
    mechanism = dyn.system
    if not isinstance(mechanism, Mechanism):
        raise ModelError(
            f"{mechanism.owner} is a tree: every q within its limits is in reach, and its drives hold it everywhere.",
            expected="a mechanism, such as 'delta'",
        )
    known = mechanism.coordinates
    if not axes:
        raise ArgumentError("a map needs the name of a coordinate.", expected=", ".join(known))
    values = {}
    for name, given in axes.items():
        if name not in known:
            raise ArgumentError(unknown_name("coordinate", name, known, mechanism.owner))
        values[name] = np.asarray(given, float)
        if values[name].ndim != 1 or not values[name].size or not np.isfinite(values[name]).all():
            raise ArgumentError(
                f"the values of '{name}' have shape {values[name].shape}.", expected="finite numbers in one row"
            )
    grids = np.meshgrid(*values.values(), indexing="ij")
    q = np.empty((*grids[0].shape, mechanism.nq))
    q[...] = mechanism.start if at is None else at
    for name, grid in zip(values, grids, strict=True):
        q[..., known.index(name)] = grid
    poses = q.reshape(-1, mechanism.nq)
    margin, condition = np.full((2, len(poses)), np.inf)
    with Bar("workspace", len(poses), "poses") as bar:
        for begin in range(0, len(poses), BLOCK):
            block = slice(begin, begin + BLOCK)
            margin[block], condition[block] = _surveyed(dyn, bool(mechanism.reaches), poses[block])
            bar(min(begin + BLOCK, len(poses)))
    shape = grids[0].shape
    return Workspace(mechanism, tuple(values), tuple(values.values()), margin.reshape(shape), condition.reshape(shape))


def _surveyed(dyn: Dynamics, reaches: bool, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The margin of reach and the condition number of poses; infinite where there is none."""
    with np.errstate(invalid="ignore"):
        *margins, J = dyn.survey(q) if reaches else (dyn.actuator_jacobian(q),)
    margin = margins[0].min(axis=-1) if margins else np.full(len(q), np.inf)
    inside = np.isfinite(J).all(axis=(-2, -1)) & (margin >= 0.0)
    condition = np.full(len(q), np.inf)
    condition[inside] = np.linalg.cond(J[inside])
    return margin, condition
