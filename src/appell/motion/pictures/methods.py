"""What a record shows of itself; matplotlib is imported when a picture is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from appell.display.viewer import Viewer
    from appell.dynamics import Dynamics
    from appell.model.system import System
    from appell.motion.record import Record
    from appell.motion.records import Records


def plot(
    record: Record, path: str | FilePath | None = None, quantities: str | Sequence[str] = (), *, figure: Any = None
) -> Any:
    """Columns over time, a panel a quantity (q, v, a, tau and energy if they say anything), events marked.

        record.plot("swing.png")
        record.plot(quantities=["q_elbow", "tau"])

    Returns the matplotlib figure, and writes it to `path`, if there is one, in the format of its ending. The motion of
    a simulation is drawn as it is between the rows; other records are drawn as straight lines from row to row.
    """
    from appell.motion.pictures.look import check_picture, save
    from appell.motion.pictures.plot import plot_record

    if path is not None:
        check_picture(path)
    figure = plot_record(record, quantities, figure)
    if path is not None:
        save(figure, path)
    return figure


def plot_many(
    records: Records,
    path: str | FilePath | None = None,
    quantities: str | Sequence[str] = (),
    *,
    members: Sequence[int] | None = None,
    figure: Any = None,
) -> Any:
    """How all members spread over time: the median, the middle half and the middle nine tenths of every column.

        records.plot("spread.png")
        records.plot(quantities="q", members=[0, 7, 12])

    With `members`, a line for each of these instead. Panels, figure and files are those of `Record.plot`; members that
    were lost count as long as their numbers are finite.
    """
    from appell.motion.pictures.look import check_picture, save
    from appell.motion.pictures.spread import plot_records

    if path is not None:
        check_picture(path)
    figure = plot_records(records, quantities, members, figure)
    if path is not None:
        save(figure, path)
    return figure


def movie(
    record: Record,
    path: str | FilePath,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    *,
    slower: float | None = None,
    view: tuple[float, float] | None = None,
    inertia: bool = False,
    size: tuple[int, int] = (800, 600),
    progress: bool | None = None,
) -> FilePath:
    """The motion in space as GIF, or as MP4 where ffmpeg is installed; returns the path.

        record.movie("swing.gif")
        Record.read("swing.csv").movie("swing.gif", ap.load("puma"))

    The scene that `record.view()` shows, drawn with no screen: upright against gravity (z up if there is none), events
    on a time line, impulses as arrows where they strike; aslant, or face on if everything lies in one plane; `view` is
    (azimuth, elevation) in degrees. Records of `simulate` know their robot and their walls; others are told. `slower`
    than life by a factor; if None, so that the movie lasts 2 to 20 s. `inertia=True` shows the ellipsoids of all
    bodies, and not only of those of which nothing else is seen. `size` is (width, height) in pixels.
    """
    from appell.motion.staging.movie import write_movie

    return write_movie(record, path, robot, walls, slower, view, inertia, size, progress)


def view(
    record: Record,
    *others: Record,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    port: int = 0,
    open_browser: bool = True,
    wait: bool | None = None,
) -> Viewer:
    """The motion in a page of the browser: play, pause, scrub, events on the time line; others over it.

        record.view()
        Record.read("swing.csv").view(robot=ap.load("puma"))

    Robot and walls are those of `movie`; `port`, `open_browser` and `wait` those of `ap.view`.
    """
    from appell.motion.staging.view import view as shown

    return shown(record, *others, robot=robot, walls=walls, port=port, open_browser=open_browser, wait=wait)


def to_html(
    record: Record,
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

    Events are marked on its time line, impacts with their impulses as arrows in space; energies, forces and positions
    run along. `others` are shown over it, each in a colour of its own. Records of `simulate` know their robot and their
    walls; others are told.
    """
    from appell.motion.staging.pages import write_record_page

    return write_record_page((record, *others), path, robot, walls, title, overwrite)


def to_html_many(
    records: Records,
    path: str | FilePath,
    members: Sequence[int] = (0,),
    *,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    title: str = "",
    overwrite: bool = False,
) -> FilePath:
    """One file that plays some members over each other: records.to_html("three.html", [0, 7, 12])."""
    from appell.motion.staging.pages import write_record_page

    return write_record_page([records[int(k)] for k in members], path, robot, walls, title, overwrite)
