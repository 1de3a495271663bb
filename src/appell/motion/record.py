"""A simulated or measured motion: named columns over time, with units, metadata and events.

    t                        seconds, the first column
    <quantity>_<name>        q_<coordinate>, v_<velocity>, a_<velocity>, tau_<actuator>, qd_<coordinate>, ...
    energy, state, ...       quantities that do not belong to a joint have no name

`record["q"]` is the block of a quantity, (rows, n), `record["q_elbow"]` one column. All packages use these names, and
they are the headings of files (`record_files`).

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
from appell.motion.clock import ClockReport, clock_report
from appell.motion.curve import Curve
from appell.motion.event import Event
from appell.motion.path import numeric
from appell.motion.paths.spline import Interpolated, Spline
from appell.motion.titles import Titled, in_si, parse, titles

if TYPE_CHECKING:
    import pandas
    import xarray

    from appell.dynamics import Dynamics
    from appell.model.system import System

AXES = {"q": "coordinate", "qd": "coordinate", "v": "velocity", "a": "velocity", "vd": "velocity", "ad": "velocity"}


def _column_array(quantity: str, values: Any) -> np.ndarray:
    array = numeric(values, "column t" if quantity == "t" else f"block '{quantity}'")
    if array.ndim not in (1, 2):
        raise ArgumentError(f"{quantity} has shape {array.shape}.", expected="(rows,) or (rows, columns)")
    return array


@dataclass(frozen=True, eq=False)
class Record(Titled):
    """Columns of numbers over time.

    Parameters
    ----------
    columns
        Titles of the columns; the first is t.
    data
        Numbers, (rows, columns); the times do not decrease.
    units
        Units by title, if different from the default of the quantity.
    about
        Metadata as plain data: robot, status, message, law, period, ...
    events
        Events of the motion.
    between
        The motion between the rows, if known.
    source
        Name of the file that the record was read from.
    dynamics, walls
        Dynamics of the system and walls of a simulation, for plots and movies; not stored in files and pickles.

    Examples
    --------
    >>> import appell as ap
    >>> record = ap.simulate(ap.load("pendulum"), q0=[0.5], until=1.0, t_eval=[0.0, 0.5, 1.0])
    >>> record.columns
    ('t', 'q_hinge', 'v_hinge', 'tau_hinge', 'energy')
    >>> record["q"].shape, record["q_hinge"].shape
    ((3, 1), (3,))
    >>> print(record.q[:, 0].round(4))
    [ 0.5    -0.1566 -0.4036]
    """

    columns: tuple[str, ...]
    data: np.ndarray = field(repr=False)
    units: Mapping[str, str] = field(default_factory=dict, repr=False)
    about: dict[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = field(default=(), repr=False)
    between: Curve | None = field(default=None, repr=False)
    source: str = ""
    dynamics: Dynamics | None = field(default=None, repr=False)
    walls: tuple[Any, ...] = field(default=(), repr=False)

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
        """Return a record of arrays by quantity.

        Parameters
        ----------
        t
            Times, (rows,), s.
        blocks
            Arrays by quantity: (rows, n) for a block of columns, (rows,) for a single column.
        names
            Names of the columns of blocks: the same for all, or by quantity. Empty: numbers from 1.
        **parts
            Further fields of the record.

        Examples
        --------
        >>> from appell.motion import Record
        >>> Record.of([0.0, 0.1], {"q": [[1.0, 2.0], [1.1, 2.1]]}, ["shoulder", "elbow"]).columns
        ('t', 'q_shoulder', 'q_elbow')
        """
        heading, arrays = ["t"], [_column_array("t", t)]
        for quantity, block in blocks.items():
            array = _column_array(quantity, block)
            column_names = names.get(quantity, ()) if isinstance(names, Mapping) else names
            if array.ndim == 2:
                if column_names and len(column_names) != array.shape[1]:
                    raise ArgumentError(f"{quantity} has {array.shape[1]} columns and {len(column_names)} names.")
                heading += titles(quantity, column_names or [f"{k + 1}" for k in range(array.shape[1])])
            else:
                heading.append(quantity)
            arrays.append(array)
        lengths = {quantity: len(array) for quantity, array in zip(("t", *blocks), arrays, strict=True)}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ArgumentError(f"the columns differ in their number of rows: {listed}.")
        return Record(tuple(heading), np.column_stack(arrays), **parts)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"dynamics": None, "walls": ()}

    # ---- columns

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, {len(self)} rows" if len(self) else "no rows"
        owner = f" of '{self.about['robot']}'" if "robot" in self.about else ""
        message = f". {self.message}" if self.message else ""
        return f"<Record{owner}: {span}, {len(self.events)} events{message}>"

    def __contains__(self, key: str) -> bool:
        return key in self.columns or any(parse(title)[0] == key for title in self.columns)

    def __getitem__(self, key: str) -> np.ndarray:
        """Return a column by its title, (rows,), or the block of a quantity, (rows, n)."""
        return self.data[:, self.columns.index(key)] if key in self.columns else self.block(key, self.names(key))

    def block(self, quantity: str, names: Sequence[str]) -> np.ndarray:
        """Return the columns of a quantity in the order of these names, (rows, n)."""
        return self.data[:, [self.columns.index(title) for title in titles(quantity, names)]]

    def names(self, quantity: str) -> tuple[str, ...]:
        """Return the names of a block's columns: of coordinates, velocities or actuators."""
        names = tuple(name for kind, name in map(parse, self.columns) if kind == quantity and name)
        if not names:
            keys = dict.fromkeys((*self.quantities, *self.columns))
            raise ArgumentError(unknown_name("column", quantity, keys, "the record"))
        return names

    @property
    def quantities(self) -> tuple[str, ...]:
        """Quantities of the columns, t first."""
        return tuple(dict.fromkeys(parse(title)[0] for title in self.columns))

    @property
    def t(self) -> np.ndarray:
        """Times, (rows,), s."""
        return self["t"]

    @property
    def period(self) -> float:
        """Median time between rows, s."""
        return float(np.median(np.diff(self.t)))

    @property
    def clock(self) -> ClockReport:
        """Period, jitter, gaps and duplicates of the times, and what was repaired when the record was read."""
        return clock_report(self.t, self.about.get("clock"))

    # ---- metadata

    @property
    def status(self) -> str:
        """How a run ended: FINISHED, STOPPED or the name of another `Status`; empty for other records."""
        return self.about.get("status", "")

    @property
    def finished(self) -> bool:
        """Whether a run reached its last time or a stop condition."""
        return self.status in ("FINISHED", "STOPPED")

    @property
    def message(self) -> str:
        """How a run ended, as a sentence."""
        return self.about.get("message", "")

    @property
    def impacts(self) -> list[Event]:
        """Events of kind "impact"."""
        return [event for event in self.events if event.kind == "impact"]

    # ---- conversions

    def __call__(self, t) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) at a time or an array of times; at an event, the state after it."""
        if self.between is None:
            raise ArgumentError(
                "the record has samples only, and no motion between them.", hint="Use record.path()(t)."
            )
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
        """Return some rows, by a slice or a mask, with the events within their time."""
        data = self.data[rows]
        inside = [e for e in self.events if len(data) and data[0, 0] <= e.time <= data[-1, 0]]
        return replace(self, data=data, events=tuple(inside))

    def renamed(self, titles: Mapping[str, str]) -> Record:
        """Return the record with other titles for some columns: record.renamed({"pos1": "q_shoulder"})."""
        units = {titles.get(title, title): unit for title, unit in self.units.items()}
        return replace(self, columns=tuple(titles.get(title, title) for title in self.columns), units=units)

    def without(self, titles: Sequence[str]) -> Record:
        """Return the record without some columns."""
        kept = [k for k, title in enumerate(self.columns) if title not in titles]
        columns = tuple(self.columns[k] for k in kept)
        units = {title: unit for title, unit in self.units.items() if title in columns}
        return replace(self, columns=columns, data=self.data[:, kept], units=units)

    def path(self, names: Sequence[str] = ()) -> Interpolated | Spline:
        """Return a path through the rows: quintics if there are v and a, else a cubic spline at rest at its ends.

        `names` are the coordinates of a system, in its order. Empty: the coordinates of the record.
        """
        coordinates = self.names("q")
        if names and set(names) != set(coordinates):
            raise DescriptionError(
                f"the record moves {len(coordinates)} coordinates: {', '.join(coordinates)}.",
                expected=f"the {len(names)} of the system: {', '.join(names)}",
                source=self.source,
            )
        order = tuple(names) or coordinates
        q = self.block("q", order)
        if all(title in self.columns for letter in "va" for title in titles(letter, order)):
            return Interpolated(self.t, q, self.block("v", order), self.block("a", order), order)
        return Spline(self.t, q, names=order)

    def in_si(self) -> Record:
        """Return the record with columns in deg, mm, ms, ... converted to SI units."""
        converted = {title: in_si(unit) for title, unit in self.units.items()}
        factors = np.array([converted.get(title, ("", 1.0))[1] for title in self.columns])
        units = {title: unit for title, (unit, _) in converted.items()}
        return replace(self, data=self.data if (factors == 1.0).all() else self.data * factors, units=units)

    def to_csv(self, path: str | FilePath, *, overwrite: bool = False) -> None:
        """Write a CSV file: a heading, then one line per row; the same as `write` with a name that ends in .csv.

        record.to_csv("swing.csv")
        pandas.read_csv("swing.csv", comment="#")
        """
        check_target(path, (".csv",), overwrite)
        self.write(path, overwrite=overwrite)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with index `t` and one column per title; its `attrs` are the metadata.

        record.to_pandas()["q_elbow"].plot()
        """
        library = needed_package("pandas", "to_pandas", "appell[results]")
        table = library.DataFrame(self.data[:, 1:], library.Index(self.t, name="t"), list(self.columns[1:]))
        table.attrs |= self.about
        return table

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset over `time` with one variable per quantity; events are attributes.

        record.to_xarray()["q"].sel(coordinate="elbow")
        """
        blocks = {quantity: self[quantity] for quantity in self.quantities[1:]}
        names = {quantity: self.names(quantity) for quantity in blocks if quantity not in self.columns}
        about = {**self.about, "events": [str(event) for event in self.events]}
        return dataset(("time",), self.t, blocks, names, about)

    # ---- figures and movies, by `appell.show`, which is above this package and is imported when needed

    def plot(
        self,
        path: str | FilePath | None = None,
        quantities: str | Sequence[str] = (),
        *,
        figure: Any = None,
        overwrite: bool = False,
    ) -> Any:
        """Plot columns over time, one panel per quantity, with events marked, and return the matplotlib figure.

            record.plot("swing.png")
            record.plot(quantities=["q_elbow", "tau"])

        The motion of a simulation is also drawn between the rows; the rows of other records are joined by straight
        lines.

        Parameters
        ----------
        path
            Name of the file to write, if any; its ending selects the format.
        quantities
            Quantities or columns. Empty: q, v, a, tau and energy, if there are any and they are not constant zero.
        figure
            Figure to draw into. None: a new one.
        overwrite
            Whether to replace an existing file.
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
        bending: float = 1.0,
        progress: bool | None = None,
        overwrite: bool = False,
    ) -> FilePath:
        """Write a movie of the motion as GIF, or as MP4 if ffmpeg is installed, and return its path.

            record.movie("swing.gif")
            Record.read("swing.csv").movie("swing.gif", ap.load("puma"))

        The scene is that of `record.view()`, rendered without a screen: gravity points down (z is up if there is none),
        events are marked on a time line, and impulses are arrows at their points.

        Parameters
        ----------
        path
            Name of the file, ending in .gif or .mp4.
        robot, walls
            Robot and walls of the scene. None: those of the record, if it comes from `simulate`.
        slower
            Factor by which the movie is slower than the motion. None: such that it lasts 2 to 20 s.
        view
            Azimuth and elevation of the camera in degrees. None: oblique, or perpendicular to a planar motion.
        inertia
            Whether to show the inertia ellipsoids of all bodies, not only of those without other geometry.
        size
            Width and height in pixels.
        bending
            Factor of the deflections of flexible links in the picture.
        progress
            Whether to show a progress bar. None: on a terminal only.
        overwrite
            Whether to replace an existing file.
        """
        options = (slower, view, inertia, size, progress, overwrite, bending)
        return show_module("stage.output").write_movie(self, path, robot, walls, *options)

    def view(
        self,
        *others: Record,
        robot: System | Dynamics | None = None,
        walls: Iterable[Any] | None = None,
        collisions: bool = False,
        bending: float = 1.0,
        port: int = 0,
        open_browser: bool = True,
        wait: bool | None = None,
    ) -> Any:
        """Show the motion in a browser page with a time line; `others` are overlaid.

            record.view()
            Record.read("swing.csv").view(robot=ap.load("puma"))

        `robot` and `walls` are those of `movie`; the other parameters are those of `ap.view`.
        """
        options = {"robot": robot, "walls": walls, "collisions": collisions, "bending": bending, "port": port}
        return show_module("stage.output").view(self, *others, **options, open_browser=open_browser, wait=wait)

    def to_html(
        self,
        path: str | FilePath,
        *others: Record,
        robot: System | Dynamics | None = None,
        walls: Iterable[Any] | None = None,
        title: str = "",
        collisions: bool = False,
        bending: float = 1.0,
        overwrite: bool = False,
    ) -> FilePath:
        """Write one HTML file that plays the motion in any browser without a server or network; return its path.

            record.to_html("swing.html")
            gentle.to_html("both.html", hard, title="gentle and hard")
            Record.read("swing.csv").to_html("swing.html", robot=ap.load("puma"))

        Events are marked on the time line, impulses of impacts are arrows in space, and energies, forces and positions
        are plotted along the motion.

        Parameters
        ----------
        path
            Name of the file, ending in .html.
        *others
            Records to overlay, each in its own colour.
        robot, walls
            Robot and walls of the scene. None: those of the record, if it comes from `simulate`.
        title
            Title of the page.
        collisions
            Whether to show the collision shapes, the closest pair, and where shapes touch on the time line.
        bending
            Factor of the deflections of flexible links in the picture.
        overwrite
            Whether to replace an existing file.
        """
        return show_module("stage.output").write_record_page(
            (self, *others), path, robot, walls, title, collisions, overwrite, bending
        )

    # ---- files

    def write(self, path: str | FilePath, *, overwrite: bool = False) -> None:
        """Write the record to a .csv, .npz, .parquet, .mcap or .db3 file, or as the folder of a ROS 2 bag.

        A name without an ending is such a folder. Only .npz stores the motion between the rows.

        Parameters
        ----------
        path
            Name of the file; its ending selects the format.
        overwrite
            Whether to replace an existing file.

        Examples
        --------
        >>> import appell as ap, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> record = ap.simulate(ap.load("pendulum"), q0=[0.5])
        >>> record.write(f"{folder}/swing.csv")
        >>> bool((ap.Record.read(f"{folder}/swing.csv").q == record.q).all())
        True
        """
        from appell.motion.record_files import write_record

        write_record(self, path, overwrite)

    @staticmethod
    def read(
        path: str | FilePath,
        *,
        columns: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        topics: Sequence[str] = (),
        clock: str = "header",
    ) -> Record:
        """Read a record from a .csv, .npz, .parquet, .mcap or .db3 file, a ROS 2 bag, or the .log of a control loop.

        Rows that are out of order are sorted and jumps of the clock are removed, with a warning; see `record.clock`.

        Parameters
        ----------
        path
            Name of the file, or of the folder of a ROS 2 bag.
        columns
            Titles in the file by title in the record, such as {"q_elbow": "pos2"}; {"t": "sec+nanosec"} for a time in
            two columns.
        units
            Units of quantities or columns in the file, such as {"q": "deg", "tau": "0.105 Nm/A"}; they are converted
            to SI units.
        topics
            Topics of a bag. Empty: all with joint states, trajectories, wrenches or poses.
        clock
            Times of a bag: "header" for the stamps of the messages, "log" for the times of recording.

        Raises
        ------
        DescriptionError
            If the file cannot be read as a record.

        Examples
        --------
        >>> import pathlib, tempfile, appell as ap
        >>> file = pathlib.Path(tempfile.mkdtemp(), "log.csv")
        >>> _ = file.write_text("time,pos\\n0.0,90\\n0.1,45\\n")
        >>> record = ap.Record.read(file, columns={"q_elbow": "pos"}, units={"q": "deg"})
        >>> print(record["q_elbow"].round(3))
        [1.571 0.785]
        """
        from appell.motion.measurement import in_units
        from appell.motion.record_files import read_record

        record = read_record(FilePath(path), columns or {}, topics, clock)
        return in_units(record, units).in_si() if units else record


def dataset(
    dims: tuple[str, ...],
    t: np.ndarray,
    blocks: Mapping[str, np.ndarray],
    names: Mapping[str, Sequence[str]],
    about: Mapping[str, Any],
) -> xarray.Dataset:
    """Return an xarray Dataset.

    Parameters
    ----------
    dims
        Names of the first axes of all blocks, of which the last is the time.
    t
        Times, s.
    blocks
        Arrays by quantity.
    names
        Names along the last axis of a block, by quantity.
    about
        Attributes.
    """
    data: dict[str, Any] = {}
    axes: dict[str, Any] = {"time": t}
    for quantity, block in blocks.items():
        last: tuple[str, ...] = ()
        if names.get(quantity):
            axis, labels = AXES.get(quantity, "actuator"), list(names[quantity])
            if axes.setdefault(axis, labels) != labels:
                axes[axis := f"{quantity}_name"] = labels
            last = (axis,)
        data[quantity] = ((*dims, *last), block)
    return needed_package("xarray", "to_xarray", "appell[results]").Dataset(data, coords=axes, attrs=about)


def show_module(name: str) -> Any:
    """Import and return a module of `appell.show`, which is above this package."""
    return import_module(f"appell.show.{name}")


def plain_about(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata as plain data, as files store it; raise `ArgumentError` if that is not possible."""
    try:
        return json.loads(json.dumps(dict(about)))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"the metadata `about` of the record cannot be stored as JSON: {error}.",
            expected="texts, numbers, lists and dicts",
        ) from None


def _check(record: Record) -> None:
    """Raise `DescriptionError` for the first rule of records that is violated."""
    error = partial(DescriptionError, source=record.source)
    columns, data = record.columns, record.data
    if data.ndim != 2 or data.shape[1] != len(columns):
        raise error(f"the data have shape {data.shape}.", expected=f"(rows, {len(columns)})")
    if columns[:1] != ("t",):
        raise error("the first column is not t.", expected=f"t, q_<name>, ...; the columns are: {', '.join(columns)}")
    if len(set(columns)) < len(columns):
        raise error(f"two columns are called '{next(x for k, x in enumerate(columns) if x in columns[:k])}'.")
    if not "".join(columns).isprintable() or any(title != title.strip() or not title for title in columns):
        k = next(k for k, x in enumerate(columns) if not x.isprintable() or x != x.strip() or not x)
        raise error(f"column {k + 1} is called {columns[k]!r}.", expected="a printable name on one line")
    t = data[:, 0]
    if (bad := np.flatnonzero(~np.isfinite(t))).size:
        raise error(f"column t is not finite in {rows_text(bad)}.", hint="Remove these rows.")
    if (bad := np.flatnonzero(np.diff(t) < 0.0) + 1).size:
        where = f"{rows_text(bad)} (t = {t[bad[0] - 1]:g}, then {t[bad[0]]:g})"
        raise error(f"column t decreases at {where}.", expected="rows sorted by time", hint="Sort the rows.")
