"""The output functions for users: a standalone page, a movie, or a live page in the browser."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.files import check_target, write_text
from appell.model.system import System
from appell.motion.record import Record
from appell.show.scene.scene import DEFAULT_LAYERS, STANDARD_LAYERS, Scene
from appell.show.stage.scenes import record_scene, robot_of
from appell.show.stage.shape import dynamics_of

if TYPE_CHECKING:
    from appell.show.server.viewer import Viewer
    from appell.show.stage.articulated_scene import ArticulatedScene

PAGE_SUFFIXES = (".html", ".htm")


def to_html(
    robot: System | Dynamics,
    path: str | FilePath,
    q=None,
    *,
    walls: Iterable[Any] = (),
    title: str = "",
    collisions: bool = False,
    bending: float = 1.0,
    overwrite: bool = False,
) -> FilePath:
    """Write a robot or a mechanism at one configuration as a standalone HTML page.

    The page works in any browser without Python and without a network connection. For a motion, use
    `Record.to_html`.

    Parameters
    ----------
    robot : System or Dynamics
        Robot or mechanism to show.
    path : str or Path
        File with the suffix .html or .htm.
    q : array_like, shape (nq,), optional
        Configuration; by default `robot.start`, within the joint limits.
    walls : iterable, optional
        Surfaces of a simulation, such as ``ap.Plane()``.
    title : str
        Title of the page; the name of the robot by default.
    collisions : bool
        Show the collision shapes.
    bending : float
        Factor of the deflections of flexible links in the picture.
    overwrite : bool
        Replace an existing file.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    ArgumentError
        If q is invalid, out of reach of a leg, or if the file exists.

    Examples
    --------
    >>> import tempfile
    >>> import appell as ap
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ap.to_html(ap.load("planar-2r"), f"{folder}/arm.html", [0.3, -0.5])
    ...     path.name
    'arm.html'
    """
    from appell.show.stage.scenes import robot_scene

    if isinstance(robot, Record):
        raise ArgumentError(
            "to_html received a record instead of a robot.", hint="Use record.to_html(path) to write a record."
        )
    given: dict[str, Any] = {"walls": walls, "title": title, "layers": _layers(collisions), "bending": bending}
    return _write(lambda: robot_scene(robot, q, **given), path, overwrite)


def write_record_page(
    records: Sequence[Record],
    path: str | FilePath,
    robot: System | Dynamics | None,
    walls: Iterable[Any] | None,
    title: str,
    collisions: bool,
    overwrite: bool,
    bending: float = 1.0,
) -> FilePath:
    """Write records as a standalone HTML page; see `Record.to_html`."""
    if not records:
        raise ArgumentError("no records to show.", expected="at least one")
    given: dict[str, Any] = {"walls": walls, "title": title, "layers": _layers(collisions), "bending": bending}
    return _write(lambda: record_scene(*records, robot=robot, **given), path, overwrite)


def _layers(collisions: bool) -> tuple[str, ...]:
    return (*STANDARD_LAYERS, "collisions") if collisions else STANDARD_LAYERS


def _write(scene: Callable[[], Scene], path: str | FilePath, overwrite: bool) -> FilePath:
    from appell.show.page.page_text import page_text

    target = check_target(path, PAGE_SUFFIXES, overwrite)
    write_text(target, page_text(scene()), "the page")
    return target


def write_movie(
    record: Record,
    path: str | FilePath,
    robot: System | Dynamics | None,
    walls: Iterable[Any] | None,
    slower: float | None,
    view: tuple[float, float] | None,
    inertia: bool,
    size: tuple[int, int],
    progress: bool | None,
    overwrite: bool,
    bending: float = 1.0,
) -> FilePath:
    """Write a record as a movie; see `Record.movie`."""
    from appell.show.movie.movie import MOVIE_SUFFIXES, check_movie, write_movie

    target = check_movie(path, size, MOVIE_SUFFIXES, overwrite)
    layers = (*DEFAULT_LAYERS, "inertia") if inertia else DEFAULT_LAYERS
    scene = record_scene(record, robot=robot, walls=walls, layers=layers, bending=bending)
    options: dict[str, Any] = {"size": size, "slower": slower, "layers": layers, "progress": progress}
    return write_movie(replace(scene, view=view), target, overwrite=overwrite, **options)


MIN_REPORTED_TIME_S = 1.0  # of the preparation


def view(
    shown: System | Dynamics | Record,
    *records: Record,
    q=None,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    collisions: bool = False,
    bending: float = 1.0,
    port: int = 0,
    open_browser: bool = True,
    wait: bool | None = None,
) -> Viewer:
    """Show a robot or records in the browser.

    A robot can be moved interactively: sliders set its coordinates, and dragging a handle solves inverse kinematics.
    Several records are played together in one scene. The page is served on this machine only and ends with the program.

    Parameters
    ----------
    shown : System, Dynamics or Record
        Robot, mechanism or record to show.
    *records : Record
        Further records that are played with the first one.
    q : array_like, shape (nq,), optional
        Initial configuration of a robot; by default `robot.start`, within the joint limits.
    robot : System or Dynamics, optional
        The robot of a record. Records of `simulate` contain it.
    walls : iterable, optional
        Surfaces to show, such as ``ap.Plane()``. Records of `simulate` contain theirs.
    collisions : bool
        Show the collision shapes, the closest pair with its distance, and where shapes touch on the time line.
    bending : float
        Factor of the deflections of flexible links in the picture: 20 shows small vibrations.
    port : int
        Port of the server, or 0 for any free port.
    open_browser : bool
        Open the page in the user's browser, or print how to reach it.
    wait : bool, optional
        Return after Ctrl-C only. The default is True in a script that runs in a terminal, because the page would end
        with the script, and False elsewhere.

    Returns
    -------
    Viewer
        Use ``viewer.show(q)`` to move the robot and ``viewer.show(record)`` to play a record in the open page.

    Examples
    --------
    >>> import appell as ap
    >>> viewer = ap.view(ap.load("planar-2r"), open_browser=False, wait=False)
    >>> viewer.show([0.3, -0.5])
    >>> viewer.close()
    """
    from appell.show.server.server import serve
    from appell.show.stage.articulated_scene import ArticulatedScene

    layers = _layers(collisions)
    if isinstance(shown, Record):
        if q is not None:
            raise ArgumentError(
                "q cannot be combined with a record.",
                hint="Pass q with a robot only, or select rows with record.part(rows).",
            )
        dyn = robot_of(shown, robot)
        articulated = ArticulatedScene(dyn, live=False, layers=layers, bending=bending)
        scene = record_scene(shown, *records, robot=robot, walls=walls, layers=layers, bending=bending)
    else:
        if records or robot is not None:
            raise ArgumentError(
                "a robot cannot be combined with records or robot=.", expected="ap.view(robot), or ap.view(record, ...)"
            )
        articulated = ArticulatedScene(dynamics_of(shown), q, walls or (), layers=layers, bending=bending)
        _prepare(articulated)
        scene = articulated.scene
    viewer = serve(scene, articulated, port=port, open_browser=open_browser)
    if _is_script() if wait is None else wait:
        print(f"{viewer.url}\nPress Ctrl-C to close the viewer (wait=False returns at once).", file=sys.stderr)
        viewer.wait()
    return viewer


def _prepare(articulated: ArticulatedScene) -> None:
    """Read meshes and compile functions, with a progress bar; report the time if it was long."""
    from appell.progress import Bar

    start = time.perf_counter()
    with Bar(f"preparing {articulated.system.name}", articulated.steps, "parts") as bar:
        articulated.prepare(bar.advance)
    if (spent := time.perf_counter() - start) >= MIN_REPORTED_TIME_S:
        name = articulated.system.name
        print(f"prepared {name} in {spent:.1f} s (read meshes, compiled functions)", file=sys.stderr)


def _is_script() -> bool:
    """Whether this is a script in a terminal, and not an interactive session."""
    return sys.stdin is not None and sys.stdin.isatty() and not (hasattr(sys, "ps1") or sys.flags.interactive)
