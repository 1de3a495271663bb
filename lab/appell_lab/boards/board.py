"""A board: a compiler, its flags, and what runs its programs; here or under an emulator.

    outcome = BOARDS["cortex-m7"].run({"arm": (code, function, samples)}, folder)
    outcome.one["arm"], outcome.batch["arm"]       results of the function for one sample, and of the one for batches

Programs are built with all warnings as errors.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from appell.compile.c.source import CSource
from appell.compile.function import Function
from appell.errors import CompileError
from appell_lab.boards.cortex_m import LINKER_SCRIPT, STARTUP
from appell_lab.boards.program import main_text

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
LIMIT = 600.0  # seconds that a program may take


@dataclass(frozen=True)
class BoardJob:
    """An exported function and the samples that it is called on; the first axis of each array counts samples."""

    code: CSource
    function: Function
    samples: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class BoardOutcome:
    """Results by the names of the jobs, an array a result; on a Cortex-M also instructions a call."""

    one: dict[str, list[np.ndarray]]
    batch: dict[str, list[np.ndarray]]
    instructions: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Board:
    """`packages` are those of Debian that bring what is needed."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    packages: str
    emulator: tuple[str, ...] = ()
    bare: bool = False  # no operating system: its own vectors and linker script
    formats: tuple[str, ...] = ("float64", "float32")

    @property
    def programs(self) -> tuple[str, ...]:
        """Programs of the system that build and run the code."""
        return self.compiler, *self.emulator[:1]

    @property
    def missing(self) -> str:
        """What is not here, as a sentence; nothing if all is."""
        absent = [program for program in self.programs if shutil.which(program) is None]
        return f"{', '.join(absent)} not here: apt-get install {self.packages}" if absent else ""

    def run(self, jobs: Mapping[str, BoardJob], folder: Path, flags: Sequence[str] = ()) -> BoardOutcome:
        """Build one program of all jobs in a folder, run it, and read what it wrote."""
        folder.mkdir(parents=True, exist_ok=True)
        for job in jobs.values():
            job.code.write(folder, overwrite=True)
        texts = {"main.c": main_text(jobs.values())}
        if self.bare:
            texts |= {"startup.c": STARTUP, "board.ld": LINKER_SCRIPT}
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        sources = [f"{job.code.name}.c" for job in jobs.values()] + [name for name in texts if name.endswith(".c")]
        self._command([self.compiler, *self.flags, *STRICT, *flags, *sources, "-o", "program.elf", "-lm"], folder)
        said = self._command([*self.emulator, "./program.elf"], folder)
        return _read(jobs, (folder / "results.bin").read_bytes(), said)

    def _command(self, command: Sequence[str], folder: Path) -> str:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode:
            raise CompileError(f"{self.name}: {command[0]} failed: {(done.stderr or done.stdout).strip()[:2000]}")
        return done.stdout + done.stderr  # semihosting writes to the latter


def _read(jobs: Mapping[str, BoardJob], content: bytes, said: str) -> BoardOutcome:
    found: tuple[dict, dict] = ({}, {})
    place = 0
    for name, job in jobs.items():
        count, kind = len(job.samples[0]), job.samples[0].dtype
        for part in found:
            part[name] = []
            for array in job.function.outputs:
                values = np.frombuffer(content, kind, count * array.size, place)
                place += values.nbytes
                rows = values.reshape(count, -1) if part is found[0] else values.reshape(-1, count).T
                part[name].append(rows.reshape(count, *array.shape))
    lines = [line.split() for line in said.splitlines() if line.startswith("instructions ")]
    symbols = {job.code.name: name for name, job in jobs.items()}
    return BoardOutcome(*found, {symbols[symbol]: int(number) for _, symbol, number in lines})


def cortex(name: str, processor: str, unit: str, machine: str, formats: tuple[str, ...]) -> Board:
    flags = (f"-mcpu={processor}", "-mthumb", "-mfloat-abi=hard", f"-mfpu={unit}", "-DCORTEX_M")
    built = ("-O2", "-ffunction-sections", "-Wl,--gc-sections", "-T", "board.ld", "-specs=rdimon.specs")
    semihosting = ("-semihosting-config", "enable=on,target=native", "-icount", "shift=0")
    emulator = ("qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", *semihosting, "-kernel")
    packages = "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
    return Board(name, "arm-none-eabi-gcc", flags + built, packages, emulator, True, formats)


_NATIVE = ("-O3", "-march=native")
_TYPES = ("float64", "float32")
BOARDS = {
    board.name: board
    for board in (
        Board("gcc", "gcc", _NATIVE, "gcc"),
        Board("clang", "clang", _NATIVE, "clang"),
        Board(
            *("aarch64", "aarch64-linux-gnu-gcc", ("-O3", "-static")),
            *("gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user", ("qemu-aarch64",)),
        ),
        cortex("cortex-m7", "cortex-m7", "fpv5-d16", "mps2-an500", _TYPES),
        cortex("cortex-m4", "cortex-m4", "fpv4-sp-d16", "mps2-an386", ("float32",)),
    )
}
