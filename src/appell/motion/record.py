"""A motion that happened or was measured: named columns over time, units, what is known about it, and its events.

    t                        seconds, the first column
    <quantity>_<name>        q_<coordinate>, v_<velocity>, a_<velocity>, tau_<actuator>, qd_<coordinate>, ...
    energy, state, ...       what belongs to no joint stands alone

`record["q"]` is the block of a quantity, (rows, n), `record["q_elbow"]` one column. Every chapter gives and takes these
names, and files have them as their heading (`record_files`).

    record = simulate(dyn, until=2.0)
    record.write("fall.csv")
    Record.read("fall.csv").path()
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, DescriptionError, needed_package, rows_text, unknown_name
from appell.files import check_target
from appell.kinematics.assembly import close_loops
from appell.motion.curve import Curve
from appell.motion.event import Event
from appell.motion.paths.spline import Interpolated, Spline
from appell.motion.titles import Titled, in_si, parse, titles

if TYPE_CHECKING:
    import pandas
    import xarray

    from appell.dynamics import Dynamics
    from appell.model.system import System

AXES = {"q": "coordinate", "qd": "coordinate", "v": "velocity", "a": "velocity", "vd": "velocity", "ad": "velocity"}


@dataclass(frozen=True, eq=False)
class Record(Titled):
    """Columns over time; `between` is the motion between its samples, if it is known."""

    columns: tuple[str, ...]
    data: np.ndarray = field(repr=False)  # (rows, columns)
    units: Mapping[str, str] = field(default_factory=dict, repr=False)  # by title, where not those of the quantity
    about: dict[str, Any] = field(default_factory=dict)  # robot, status, message, law, period, ...
    events: tuple[Event, ...] = field(default=(), repr=False)
    between: Curve | None = field(default=None, repr=False)
    source: str = ""
    dynamics: Dynamics | None = field(default=None, repr=False)  # of what moved, and the walls in its way, if they are
    walls: tuple[Any, ...] = field(default=(), repr=False)  # known; neither travels in files or pickles

    def __post_init__(self):
        data = np.ascontiguousarray(self.data, float).view()
        data.setflags(write=False)
        for name, value in (("columns", tuple(self.columns)), ("data", data), ("events", tuple(self.events))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "about", plain_about(self.about))
        _check(self)

    @staticmethod
    def of(
        t, blocks: Mapping[str, Any], names: Sequence[str] | Mapping[str, Sequence[str]] = (), **parts: Any
    ) -> Record:
        """From arrays by quantity: (rows, n) with the names of their columns (the same for all, or by quantity; numbers
        if there are none), or one column each."""
        heading, arrays = ["t"], [np.asarray(t, float)]
        for quantity, block in blocks.items():
            array = np.asarray(block, float)
            own = names.get(quantity, ()) if isinstance(names, Mapping) else names
            if array.ndim == 2:
                if own and len(own) != array.shape[1]:
                    raise ArgumentError(f"{quantity} has {array.shape[1]} columns and {len(own)} names.")
                heading += titles(quantity, own or [f"{k + 1}" for k in range(array.shape[1])])
            else:
                heading.append(quantity)
            arrays.append(array)
        lengths = {quantity: len(array) for quantity, array in zip(("t", *blocks), arrays, strict=True)}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ArgumentError(f"the columns differ in their number of rows: {told}.")
        return Record(tuple(heading), np.column_stack(arrays), **parts)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"dynamics": None, "walls": ()}

    # ---- columns

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self)} rows" if len(self) else "no rows"
        who = f" of '{self.about['robot']}'" if "robot" in self.about else ""
        told = f". {self.message}" if self.message else ""
        return f"<Record{who}: {span}, {len(self.events)} events{told}>"

    def __contains__(self, key: str) -> bool:
        return key in self.columns or any(parse(title)[0] == key for title in self.columns)

    def __getitem__(self, key: str) -> np.ndarray:
        """A column by its title, or the block of a quantity."""
        return self.data[:, self.columns.index(key)] if key in self.columns else self.block(key, self.names(key))

    def block(self, quantity: str, names: Sequence[str]) -> np.ndarray:
        """The columns of a quantity in the order of these names."""
        return self.data[:, [self.columns.index(title) for title in titles(quantity, names)]]

    def names(self, quantity: str) -> tuple[str, ...]:
        """The names of a block's columns: of coordinates, velocities or actuators."""
        found = tuple(name for kind, name in map(parse, self.columns) if kind == quantity and name)
        if not found:
            known = dict.fromkeys((*self.quantities, *self.columns))
            raise ArgumentError(unknown_name("column", quantity, known, "the record"))
        return found

    @property
    def quantities(self) -> tuple[str, ...]:
        """What there are columns of, t first."""
        return tuple(dict.fromkeys(parse(title)[0] for title in self.columns))

    @property
    def t(self) -> np.ndarray:
        return self["t"]

    @property
    def period(self) -> float:
        """The median time between rows."""
        return float(np.median(np.diff(self.t)))

    # ---- what is known about it

    @property
    def status(self) -> str:
        """How a run ended, in a word: FINISHED, or why not."""
        return self.about.get("status", "")

    @property
    def finished(self) -> bool:
        """Whether a run went where it was to go: to its last time, or to a stop condition."""
        return self.status in ("FINISHED", "STOPPED")

    @property
    def message(self) -> str:
        return self.about.get("message", "")

    @property
    def impacts(self) -> list[Event]:
        return [event for event in self.events if event.kind == "impact"]

    # ---- other forms

    def __call__(self, t) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) at a time or an array of times; at an event, the state after it."""
        if self.between is None:
            raise ArgumentError("the record has samples only, and no motion between them.", hint="record.path()(t)")
        t = np.asarray(t, float)
        first, last = self.between.span if len(self.between) else (self.t[0], self.t[-1])  # rows may be fewer
        inside = (t >= first) & (t <= last)
        if not inside.all():
            raise ArgumentError(
                f"the record has no state at t = {t[~inside].flat[0]:g}.",
                expected=f"times from {first:g} to {last:g} s",
            )
        end = np.concatenate([self[key][-1] for key in "qv" if key in self]) if len(self) else np.zeros(0)
        y = self.between(t) if len(self.between) else np.broadcast_to(end, (*t.shape, len(end))).copy()
        if len(self) and self.t[-1] == last:
            y[t == last] = end  # the last event may have happened there
        nq = len(self.names("q"))
        q, v = y[..., :nq], y[..., nq:]
        return q if self.dynamics is None else close_loops(self.dynamics, q), v

    def part(self, rows) -> Record:
        """Some rows, by a slice or a mask, with the events of their time."""
        data = self.data[rows]
        inside = [e for e in self.events if len(data) and data[0, 0] <= e.time <= data[-1, 0]]
        return replace(self, data=data, events=tuple(inside))

    def renamed(self, titles: Mapping[str, str]) -> Record:
        """The record with other titles for some of its columns: record.renamed({"pos1": "q_shoulder"})."""
        units = {titles.get(title, title): unit for title, unit in self.units.items()}
        return replace(self, columns=tuple(titles.get(title, title) for title in self.columns), units=units)

    def path(self, names: Sequence[str] = ()) -> Interpolated | Spline:
        """A path through the samples: quintics if v and a are there, else a cubic spline at rest at its ends.

        With the coordinate names of a system it is a path of that system, in its order.
        """
        own = self.names("q")
        if names and set(names) != set(own):
            raise DescriptionError(
                f"the record moves {len(own)} coordinates: {', '.join(own)}.",
                expected=f"the {len(names)} of the system: {', '.join(names)}",
                source=self.source,
            )
        order = tuple(names) or own
        q = self.block("q", order)
        if all(title in self.columns for letter in "va" for title in titles(letter, order)):
            return Interpolated(self.t, q, self.block("v", order), self.block("a", order), order)
        return Spline(self.t, q, names=order)

    def in_si(self) -> Record:
        """The record with columns in deg, mm, ms, ... turned into SI units."""
        known = {title: in_si(unit) for title, unit in self.units.items()}
        factors = np.array([known.get(title, ("", 1.0))[1] for title in self.columns])
        units = {title: unit for title, (unit, _) in known.items()}
        return replace(self, data=self.data if (factors == 1.0).all() else self.data * factors, units=units)

    def to_csv(self, path: str | FilePath, *, overwrite: bool = False) -> None:
        """A table of text, `record.write` to a name that ends in .csv: a heading, then a row a line.

        record.to_csv("swing.csv")
        pandas.read_csv("swing.csv", comment="#")
        """
        check_target(path, (".csv",), overwrite)
        self.write(path, overwrite=overwrite)

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame over `t`, a column a title; its `attrs` say what is known.

        record.to_pandas()["q_elbow"].plot()
        """
        library = needed_package("pandas", "to_pandas", "appell[results]")
        table = library.DataFrame(self.data[:, 1:], library.Index(self.t, name="t"), list(self.columns[1:]))
        table.attrs |= self.about
        return table

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset over `time`, a variable a quantity, whose other axis has the names; events are attributes.

        record.to_xarray()["q"].sel(coordinate="elbow")
        """
        blocks = {quantity: self[quantity] for quantity in self.quantities[1:]}
        names = {quantity: self.names(quantity) for quantity in blocks if quantity not in self.columns}
        about = {**self.about, "events": [str(event) for event in self.events]}
        return dataset(("time",), self.t, blocks, names, about)

    # ---- pictures, by `appell.show`, which is above this package and is loaded when it is needed

    def plot(
        self,
        path: str | FilePath | None = None,
        quantities: str | Sequence[str] = (),
        *,
        figure: Any = None,
        overwrite: bool = False,
    ) -> Any:
        """Columns over time, a panel a quantity (q, v, a, tau and energy if they say anything), events marked.

            record.plot("swing.png")
            record.plot(quantities=["q_elbow", "tau"])

        Returns the matplotlib figure, and writes it to `path`, if there is one, in the format of its ending. The motion
        of a simulation is drawn as it is between the rows; other records are drawn as straight lines from row to row. A
        file that exists already is replaced only with `overwrite=True`.
        """
        plot_record = show_module("plot.plot").plot_record
        return show_module("plot.style").draw_and_save(lambda: plot_record(self, quantities, figure), path, overwrite)

    def movie(
        self,
        path: str | FilePath,
        robot: System | Dynamics | None = None,
        walls: Iterable[Any] | None = None,
        *,
        slower: float | None = None,
        view: tuple[float, float] | None = None,
        inertia: bool = False,
        size: tuple[int, int] = (800, 600),
        progress: bool | None = None,
        overwrite: bool = False,
    ) -> FilePath:
        """The motion in space as GIF, or as MP4 where ffmpeg is installed; returns the path.

            record.movie("swing.gif")
            Record.read("swing.csv").movie("swing.gif", ap.load("puma"))

        The scene that `record.view()` shows, drawn with no screen: upright against gravity (z up if there is none),
        events on a time line, impulses as arrows where they strike; aslant, or face on if everything lies in one plane;
        `view` is (azimuth, elevation) in degrees. Records of `simulate` know their robot and their walls; others are
        told. `slower` than life by a factor; if None, so that the movie lasts 2 to 20 s. `inertia=True` shows the
        ellipsoids of all bodies, and not only of those of which nothing else is seen. `size` is (width, height) in
        pixels. A file that exists already is replaced only with `overwrite=True`.
        """
        options = (slower, view, inertia, size, progress, overwrite)
        return show_module("stage.output").write_movie(self, path, robot, walls, *options)

    def view(
        self,
        *others: Record,
        robot: System | Dynamics | None = None,
        walls: Iterable[Any] | None = None,
        port: int = 0,
        open_browser: bool = True,
        wait: bool | None = None,
    ) -> Any:
        """The motion in a page of the browser: play, pause, scrub, events on the time line; others over it.

            record.view()
            Record.read("swing.csv").view(robot=ap.load("puma"))

        Robot and walls are those of `movie`; `port`, `open_browser` and `wait` those of `ap.view`.
        """
        options = {"robot": robot, "walls": walls, "port": port, "open_browser": open_browser, "wait": wait}
        return show_module("stage.output").view(self, *others, **options)

    def to_html(
        self,
        path: str | FilePath,
        *others: Record,
        robot: System | Dynamics | None = None,
        walls: Iterable[Any] | None = None,
        title: str = "",
        overwrite: bool = False,
    ) -> FilePath:
        """One file that plays the motion in any browser, with no server and no network; returns its path.

            record.to_html("swing.html")
            gentle.to_html("both.html", hard, title="gentle and hard")
            Record.read("swing.csv").to_html("swing.html", robot=ap.load("puma"))

        Events are marked on its time line, impacts with their impulses as arrows in space; energies, forces and
        positions run along. `others` are shown over it, each in a colour of its own. Records of `simulate` know their
        robot and their walls; others are told.
        """
        return show_module("stage.output").write_record_page((self, *others), path, robot, walls, title, overwrite)

    # ---- files

    def write(self, path: str | FilePath, *, overwrite: bool = False) -> None:
        """To .csv, .npz (all of it, the motion between samples included) or .parquet."""
        from appell.motion.record_files import write_record

        write_record(self, path, overwrite)

    @staticmethod
    def read(
        path: str | FilePath, *, columns: Mapping[str, str] | None = None, units: Mapping[str, str] | None = None
    ) -> Record:
        """From .csv, .npz, .parquet, or the .log of a control loop.

        `columns` maps our titles to a file's own, {"q_elbow": "pos2"}; `units` says what quantities or columns are in,
        {"q": "deg"}, and they are turned into SI units.
        """
        from appell.motion.measurement import in_units
        from appell.motion.record_files import read_record

        record = read_record(FilePath(path), columns or {})
        return in_units(record, units).in_si() if units else record


def dataset(
    dims: tuple[str, ...],
    t: np.ndarray,
    blocks: Mapping[str, np.ndarray],
    names: Mapping[str, Sequence[str]],
    about: Mapping[str, Any],
) -> xarray.Dataset:
    """A Dataset of blocks over `dims`, the last axis of a block with names being their own."""
    data: dict[str, Any] = {}
    axes: dict[str, Any] = {"time": t}
    for quantity, block in blocks.items():
        own: tuple[str, ...] = ()
        if names.get(quantity):
            axis, titled = AXES.get(quantity, "actuator"), list(names[quantity])
            if axes.setdefault(axis, titled) != titled:
                axes[axis := f"{quantity}_name"] = titled
            own = (axis,)
        data[quantity] = ((*dims, *own), block)
    return needed_package("xarray", "to_xarray", "appell[results]").Dataset(data, coords=axes, attrs=about)


def show_module(name: str) -> Any:
    """A module of `appell.show`, which stands above this package, loaded when it is first needed."""
    return import_module(f"appell.show.{name}")


def plain_about(about: Mapping[str, Any]) -> dict[str, Any]:
    """What is said about a record, as files keep it."""
    try:
        return json.loads(json.dumps(dict(about)))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"what is said about the record cannot be kept: {error}.",
            expected="texts, numbers, lists, dicts",
        ) from None


def _check(record: Record) -> None:
    """Raise for the first thing that keeps these columns from being a record."""
    wrong = partial(DescriptionError, source=record.source)
    columns, data = record.columns, record.data
    if data.ndim != 2 or data.shape[1] != len(columns):
        raise wrong(f"the data have shape {data.shape}.", expected=f"(rows, {len(columns)})")
    if columns[:1] != ("t",):
        raise wrong("the first column is not t.", expected=f"t, q_<name>, ...; there are: {', '.join(columns)}")
    for k, title in enumerate(columns):
        if title in columns[:k]:
            raise wrong(f"two columns are called '{title}'.")
        if not title.isprintable() or title != title.strip() or not title:
            raise wrong(f"column {k + 1} is called {title!r}.", expected="a name that can be printed on one line")
    t = data[:, 0]
    if (bad := np.flatnonzero(~np.isfinite(t))).size:
        raise wrong(f"column t is not finite in {rows_text(bad)}.", hint="leave those rows out")
    if (bad := np.flatnonzero(np.diff(t) < 0.0) + 1).size:
        places = f"{rows_text(bad)} (t = {t[bad[0] - 1]:g}, then {t[bad[0]]:g})"
        raise wrong(f"column t does not grow at {places}.", expected="rows sorted by time", hint="sort the rows")
