"""See it move: a robot or a record in a page of the user's browser, with Python behind it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.pictures.drawing import catalogue_of
from appell.motion.record import Record
from appell.motion.staging.moved import moved

if TYPE_CHECKING:
    from appell.display.viewer import Viewer
    from appell.motion.staging.puppet import SystemPuppet

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
    from appell.display.server import serve
    from appell.motion.staging.puppet import SystemPuppet
    from appell.motion.staging.stage import staged_record

    if isinstance(shown, Record):
        if q is not None:
            raise ArgumentError("q is given, and a record to show.", hint="q= for a robot, or record.part(rows)")
        dyn = moved(shown, robot)
        puppet = SystemPuppet(dyn, live=False)
        scene = staged_record(shown, *records, robot=robot, walls=walls)
    else:
        if records or robot is not None:
            raise ArgumentError("a robot is shown by itself.", expected="ap.view(robot), or ap.view(record, ...)")
        puppet = SystemPuppet(catalogue_of(shown), q, walls or ())
        _prepare(puppet)
        scene = puppet.scene
    viewer = serve(scene, puppet, port=port, open_browser=open_browser)
    if _is_script() if wait is None else wait:
        print(f"{viewer.url}\nCtrl-C ends it (wait=False goes on at once).", file=sys.stderr)
        viewer.wait()
    return viewer


def _prepare(puppet: SystemPuppet) -> None:
    """Read meshes and compile what answers need, with a bar; if it took long, say how long."""
    from appell.display.bar import Bar

    start = time.perf_counter()
    with Bar(f"preparing {puppet.system.name}", puppet.steps, "parts") as bar:
        puppet.prepare(bar.advance)
    if (spent := time.perf_counter() - start) >= NOTICED:
        print(f"prepared {puppet.system.name} in {spent:.1f} s: meshes read, answers compiled", file=sys.stderr)


def _is_script() -> bool:
    """Whether a program runs in a terminal that nobody types Python into."""
    return sys.stdin is not None and sys.stdin.isatty() and not (hasattr(sys, "ps1") or sys.flags.interactive)
