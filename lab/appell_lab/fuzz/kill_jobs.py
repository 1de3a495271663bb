"""Processes that the target `kills` kills: what each of them does, and what must be true of its folder afterwards.

A job reports its progress as a count in shared memory: what it has counted is guaranteed to be written. `work` runs in
the process that is killed. `verify` describes what is wrong with the files, and checks that the work can be repeated.
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
    """A process that writes files."""

    name: ClassVar[str]
    kill_window_s: ClassVar[float] = 0.003  # the kill happens within this time after the requested count
    counts: ClassVar[bool] = True  # whether it reports its progress
    exit_codes: ClassVar[tuple[int, ...]] = (0,)  # of a process that was not killed

    @abstractmethod
    def work(self, folder: Path, progress: np.ndarray) -> None:
        """Write files without end, or once; progress[0] counts what is written."""

    @abstractmethod
    def verify(self, folder: Path, written: int) -> str:
        """Return what is wrong with the files, of which `written` were counted; empty if nothing is."""


class JournalJob(Job):
    """Writes rows of a journal."""

    name = "journal"
    columns = ("t", "a", "b")

    def work(self, folder: Path, progress: np.ndarray) -> None:
        writer = JournalWriter(folder / "x.log", self.columns, {"robot": "r"})
        for k in range(200_000):
            writer.row[:] = k, np.sin(k), -k
            writer.commit()
            progress[0] = k + 1

    def verify(self, folder: Path, written: int) -> str:
        path = folder / "x.log"
        try:
            data = Record.read(path).data if path.exists() else np.zeros((0, 3))
        except DescriptionError as error:
            return "" if not written else f"a journal of {written} rows cannot be read: {error.problem}"
        k = np.arange(len(data), dtype=float)
        if len(data) < written:
            return f"a journal has {len(data)} of {written} committed rows"
        return "" if np.array_equal(data, np.column_stack([k, np.sin(k), -k])) else "a journal has wrong rows"


class RecordJob(Job):
    """Overwrites a record again and again, in one format."""

    def __init__(self, ending: str):
        self.ending = ending
        self.name = f"record .{ending}"  # type: ignore[misc]

    @staticmethod
    def version(k: int) -> Record:
        """Return the k-th version of the record."""
        t = np.arange(200) / 100.0
        return Record.of(t, {"q": np.full((200, 3), float(k))}, about={"robot": f"v{k}"})

    def work(self, folder: Path, progress: np.ndarray) -> None:
        for k in range(1, 100_000):
            self.version(k).write(folder / f"r.{self.ending}", overwrite=True)
            progress[0] = k

    def verify(self, folder: Path, written: int) -> str:
        path = folder / f"r.{self.ending}"
        if not path.exists():
            return f"a record that was written {written} times does not exist" if written else ""
        record = Record.read(path)
        k = int(record.q[0, 0])
        complete = np.array_equal(record.data, self.version(k).data) and record.about["robot"] == f"v{k}"
        if not complete or k not in (written, written + 1):
            state = "complete" if complete else "incomplete"
            return f"a record of version {written} or {written + 1} is version {k} and {state}"
        self.version(7).write(path, overwrite=True)
        return "" if Record.read(path).q[0, 0] == 7.0 else "the next record cannot be read"


class DescriptionJob(Job):
    """Overwrites robot files again and again."""

    name = "robot files"

    def work(self, folder: Path, progress: np.ndarray) -> None:
        robot = load("planar-2r")
        for k in range(1, 100_000):
            robot_k = load("planar-2r", name=f"v{k}") if k < 3 else robot.with_gravity((0.0, 0.0, -float(k)))
            to_toml(robot_k, folder / "r.toml", overwrite=True)
            to_urdf(robot, folder / "r.urdf", overwrite=True)
            progress[0] = k

    def verify(self, folder: Path, written: int) -> str:
        for path in (folder / "r.toml", folder / "r.urdf"):
            if path.exists():
                load(path)
            elif written:
                return f"{path.name} was written {written} times and does not exist"
        return ""


@cache
def _line(k: int) -> Function:
    return Function.of(f"line{k}", {"x": 1}, lambda x: {"y": [k * x[0] + 1.0]})


class KernelJob(Job):
    """Compiles functions into a cache folder."""

    name = "compile"

    def work(self, folder: Path, progress: np.ndarray) -> None:
        os.environ["APPELL_CACHE"] = str(folder / "cache")
        for k in range(1, 200):
            Function(_line(k).tape).bind()
            progress[0] = k

    def verify(self, folder: Path, written: int) -> str:
        os.environ["APPELL_CACHE"] = str(folder / "cache")
        with warnings.catch_warnings():
            warnings.simplefilter("error", CacheWarning)
            for k in range(max(1, written - 2), written + 2):
                call: Any = Function(_line(k).tape).bind()
                call.x[:] = 3.0
                call()
                if call.y[0] != 3.0 * k + 1.0:
                    return f"kernel {k} returns {call.y[0]}"
        return ""


class LoopJob(Job):
    """Runs a control loop on a virtual clock and writes its log."""

    name = "control loop"

    @cached_property
    def setting(self):
        """The setting of the fault campaign."""
        from appell_lab.campaigns.control import standard_setting

        return standard_setting()

    def work(self, folder: Path, progress: np.ndarray) -> None:
        from appell.hardware.cabinet.simulated import SimulatedCabinet
        from appell.hardware.clock import VirtualClock
        from appell.hardware.loop.control_loop import Loop

        clock, servo = VirtualClock(), self.setting.servo
        cabinet = SimulatedCabinet(self.setting.model, clock, self.setting.model.wiring.start, seed=1)
        loop = Loop(cabinet, servo, clock, log=folder / "x.log")
        for k in range(20_000):
            if k == 25:
                loop.arm()
            loop.tick()
            progress[0] = k + 1

    def verify(self, folder: Path, written: int) -> str:
        from appell.hardware.loop.replay import first_difference, replay

        path = folder / "x.log"
        if not path.exists() or (not written and path.stat().st_size == 0):
            return "" if not written else "a log does not exist"
        try:
            log = Record.read(path)
        except DescriptionError as error:
            return "" if not written else f"a log of {written} ticks cannot be read: {error.problem}"
        if len(log) < written:
            return f"a log has {len(log)} rows for {written} ticks"
        start = log.part(slice(0, 300))
        if not len(start) or first_difference(start, replay(start, self.setting.servo)) is None:
            return ""
        return "the replay differs"


class CommandJob(Job):
    """Runs a command that writes files, from the start of Python to its end."""

    counts = False
    exit_codes = (0, 3)  # 3: the files are written, and the verdict of the command is FAIL

    def __init__(self, name: str, arguments: Sequence[str], outputs: Sequence[str]):
        self.name, self.arguments, self.outputs = name, list(arguments), tuple(outputs)  # type: ignore[misc]

    def command(self, folder: Path) -> list[str]:
        """Return the command line; "{}" in arguments stands for the folder."""
        return [sys.executable, "-m", "appell", *(word.replace("{}", str(folder)) for word in self.arguments)]

    def run(self, folder: Path) -> None:
        """Run the command to its end."""
        subprocess.run(self.command(folder), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def work(self, folder: Path, progress: np.ndarray) -> None:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(sys.executable, self.command(folder))

    @cached_property
    def reference(self) -> dict[str, bytes]:
        """The files that the command writes if it is not killed; also sets `kill_window_s` to its duration."""
        with tempfile.TemporaryDirectory() as folder:
            self.run(Path(folder))
            start = time.monotonic()
            self.run(Path(folder))
            self.kill_window_s = time.monotonic() - start  # type: ignore[misc]
            return {name: (Path(folder) / name).read_bytes() for name in self.outputs}

    def verify(self, folder: Path, written: int) -> str:
        for name, content in self.reference.items():
            path = folder / name
            if path.exists() and path.read_bytes() != content:
                return f"{name} differs from the output of the command: {path.stat().st_size} bytes of {len(content)}"
        if all((folder / name).exists() for name in self.reference):
            return ""
        self.run(folder)
        same = all((folder / name).read_bytes() == content for name, content in self.reference.items())
        return "" if same else "the next run writes different files"


class CabinetJob(Job):
    """Runs a simulated cabinet that serves its shared page in real time."""

    name = "cabinet"
    counts = False
    kill_window_s = 0.15

    @cached_property
    def setting(self):
        """The setting of the fault campaign."""
        from appell_lab.campaigns.control import standard_setting

        return standard_setting()

    def serve(self, folder: Path, log: str, seconds: float) -> None:
        """Serve the page for some seconds."""
        from appell.hardware.cabinet.server import serve
        from appell.hardware.cabinet.simulated import SimulatedCabinet

        model, start = self.setting.model, self.setting.model.wiring.start
        serve(lambda clock: SimulatedCabinet(model, clock, start), folder / "page", folder / log, seconds)

    def work(self, folder: Path, progress: np.ndarray) -> None:
        self.serve(folder, "x.log", 30.0)

    def verify(self, folder: Path, written: int) -> str:
        if (folder / "x.log").exists() and (folder / "x.log").stat().st_size:
            try:
                t = Record.read(folder / "x.log").t
            except DescriptionError as error:
                return f"the log of a cabinet cannot be read: {error.problem}"
            if (np.diff(t) <= 0.0).any():
                return "the times in the log of a cabinet decrease"
        self.serve(folder, "y.log", 0.01)
        return "the page of a killed cabinet was not removed" if (folder / "page").exists() else ""
