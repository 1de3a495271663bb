"""What is compiled for the first time is said, and for how long; what comes from the cache is not worth a word.

    compiling inverse_dynamics of robot 'talos' ... 0.38 s (kept for next time)

The compiler logs what it does (`logging.getLogger("appell")`); while a command runs, this listens.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from appell.cli.screen import say
from appell.compile.native import cache as disk
from appell.compile.native.making import LOG
from appell.display.bar import Bar, paused

NOTICED = 0.3  # s from which on a compilation is worth a line


class Listener(logging.Handler):
    """A bar while something is made, and a line once it took long."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.console = Console(stderr=True)
        self.bar: Bar | None = None

    def emit(self, record: logging.LogRecord) -> None:
        about = vars(record)
        if "work" not in about:
            return
        self.close_bar()
        what = f"{about['work']} {about['function']}" + (f" of {about['owner']}" if about["owner"] else "")
        if record.levelno == logging.DEBUG:
            self.bar = Bar(what, patience=0.0, console=self.console).__enter__()
        elif about["made"] and about["seconds"] >= NOTICED:
            kept = " (kept for next time)" if disk.find(about["key"]) is not None else ""
            with paused():
                say(self.console, f"{what} ... {about['seconds']:.2f} s{kept}")

    def close_bar(self) -> None:
        if self.bar is not None:
            self.bar.__exit__(None, None, None)
            self.bar = None


@contextmanager
def compiling_told() -> Iterator[None]:
    """What is compiled inside is said on stderr."""
    listener, level = Listener(), LOG.level
    LOG.addHandler(listener)
    LOG.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        listener.close_bar()
        LOG.removeHandler(listener)
        LOG.setLevel(level)
