"""Many motions of one system on one clock: the arrays of a record, with an axis of members in front.

    records["q"]             the block of a quantity, (members, rows, n); records["q_elbow"] one column, (members, rows)
    records[3]               a Record; records[10:20], records[mask], records[[1, 5]] are Records again
    records.finished         which members came to the end with finite numbers; `lost` and `lasted` say which did not

Names, units and what is said about them are those of `Record`. There are no events, and no motion between the rows:
whoever needs these follows one motion with `simulate`.
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

LOST = "It became infinite or not a number"


@dataclass(frozen=True, eq=False)
class Records(Titled):
    """Blocks (members, rows, n), or (members, rows) of what belongs to no joint, over one time `t`.

    `cost` is what each member cost in all, if that was asked for.
    """

    t: np.ndarray = field(repr=False)  # (rows,), seconds
    blocks: Mapping[str, np.ndarray] = field(repr=False)
    titles: Mapping[str, tuple[str, ...]] = field(repr=False)  # names of a block's columns; none: it stands alone
    units: Mapping[str, str] = field(default_factory=dict, repr=False)  # by title, where not those of the quantity
    about: dict[str, Any] = field(default_factory=dict)
    cost: np.ndarray | None = field(default=None, repr=False)  # (members,)
    source: str = ""
    dynamics: Dynamics | None = field(default=None, repr=False)  # of what moved; does not travel

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
        who = f" of '{self.about['robot']}'" if "robot" in self.about else ""
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self.t)} rows" if len(self.t) else "no rows"
        lost = len(self.lost)
        return f"<Records{who}: {len(self)} members, {span}{f', {lost} lost' if lost else ''}>"

    def __contains__(self, key: str) -> bool:
        return key == "t" or key in self.blocks or self._column(key) is not None

    @overload
    def __getitem__(self, key: str) -> np.ndarray: ...

    @overload
    def __getitem__(self, key: int) -> Record: ...

    @overload
    def __getitem__(self, key: slice | np.ndarray | Sequence[int] | Sequence[bool]) -> Records: ...

    def __getitem__(self, key):
        """A block or a column by name; a member by number; some members by a slice, a mask or numbers."""
        if isinstance(key, str):
            return self._named(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return self._member(int(key))
        if not isinstance(key, slice):
            key = np.asarray(key)
            key = key.astype(int) if key.size == 0 else key
            right = key.ndim == 1 and (key.dtype.kind in "iu" or (key.dtype == bool and len(key) == len(self)))
            if not right or (key.dtype != bool and ((key >= len(self)) | (key < -len(self))).any()):
                raise ArgumentError(
                    f"members are chosen by {key!r}.",
                    expected=f"numbers below {len(self)}, a slice, or a mask of {len(self)} members",
                )
        return self._some(key)

    def __iter__(self) -> Iterator[Record]:
        return (self._member(k) for k in range(len(self)))

    def _named(self, key: str) -> np.ndarray:
        if key == "t":
            return self.t
        if key in self.blocks:
            return self.blocks[key]
        place = self._column(key)
        if place is None:
            known = dict.fromkeys((*self.quantities, *self.columns))
            raise ArgumentError(unknown_name("column", key, known, "the records"))
        return self.blocks[place[0]][..., place[1]]

    def _column(self, title: str) -> tuple[str, int] | None:
        quantity, name = parse(title)
        names = self.titles.get(quantity, ())
        return (quantity, names.index(name)) if name in names else None

    def _member(self, k: int) -> Record:
        if not -len(self) <= k < len(self):
            raise ArgumentError(f"the records have no member {k}.", expected=f"0 to {len(self) - 1}")
        k %= len(self)
        lasted = self.lasted[k]
        ended = {"status": "FINISHED", "message": "The run reached its end."}
        if not self.finished[k]:
            since = "at the start" if np.isnan(lasted) else f"after t = {lasted:.9g} s"
            ended = {"status": "LOST", "message": f"{LOST} {since}."}
        blocks = {name: block[k] for name, block in self.blocks.items()}
        about = {**self.about, "member": k, **ended}
        names = {name: own for name, own in self.titles.items() if own}
        return Record.of(
            self.t, blocks, names, units=dict(self.units), about=about, source=self.source, dynamics=self.dynamics
        )

    def _some(self, key: slice | np.ndarray) -> Records:
        blocks = {name: block[key] for name, block in self.blocks.items()}
        return replace(self, blocks=blocks, cost=None if self.cost is None else self.cost[key])

    def part(self, rows: slice) -> Records:
        """Some rows of all members, by a slice."""
        return replace(self, t=self.t[rows], blocks={name: block[:, rows] for name, block in self.blocks.items()})

    def names(self, quantity: str) -> tuple[str, ...]:
        """The names of a block's columns."""
        if not self.titles.get(quantity):
            raise ArgumentError(unknown_name("block", quantity, [q for q in self.titles if self.titles[q]], "records"))
        return self.titles[quantity]

    @property
    def columns(self) -> tuple[str, ...]:
        """The titles that a member's record has, t first."""
        return (
            "t",
            *(title for q, names in self.titles.items() for title in ([f"{q}_{n}" for n in names] if names else [q])),
        )

    @property
    def quantities(self) -> tuple[str, ...]:
        return ("t", *self.blocks)

    # ---- who came to the end

    @property
    def finite(self) -> np.ndarray:
        """Whether the state of a member is finite, (members, rows)."""
        found = np.ones((len(self), len(self.t)), bool)
        for name in ("q", "v"):
            if name in self.blocks:
                found &= np.isfinite(self.blocks[name]).all(axis=-1)
        return found

    @property
    def finished(self) -> np.ndarray:
        """Which members came to the end with finite numbers."""
        return np.asarray(self.finite.all(axis=1))

    @property
    def lost(self) -> np.ndarray:
        """The numbers of those that did not: a start that is not finite, or a motion that blew up."""
        return np.flatnonzero(~self.finished)

    @property
    def lasted(self) -> np.ndarray:
        """The time of every member's last finite row; NaN if there is none."""
        finite = self.finite
        rows = np.where(finite.all(axis=1), len(self.t), np.argmin(finite, axis=1))
        return np.where(rows > 0, self.t[np.maximum(rows, 1) - 1] if len(self.t) else np.nan, np.nan)

    # ---- other forms

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset over `member` and `time`: one variable per quantity, with an axis of names, and `total_cost`.

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
        """How all members spread over time: the median, the middle half and the middle nine tenths of every column.

            records.plot("spread.png")
            records.plot(quantities="q", members=[0, 7, 12])

        With `members`, a line for each of these instead. Panels, figure and files are those of `Record.plot`; members
        that were lost count as long as their numbers are finite.
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
        overwrite: bool = False,
    ) -> FilePath:
        """One file that plays some members over each other: records.to_html("three.html", [0, 7, 12])."""
        chosen = [self[int(k)] for k in members]
        return show_module("stage.output").write_record_page(chosen, path, robot, walls, title, overwrite)

    def write(self, path: str | FilePath, *, overwrite: bool = False) -> None:
        """To .npz, or to .zarr where the package zarr is installed."""
        from appell.motion.record_files import write_records

        write_records(self, path, overwrite)

    @staticmethod
    def read(path: str | FilePath) -> Records:
        """From .npz or .zarr."""
        from appell.motion.record_files import read_records

        return read_records(FilePath(path))


def _check(records: Records) -> None:
    """Raise for the first thing that keeps these blocks from being records."""
    t, blocks = records.t, records.blocks
    if t.ndim != 1 or not np.isfinite(t).all() or (np.diff(t) < 0.0).any():
        raise DescriptionError("the time of the records does not grow.", source=records.source)
    if not blocks:
        raise DescriptionError("the records have no block.", source=records.source)
    members = next(iter(blocks.values())).shape[:1]
    for name, block in blocks.items():
        names = records.titles[name]
        wanted = (*members, len(t), *((len(names),) if names else ()))
        if block.dtype.kind != "f" or block.shape != wanted:
            raise DescriptionError(
                f"block '{name}' has shape {block.shape} and holds {block.dtype}.",
                expected=f"{wanted}: members, rows, columns; real numbers",
                source=records.source,
            )
    if records.cost is not None and records.cost.shape != members:
        raise DescriptionError(f"the cost has shape {records.cost.shape}.", expected=f"{members}, one a member")
