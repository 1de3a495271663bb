"""Many motions of one system at common times: the arrays of a record with a first axis of members.

    records["q"]             the block of a quantity, (members, rows, n); records["q_elbow"] one column, (members, rows)
    records[3]               a Record; records[10:20], records[mask], records[[1, 5]] are Records
    records.finished         which members reached the end with finite numbers; `lost` and `lasted` describe the others

Names, units and metadata are those of `Record`. There are no events, and no motion between the rows; use `simulate` for
these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from appell.errors import ArgumentError, DescriptionError, unknown_name
from appell.motion.record import Record, dataset, plain_about, show_module
from appell.motion.titles import Titled, parse

if TYPE_CHECKING:
    import xarray

    from appell.dynamics import Dynamics
    from appell.model.system import System

DIVERGED = "The motion became infinite or NaN"  # start of the message of a member


@dataclass(frozen=True, eq=False)
class Records(Titled):
    """Records of many motions.

    Parameters
    ----------
    t
        Times, (rows,), s.
    blocks
        Arrays by quantity: (members, rows, n), or (members, rows) for a quantity without names.
    titles
        Names of the columns of each block; empty for a quantity without names.
    units
        Units by title, if different from the default of the quantity.
    about
        Metadata as plain data.
    cost
        Total cost of each member, (members,), if there is one.
    source
        Name of the file that the records were read from.
    dynamics
        Dynamics of the system, for plots and pages; not stored in files and pickles.

    Examples
    --------
    >>> import appell as ap
    >>> records = ap.rollout(ap.load("pendulum"), q0=[[0.1], [0.2]], steps=10, dt=1e-2)
    >>> records["q"].shape, records["q_hinge"].shape
    ((2, 11, 1), (2, 11))
    >>> records[0].status
    'FINISHED'
    """

    t: np.ndarray = field(repr=False)
    blocks: Mapping[str, np.ndarray] = field(repr=False)
    titles: Mapping[str, tuple[str, ...]] = field(repr=False)
    units: Mapping[str, str] = field(default_factory=dict, repr=False)
    about: dict[str, Any] = field(default_factory=dict)
    cost: np.ndarray | None = field(default=None, repr=False)
    source: str = ""
    dynamics: Dynamics | None = field(default=None, repr=False)

    def __post_init__(self):
        set_field = object.__setattr__
        set_field(self, "t", np.asarray(self.t, float))
        set_field(self, "blocks", {name: np.asarray(block) for name, block in self.blocks.items()})
        set_field(self, "titles", {name: tuple(self.titles.get(name, ())) for name in self.blocks})
        set_field(self, "about", plain_about(self.about))
        set_field(self, "cost", None if self.cost is None else np.asarray(self.cost))
        _check(self)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"dynamics": None}

    # ---- blocks

    def __len__(self) -> int:
        return len(next(iter(self.blocks.values())))

    def __repr__(self) -> str:
        owner = f" of '{self.about['robot']}'" if "robot" in self.about else ""
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self.t)} rows" if len(self.t) else "no rows"
        diverged = len(self.lost)
        return f"<Records{owner}: {len(self)} members, {span}{f', {diverged} diverged' if diverged else ''}>"

    def __contains__(self, key: str) -> bool:
        return key == "t" or key in self.blocks or self._column(key) is not None

    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...

    @overload
    def __getitem__(self, key: int) -> Record: ...

    @overload
    def __getitem__(self, key: slice | np.ndarray | Sequence[int] | Sequence[bool]) -> Records: ...

    def __getitem__(self, key):
        """Return a block or column by name, a member by its index, or several members by a slice, mask or indices."""
        if isinstance(key, str):
            return self._named(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return self._member(int(key))
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key.astype(int) if key.size == 0 else key
            valid = key.ndim == 1 and (key.dtype.kind in "iu" or (key.dtype == bool and len(key) == len(self)))
            if not valid or (key.dtype != bool and ((key >= len(self)) | (key < -len(self))).any()):
                raise ArgumentError(
                    f"the index of members is {key!r}.",
                    expected=f"integers below {len(self)}, a slice, or a mask of {len(self)} members",
                )
        return self._subset(key)

    def __iter__(self) -> Iterator[Record]:
        return (self._member(k) for k in range(len(self)))

    def _named(self, key: str) -> np.ndarray:
        if key == "t":
            return self.t
        if key in self.blocks:
            return self.blocks[key]
        column = self._column(key)
        if column is None:
            keys = dict.fromkeys((*self.quantities, *self.columns))
            raise ArgumentError(unknown_name("column", key, keys, "the records"))
        return self.blocks[column[0]][..., column[1]]

    def _column(self, title: str) -> tuple[str, int] | None:
        quantity, name = parse(title)
        names = self.titles.get(quantity, ())
        return (quantity, names.index(name)) if name in names else None

    def _member(self, k: int) -> Record:
        if not -len(self) <= k < len(self):
            raise ArgumentError(f"the records have no member {k}.", expected=f"0 to {len(self) - 1}")
        k %= len(self)
        lasted = self.lasted[k]
        outcome = {"status": "FINISHED", "message": "The run reached its end."}
        if not self.finished[k]:
            since = "at the start" if np.isnan(lasted) else f"after t = {lasted:.9g} s"
            outcome = {"status": "LOST", "message": f"{DIVERGED} {since}."}
        blocks = {name: block[k] for name, block in self.blocks.items()}
        about = {**self.about, "member": k, **outcome}
        names = {quantity: columns for quantity, columns in self.titles.items() if columns}
        return Record.of(
            self.t, blocks, names, units=dict(self.units), about=about, source=self.source, dynamics=self.dynamics
        )

    def _subset(self, key: slice | np.ndarray) -> Records:
        blocks = {name: block[key] for name, block in self.blocks.items()}
        return replace(self, blocks=blocks, cost=None if self.cost is None else self.cost[key])

    def part(self, rows: slice) -> Records:
        """Return some rows of all members, by a slice."""
        return replace(self, t=self.t[rows], blocks={name: block[:, rows] for name, block in self.blocks.items()})

    def names(self, quantity: str) -> tuple[str, ...]:
        """Return the names of a block's columns."""
        if not self.titles.get(quantity):
            raise ArgumentError(unknown_name("block", quantity, [q for q in self.titles if self.titles[q]], "records"))
        return self.titles[quantity]

    @property
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns of a member's record, t first."""
        return (
            "t",
            *(title for q, names in self.titles.items() for title in ([f"{q}_{n}" for n in names] if names else [q])),
        )

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities of the columns, t first."""
        return ("t", *self.blocks)

    # ---- members that diverged

    @property
    def finite(self) -> np.ndarray:
        """Whether the state of a member is finite, (members, rows)."""
        finite = np.ones((len(self), len(self.t)), bool)
        for name in ("q", "v"):
            if name in self.blocks:
                finite &= np.isfinite(self.blocks[name]).all(axis=-1)
        return finite

    @property
    def finished(self) -> np.ndarray:
        """Whether a member reached the end with finite numbers, (members,)."""
        return np.asarray(self.finite.all(axis=1))

    @property
    def lost(self) -> np.ndarray:
        """Indices of the members that did not: their start is not finite, or their motion diverged."""
        return np.flatnonzero(~self.finished)

    @property
    def lasted(self) -> np.ndarray:
        """Time of each member's last finite row, (members,), s; NaN if there is none."""
        finite = self.finite
        rows = np.where(finite.all(axis=1), len(self.t), np.argmin(finite, axis=1))
        return np.where(rows > 0, self.t[np.maximum(rows, 1) - 1] if len(self.t) else np.nan, np.nan)

    # ---- conversions

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over `member` and `time` with one variable per quantity, and `total_cost`.

        records.to_xarray()["q"].sel(coordinate="elbow").quantile([0.05, 0.95], "member")
        """
        data = dataset(("member", "time"), self.t, self.blocks, self.titles, self.about)
        return data if self.cost is None else data.assign(total_cost=("member", self.cost))

    def plot(
        self,
        path: str | FilePath | None = None,
        quantities: str | Sequence[str] = (),
        *,
        members: Sequence[int] | None = None,
        figure: Any = None,
        overwrite: bool = False,
    ) -> Any:
        """Plot the spread of all members over time: median, 50 % and 90 % intervals of every column.

            records.plot("spread.png")
            records.plot(quantities="q", members=[0, 7, 12])

        A member that diverges is included as long as its numbers are finite.

        Parameters
        ----------
        members
            Members to draw as lines instead.
        path, quantities, figure, overwrite
            As in `Record.plot`.
        """
        plot_records = show_module("plot.plot").plot_records
        make = partial(plot_records, self, quantities, members, figure)
        return show_module("plot.style").draw_and_save(make, path, overwrite)

    def to_html(
        self,
        path: str | FilePath,
        members: Sequence[int] = (0,),
        *,
        robot: System | Dynamics | None = None,
        walls: Iterable[Any] | None = None,
        title: str = "",
        collisions: bool = False,
        overwrite: bool = False,
    ) -> FilePath:
        """Write one HTML file that plays some members, overlaid: records.to_html("three.html", [0, 7, 12]).

        The other parameters are those of `Record.to_html`.
        """
        chosen = [self[int(k)] for k in members]
        return show_module("stage.output").write_record_page(chosen, path, robot, walls, title, collisions, overwrite)

    def write(self, path: str | FilePath, *, overwrite: bool = False) -> None:
        """Write the records to a .npz file, or to a .zarr store if the package zarr is installed."""
        from appell.motion.record_files import write_records

        write_records(self, path, overwrite)

    @staticmethod
    def read(path: str | FilePath) -> Records:
        """Read records from a .npz file or a .zarr store."""
        from appell.motion.record_files import read_records

        return read_records(FilePath(path))


def _check(records: Records) -> None:
    """Raise `DescriptionError` for the first rule of records that is violated."""
    t, blocks = records.t, records.blocks
    if t.ndim != 1 or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
        raise DescriptionError("the times of the records decrease or are not finite.", source=records.source)
    if not blocks:
        raise DescriptionError("the records have no block.", source=records.source)
    members = next(iter(blocks.values())).shape[:1]
    for name, block in blocks.items():
        names = records.titles[name]
        shape = (*members, len(t), *((len(names),) if names else ()))
        if block.dtype.kind != "f" or block.shape != shape:
            raise DescriptionError(
                f"block '{name}' has shape {block.shape} and type {block.dtype}.",
                expected=f"real numbers of shape {shape}: members, rows, columns",
                source=records.source,
            )
    if records.cost is not None and records.cost.shape != members:
        raise DescriptionError(f"the cost has shape {records.cost.shape}.", expected=f"{members}, one per member")
