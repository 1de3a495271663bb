"""What users get of a scene: a page in a file, a film, or a live page in the browser with Python behind it."""

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
from appell.show.scene.scene import DEFAULT_LAYERS, Scene
from appell.show.stage.scenes import record_scene, robot_of
from appell.show.stage.shape import dynamics_of

if TYPE_CHECKING:
    from appell.show.server.viewer import Viewer
    from appell.show.stage.articulated_scene import ArticulatedScene

ENDINGS = (".html", ".htm")


def to_html(
    robot: System | Dynamics,
    path: str | FilePath,
    q=None,
    *,
    walls: Iterable[Any] = (),
    title: str = "",
    overwrite: bool = False,
) -> FilePath:
    """A robot or a mechanism that stands at q, its start if None, as one file for any browser; returns its path.

        ap.to_html(ap.load("panda"), "panda.html")

    A motion is written by `record.to_html(path)`. A file that exists already is replaced only with `overwrite=True`.
    """
    from appell.show.stage.scenes import robot_scene

    if isinstance(robot, Record):
        raise ArgumentError("to_html got a record where a robot is expected.", hint="record.to_html(path)")
    return _write(lambda: robot_scene(robot, q, walls=walls, title=title), path, overwrite)


def write_record_page(
    records: Sequence[Record],
    path: str | FilePath,
    robot: System | Dynamics | None,
    walls: Iterable[Any] | None,
    title: str,
    overwrite: bool,
) -> FilePath:
    """See `Record.to_html`."""
    from appell.show.stage.scenes import record_scene

    if not records:
        raise ArgumentError("there is no record to show.", expected="at least one")
    return _write(lambda: record_scene(*records, robot=robot, walls=walls, title=title), path, overwrite)


def _write(scene: Callable[[], Scene], path: str | FilePath, overwrite: bool) -> FilePath:
    from appell.show.page.page_text import page_text

    target = check_target(path, ENDINGS, overwrite)
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
) -> FilePath:
    """See `Record.movie`."""
    from appell.show.movie.movie import MOVIE_SUFFIXES, check_movie, write_movie

    target = check_movie(path, size, MOVIE_SUFFIXES, overwrite)
    layers = (*DEFAULT_LAYERS, "inertia") if inertia else DEFAULT_LAYERS
    scene = record_scene(record, robot=robot, walls=walls, layers=layers)
    options: dict[str, Any] = {"size": size, "slower": slower, "layers": layers, "progress": progress}
    return write_movie(replace(scene, view=view), target, overwrite=overwrite, **options)


NOTICED = 1.0  # s from which on compiling is worth a line


def view(
    shown: System | Dynamics | Record,
    *records: Record,
    q=None,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    port: int = 0,
    open_browser: bool = True,
    wait: bool | None = None,
) -> Viewer:
    """A page of a robot that can be moved by hand, or of records that play, in the browser; returns its `Viewer`.

        viewer = ap.view(ap.load("panda"))         sliders move it, dragging a handle solves inverse kinematics
        viewer.show(q)                             it goes there
        ap.view(record, other)                     two motions over each other

    The robot stands at `q`, its start if None. Records of `simulate` know their robot and their walls; others are told
    by `robot` and `walls`. The page is served to this machine alone, at a free port if `port` is 0. `wait=True` returns
    after Ctrl-C; None means that in scripts that are run in a terminal, which else would end and take the page along.
    """
    from appell.show.server.server import serve
    from appell.show.stage.articulated_scene import ArticulatedScene
    from appell.show.stage.scenes import record_scene

    if isinstance(shown, Record):
        if q is not None:
            raise ArgumentError("q is given, and a record to show.", hint="q= for a robot, or record.part(rows)")
        dyn = robot_of(shown, robot)
        articulated = ArticulatedScene(dyn, live=False)
        scene = record_scene(shown, *records, robot=robot, walls=walls)
    else:
        if records or robot is not None:
            raise ArgumentError("a robot is shown by itself.", expected="ap.view(robot), or ap.view(record, ...)")
        articulated = ArticulatedScene(dynamics_of(shown), q, walls or ())
        _prepare(articulated)
        scene = articulated.scene
    viewer = serve(scene, articulated, port=port, open_browser=open_browser)
    if _is_script() if wait is None else wait:
        print(f"{viewer.url}\nCtrl-C ends it (wait=False goes on at once).", file=sys.stderr)
        viewer.wait()
    return viewer


def _prepare(articulated: ArticulatedScene) -> None:
    """Read meshes and compile what answers need, with a bar; if it took long, say how long."""
    from appell.progress import Bar

    start = time.perf_counter()
    with Bar(f"preparing {articulated.system.name}", articulated.steps, "parts") as bar:
        articulated.prepare(bar.advance)
    if (spent := time.perf_counter() - start) >= NOTICED:
        print(f"prepared {articulated.system.name} in {spent:.1f} s: meshes read, answers compiled", file=sys.stderr)


def _is_script() -> bool:
    """Whether a program runs in a terminal that nobody types Python into."""
    return sys.stdin is not None and sys.stdin.isatty() and not (hasattr(sys, "ps1") or sys.flags.interactive)
