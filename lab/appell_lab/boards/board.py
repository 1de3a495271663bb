"""A board: a compiler, its flags, and the emulator that runs its programs, if one is needed.

    outcome = BOARDS["cortex-m7"].run({"arm": BoardJob(code, function, samples)}, folder)
    outcome.one["arm"], outcome.batch["arm"]       results of the function for one sample, and of that for batches

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
TIMEOUT_S = 600.0  # for a build or a run


@dataclass(frozen=True)
class BoardJob:
    """An exported function and the samples with which it is called; samples are the first axis of each array."""

    code: CSource
    function: Function
    samples: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class BoardOutcome:
    """Results by name of the job, one array per result."""

    one: dict[str, list[np.ndarray]]  # of the function for one sample
    batch: dict[str, list[np.ndarray]]  # of the function for batches
    instructions: dict[str, int] = field(default_factory=dict)  # per call, on a Cortex-M


@dataclass(frozen=True)
class Board:
    """A compiler, its flags and an emulator."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    packages: str  # Debian packages that provide the compiler and the emulator
    emulator: tuple[str, ...] = ()
    bare: bool = False  # without an operating system: needs startup code and a linker script
    formats: tuple[str, ...] = ("float64", "float32")

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that build and run the code."""
        return self.compiler, *self.emulator[:1]

    @property
    def missing(self) -> str:
        """Programs that are not installed and how to install them, as text; empty if none is missing."""
        absent = [program for program in self.programs if shutil.which(program) is None]
        return f"{', '.join(absent)} not installed: apt-get install {self.packages}" if absent else ""

    def run(self, jobs: Mapping[str, BoardJob], folder: Path, flags: Sequence[str] = ()) -> BoardOutcome:
        """Build one program for all jobs in a folder, run it, and read its results.

        Parameters
        ----------
        jobs : the jobs by name
        folder : folder for sources, program and results
        flags : further flags of the compiler
        """
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
        printed = self._command([*self.emulator, "./program.elf"], folder)
        return _read(jobs, (folder / "results.bin").read_bytes(), printed)

    def _command(self, command: Sequence[str], folder: Path) -> str:
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
        if process.returncode:
            message = (process.stderr or process.stdout).strip()[:2000]
            raise CompileError(f"{self.name}: {command[0]} failed: {message}")
        return process.stdout + process.stderr  # semihosting writes to stderr


def _read(jobs: Mapping[str, BoardJob], content: bytes, printed: str) -> BoardOutcome:
    one: dict[str, list[np.ndarray]] = {}
    batch: dict[str, list[np.ndarray]] = {}
    offset = 0
    for name, job in jobs.items():
        count, kind = len(job.samples[0]), job.samples[0].dtype
        for results in (one, batch):
            results[name] = []
            for array in job.function.outputs:
                values = np.frombuffer(content, kind, count * array.size, offset)
                offset += values.nbytes
                rows = values.reshape(count, -1) if results is one else values.reshape(-1, count).T
                results[name].append(rows.reshape(count, *array.shape))
    lines = [line.split() for line in printed.splitlines() if line.startswith("instructions ")]
    symbols = {job.code.name: name for name, job in jobs.items()}
    return BoardOutcome(one, batch, {symbols[symbol]: int(number) for _, symbol, number in lines})


def cortex(name: str, processor: str, unit: str, machine: str, formats: tuple[str, ...]) -> Board:
    """Return a Cortex-M board, emulated by qemu.

    Parameters
    ----------
    name : name of the board
    processor : processor, for the compiler
    unit : floating-point unit, for the compiler
    machine : machine, for qemu
    formats : formats of numbers that the floating-point unit supports
    """
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
