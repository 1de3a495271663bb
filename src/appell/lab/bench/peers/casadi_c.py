"""CasADi's generated C: expressions from Pinocchio's templates over CasADi's symbols, compiled with gcc.

    CasADi C                 derivatives by CasADi's own jacobian()
    CasADi C, recursion      derivatives by Pinocchio's recursions over the same symbols
    CasADi C, packets        the same C with a register of samples as its number (vector extensions, libmvec's sine):
                             nobody ships that, so it is shown and not counted

Results are the nonzeros of CasADi's own patterns; zeros are not written.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from appell.lab.bench.arrange import arranged
from appell.lab.bench.peers.library import bound, library
from appell.lab.bench.peers.peer import Peer, Prepared, States, UnableError
from appell.lab.bench.peers.pinocchio_text import model_text
from appell.lab.bench.peers.rows import driver_arguments, shapes
from appell.lab.bench.peers.workshop import (
    OPTIMISED,
    SOURCES,
    TARGET,
    Workshop,
    compiler,
    compiler_version,
    includes,
    package_folder,
    package_version,
)
from appell.lab.bench.subject import Subject


class CasadiC(Peer):
    """The loop over the batch is in C."""

    name = "CasADi C"
    suffix = ""  # of the quantity, as the generating program knows it
    language, source = "gcc", "casadi_batch.c"
    libraries: tuple[str, ...] = ("-lm",)

    def __init__(self, workshop: Workshop):
        self.workshop = workshop

    def version(self) -> str:
        return f"{package_version('casadi')}, over Pinocchio {package_version('pin')}"

    def flags(self) -> str:
        return f"{compiler_version(self.language)}, {' '.join(OPTIMISED)}"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        made = self._library(subject, quantity)
        twin, count = subject.twin, len(states["q"])
        sizes = shapes(quantity, twin.model.nv, twin.model.njoints - 1)
        given = [np.ascontiguousarray(twin.layout(name, states[name])) for name in driver_arguments(quantity)]
        patterns = [_pattern(made, k) for k in range(len(sizes))]
        nonzeros = [np.zeros((count, len(rows))) for rows, _ in patterns]
        run = bound(made.batch, None, count, [*given, *nonzeros, *[np.zeros(1)] * (3 - len(nonzeros))])

        def ours() -> tuple[np.ndarray, ...]:
            found = []
            for k, (size, (rows, columns), values) in enumerate(zip(sizes, patterns, nonzeros, strict=True)):
                whole = np.zeros((count, *size, 1)[:3])  # a vector is a matrix of one column
                whole[:, rows, columns] = values
                found.append(arranged(twin, quantity, k, whole.reshape(count, *size)))
            return tuple(found)

        return Prepared(run, ours)

    def _library(self, subject: Subject, quantity: str) -> ctypes.CDLL:
        kernel = self._kernel(subject, quantity + self.suffix * ("derivatives" in quantity))
        source = SOURCES / self.source
        command = [compiler(self.language), *OPTIMISED, "-fPIC", "-shared", "-w", f'-DKERNEL="{kernel}"']
        command += [str(source), *self.libraries, "-o", TARGET]
        title = f"{self.name}, {quantity} of {subject.name}"
        return library(self.workshop.make("kernel.so", command, [source, kernel], title))

    def _kernel(self, subject: Subject, quantity: str) -> Path:
        """The generated C."""
        model = self.workshop.keep(f"{subject.name}.model", model_text(subject.twin))
        command = [str(self._generator()), quantity, str(model), TARGET]
        title = f"CasADi's C of {quantity}, {subject.name}"
        return self.workshop.make(f"{subject.name}-{quantity}.c", command, [model], title)

    def _generator(self) -> Path:
        """The program that traces Pinocchio's templates; how fast it is does not matter."""
        folder = package_folder("casadi")
        sources = [SOURCES / "casadi_generate.cpp", SOURCES / "pinocchio_model.hpp"]
        command = [compiler("g++"), "-std=c++17", "-O0", "-DNDEBUG", "-w", *includes(), f"-I{folder / 'include'}"]
        command += [str(sources[0]), f"-L{folder}", "-lcasadi", f"-Wl,-rpath,{folder}", "-o", TARGET]
        title = "the program that traces Pinocchio's templates with CasADi"
        return self.workshop.make("generate.bin", command, sources, title)


class CasadiRecursion(CasadiC):
    """Derivatives by Pinocchio's recursions; everything else is as in CasADi C."""

    name = "CasADi C, recursion"
    suffix = "_recursion"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        if "derivatives" not in quantity:
            raise UnableError("the same as CasADi C.")
        return super().prepare(subject, quantity, states)


class CasadiPackets(CasadiC):
    """Four or eight samples a call."""

    name = "CasADi C, packets"
    counted = False
    language, source = "g++", "casadi_packets.cpp"
    libraries = ("-lmvec", "-lm")


def _pattern(made: ctypes.CDLL, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the nonzeros of result k."""
    made.pattern.restype = ctypes.POINTER(ctypes.c_longlong)
    told = made.pattern(ctypes.c_long(k))
    rows, columns = told[0], told[1]
    if told[2] == 1:
        column, row = np.divmod(np.arange(rows * columns), rows)
        return row, column
    starts = np.array(told[2 : 3 + columns])
    return np.array(told[3 + columns : 3 + columns + starts[-1]], int), np.repeat(np.arange(columns), np.diff(starts))
