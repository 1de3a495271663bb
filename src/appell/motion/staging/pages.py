"""Scenes as files: one page each that plays in a browser by itself, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path as FilePath
from typing import Any

from appell.display.scene import Scene
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.files.whole import check_free, whole
from appell.motion.pictures.look import check_picture
from appell.motion.record import Record

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

    A motion is written by `record.to_html(path)`. A file that is there is not written over unless that is said.
    """
    from appell.motion.staging.stage import staged_still

    if isinstance(robot, Record):
        raise ArgumentError("to_html got a record where a robot is expected.", hint="record.to_html(path)")
    return _write(lambda: staged_still(robot, q, walls=walls, title=title), path, overwrite)


def write_record_page(
    records: Sequence[Record],
    path: str | FilePath,
    robot: System | Dynamics | None,
    walls: Iterable[Any] | None,
    title: str,
    overwrite: bool,
) -> FilePath:
    """See `Record.to_html`."""
    from appell.motion.staging.stage import staged_record

    if not records:
        raise ArgumentError("there is no record to show.", expected="at least one")
    return _write(lambda: staged_record(*records, robot=robot, walls=walls, title=title), path, overwrite)


def check_page(path: str | FilePath, overwrite: bool = False) -> FilePath:
    """The path of a page, or an error if none can be written there; worth asking before the work."""
    target = check_picture(path, ENDINGS)
    check_free(target, overwrite)
    return target


def _write(scene: Callable[[], Scene], path: str | FilePath, overwrite: bool) -> FilePath:
    from appell.display.page_text import page_text

    target = check_page(path, overwrite)
    text = page_text(scene())
    with whole(target, "the page") as part:
        part.write_text(text, encoding="utf-8")
    return target
