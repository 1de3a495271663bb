"""Processes that are worth killing: what each does until it dies, and what must be true of its folder afterwards.

A job says how far it has come by counting in memory that it shares with its killer: what it has counted, it has said
to be written. `work` runs in the process that is killed; `verify` gives a sentence for what is wrong, and starts anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from appell.compile.function import Function
from appell.describe.load import load
from appell.describe.write import to_toml, to_urdf
from appell.errors import CacheWarning, DescriptionError
from appell.motion.journal import JournalWriter
from appell.motion.record import Record


class Job(ABC):
    """A process by name."""

    name: ClassVar[str]
    patience: ClassVar[float] = 0.003  # s that it goes on after its killer was told to act
    counts: ClassVar[bool] = True  # whether it says how far it has come
    ends: ClassVar[tuple[int, ...]] = (0,)  # exit codes of one that came to its end

    @abstractmethod
    def work(self, folder: Path, said: np.ndarray) -> None:
        """Go on for ever, or to an end."""

    @abstractmethod
    def verify(self, folder: Path, said: int) -> str:
        """What is wrong with what it left, nothing if all is well."""


class JournalJob(Job):
    """Rows of a journal."""

    name = "journal"
    columns = ("t", "a", "b")

    def work(self, folder: Path, said: np.ndarray) -> None:
        writer = JournalWriter(folder / "x.log", self.columns, {"robot": "r"})
        for k in range(200_000):
            writer.row[:] = k, np.sin(k), -k
            writer.commit()
            said[0] = k + 1

    def verify(self, folder: Path, said: int) -> str:
        path = folder / "x.log"
        try:
            data = Record.read(path).data if path.exists() else np.zeros((0, 3))
        except DescriptionError as error:
            return "" if not said else f"a journal of {said} rows cannot be read: {error.problem}"
        k = np.arange(len(data), dtype=float)
        if len(data) < said:
            return f"a journal has {len(data)} rows of {said} that were committed"
        return "" if np.array_equal(data, np.column_stack([k, np.sin(k), -k])) else "a journal holds other rows"


class RecordJob(Job):
    """A record written over and over, in one format."""

    def __init__(self, ending: str):
        self.ending = ending
        self.name = f"record .{ending}"  # type: ignore[misc]

    @staticmethod
    def version(k: int) -> Record:
        t = np.arange(200) / 100.0
        return Record.of(t, {"q": np.full((200, 3), float(k))}, about={"robot": f"v{k}"})

    def work(self, folder: Path, said: np.ndarray) -> None:
        for k in range(1, 100_000):
            self.version(k).write(folder / f"r.{self.ending}", overwrite=True)
            said[0] = k

    def verify(self, folder: Path, said: int) -> str:
        path = folder / f"r.{self.ending}"
        if not path.exists():
            return f"a record that was written {said} times is not there" if said else ""
        found = Record.read(path)
        k = int(found.q[0, 0])
        whole = np.array_equal(found.data, self.version(k).data) and found.about["robot"] == f"v{k}"
        if not whole or k not in (said, said + 1):
            return f"a record of version {said} or the next is version {k}, {'whole' if whole else 'not whole'}"
        self.version(7).write(path, overwrite=True)
        return "" if Record.read(path).q[0, 0] == 7.0 else "the next record cannot be read"


class DescriptionJob(Job):
    """A robot written over and over."""

    name = "robot files"

    def work(self, folder: Path, said: np.ndarray) -> None:
        robot = load("planar-2r")
        for k in range(1, 100_000):
            robot_k = load("planar-2r", name=f"v{k}") if k < 3 else robot.with_gravity((0.0, 0.0, -float(k)))
            to_toml(robot_k, folder / "r.toml", overwrite=True)
            to_urdf(robot, folder / "r.urdf", overwrite=True)
            said[0] = k

    def verify(self, folder: Path, said: int) -> str:
        for path in (folder / "r.toml", folder / "r.urdf"):
            if path.exists():
                load(path)
            elif said:
                return f"{path.name} was written {said} times and is not there"
        return ""


@cache
def _line(k: int) -> Function:
    return Function.of(f"line{k}", {"x": 1}, lambda x: {"y": [k * x[0] + 1.0]})


class KernelJob(Job):
    """Functions compiled into a cache folder."""

    name = "compile"

    def work(self, folder: Path, said: np.ndarray) -> None:
        os.environ["APPELL_CACHE"] = str(folder / "cache")
        for k in range(1, 200):
            Function(_line(k).tape).bind()
            said[0] = k

    def verify(self, folder: Path, said: int) -> str:
        os.environ["APPELL_CACHE"] = str(folder / "cache")
        with warnings.catch_warnings():
            warnings.simplefilter("error", CacheWarning)
            for k in range(max(1, said - 2), said + 2):
                call: Any = Function(_line(k).tape).bind()
                call.x[:] = 3.0
                call()
                if call.y[0] != 3.0 * k + 1.0:
                    return f"kernel {k} gives {call.y[0]}"
        return ""


class LoopJob(Job):
    """A control loop on its virtual clock, with its log."""

    name = "control loop"

    @cached_property
    def setting(self):
        from appell_lab.campaigns.control import standard_setting

        return standard_setting()

    def work(self, folder: Path, said: np.ndarray) -> None:
        from appell.hardware.cabinet.simulated import SimulatedCabinet
        from appell.hardware.clock import VirtualClock
        from appell.hardware.loop.control_loop import Loop

        clock, servo = VirtualClock(), self.setting.servo
        cabinet = SimulatedCabinet(self.setting.model, clock, servo.wiring.start, seed=1)
        loop = Loop(cabinet, servo, clock, log=folder / "x.log")
        for k in range(20_000):
            if k == 25:
                loop.arm()
            loop.tick()
            said[0] = k + 1

    def verify(self, folder: Path, said: int) -> str:
        from appell.hardware.loop.replay import first_difference, replay

        path = folder / "x.log"
        if not path.exists() or (not said and path.stat().st_size == 0):
            return "" if not said else "a log is not there"
        try:
            log = Record.read(path)
        except DescriptionError as error:
            return "" if not said else f"a log of {said} ticks cannot be read: {error.problem}"
        if len(log) < said:
            return f"a log has {len(log)} rows of {said} ticks"
        short = log.part(slice(0, 300))
        return (
            ""
            if not len(short) or first_difference(short, replay(short, self.setting.servo)) is None
            else "replay differs"
        )


class CommandJob(Job):
    """A command of the terminal that writes files, once, from the start of Python to the end."""

    counts = False
    ends = (0, 3)  # with 3, its files are written and its verdict is FAIL

    def __init__(self, name: str, arguments: Sequence[str], outputs: Sequence[str]):
        self.name, self.arguments, self.outputs = name, list(arguments), tuple(outputs)  # type: ignore[misc]

    def command(self, folder: Path) -> list[str]:
        return [sys.executable, "-m", "appell", *(word.replace("{}", str(folder)) for word in self.arguments)]

    def run(self, folder: Path) -> None:
        subprocess.run(self.command(folder), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def work(self, folder: Path, said: np.ndarray) -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.execv(sys.executable, self.command(folder))

    @cached_property
    def reference(self) -> dict[str, bytes]:
        """What the command writes if nobody kills it; how long that takes is how long a killer may wait."""
        with tempfile.TemporaryDirectory() as folder:
            self.run(Path(folder))
            started = time.monotonic()
            self.run(Path(folder))
            self.patience = time.monotonic() - started  # type: ignore[misc]
            return {name: (Path(folder) / name).read_bytes() for name in self.outputs}

    def verify(self, folder: Path, said: int) -> str:
        for name, content in self.reference.items():
            path = folder / name
            if path.exists() and path.read_bytes() != content:
                return f"{name} is not what the command writes: {path.stat().st_size} bytes of {len(content)}"
        if all((folder / name).exists() for name in self.reference):
            return ""
        self.run(folder)
        same = all((folder / name).read_bytes() == content for name, content in self.reference.items())
        return "" if same else "the next run writes something else"


class CabinetJob(Job):
    """A cabinet that serves its page in real time."""

    name = "cabinet"
    counts = False
    patience = 0.15

    @cached_property
    def setting(self):
        from appell_lab.campaigns.control import standard_setting

        return standard_setting()

    def serve(self, folder: Path, log: str, seconds: float) -> None:
        from appell.hardware.cabinet.server import serve
        from appell.hardware.cabinet.simulated import SimulatedCabinet

        model, start = self.setting.model, self.setting.servo.wiring.start
        serve(lambda clock: SimulatedCabinet(model, clock, start), folder / "page", folder / log, seconds)

    def work(self, folder: Path, said: np.ndarray) -> None:
        self.serve(folder, "x.log", 30.0)

    def verify(self, folder: Path, said: int) -> str:
        if (folder / "x.log").exists() and (folder / "x.log").stat().st_size:
            try:
                t = Record.read(folder / "x.log").t
            except DescriptionError as error:
                return f"the log of a cabinet cannot be read: {error.problem}"
            if (np.diff(t) <= 0.0).any():
                return "the log of a cabinet goes back in time"
        self.serve(folder, "y.log", 0.01)
        return "the page of a killed cabinet was left behind" if (folder / "page").exists() else ""
