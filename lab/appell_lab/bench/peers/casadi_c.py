"""CasADi's generated C, compiled with gcc: textbook recursions over its symbols, derivatives by its jacobian().

    CasADi C                 one sample per call, the loop over the batch in C
    CasADi C, packets        the same C with a register of samples as its number type (vector extensions, libmvec's
                             sine); this is not distributed anywhere, so it is shown but not counted

Results are the nonzeros of CasADi's sparsity patterns; zeros are not written. The recursions are those that users write
in CasADi (`sources/casadi_generate.py`); Pinocchio's templates over CasADi's symbols would give the same formulas after
minutes of compilation with 3 GB of memory.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np

from appell_lab.bench.arrange import arranged
from appell_lab.bench.peers.builds import (
    SOURCES,
    TARGET,
    BuildFolder,
    compiler,
    compiler_version,
    optimised,
    package_version,
)
from appell_lab.bench.peers.library import bound, library
from appell_lab.bench.peers.peer import Peer, Prepared, States
from appell_lab.bench.peers.pinocchio_text import model_text
from appell_lab.bench.peers.quantities import driver_arguments, shapes
from appell_lab.bench.subject import Subject


class CasadiC(Peer):
    """CasADi's C, with the loop over the batch in C."""

    name = "CasADi C"
    language, source = "gcc", "casadi_batch.c"
    libraries: tuple[str, ...] = ("-lm",)

    def __init__(self, builds: BuildFolder):
        self.builds = builds

    def version(self) -> str:
        return package_version("casadi")

    def flags(self) -> str:
        return f"{compiler_version(self.language)}, {' '.join(optimised())}"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        compiled = self._library(subject, quantity)
        twin, count = subject.twin, len(states["q"])
        sizes = shapes(quantity, twin.model.nv, twin.model.njoints - 1)
        given = [np.ascontiguousarray(twin.layout(name, states[name])) for name in driver_arguments(quantity)]
        patterns = [_pattern(compiled, k) for k in range(len(sizes))]
        nonzeros = [np.zeros((count, len(rows))) for rows, _ in patterns]
        run = bound(compiled.batch, None, count, [*given, *nonzeros, *[np.zeros(1)] * (3 - len(nonzeros))])

        def ours() -> tuple[np.ndarray, ...]:
            results = []
            for k, (size, (rows, columns), values) in enumerate(zip(sizes, patterns, nonzeros, strict=True)):
                dense = np.zeros((count, *size, 1)[:3])  # a vector is a matrix with one column
                dense[:, rows, columns] = values
                results.append(arranged(twin, quantity, k, dense.reshape(count, *size)))
            return tuple(results)

        return Prepared(run, ours)

    def _library(self, subject: Subject, quantity: str) -> ctypes.CDLL:
        kernel = self._kernel(subject, quantity)
        source = SOURCES / self.source
        command = [compiler(self.language), *optimised(), "-fPIC", "-shared", "-w", f'-DKERNEL="{kernel}"']
        command += [str(source), *self.libraries, "-o", TARGET]
        title = f"{self.name}, {quantity} of {subject.name}"
        return library(self.builds.make("kernel.so", command, [source, kernel], title))

    def _kernel(self, subject: Subject, quantity: str) -> Path:
        """Return the file with the generated C."""
        package_version("casadi")
        model = self.builds.keep(f"{subject.name}.model", model_text(subject.twin))
        program = SOURCES / "casadi_generate.py"
        command = [sys.executable, str(program), quantity, str(model), TARGET]
        title = f"CasADi's C of {quantity}, {subject.name}"
        generated = self.builds.make(f"{subject.name}-{quantity}.c", command, [program, model], title)
        # named by its content, so that generating the same C again does not cause a new build
        return self.builds.keep("kernel.c", generated.read_text(encoding="utf-8"))


class CasadiPackets(CasadiC):
    """Four or eight samples per call."""

    name = "CasADi C, packets"
    counted = False
    language, source = "g++", "casadi_packets.cpp"
    libraries = ("-lmvec", "-lm")


def _pattern(compiled: ctypes.CDLL, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the nonzeros of result k."""
    compiled.pattern.restype = ctypes.POINTER(ctypes.c_longlong)
    sparsity = compiled.pattern(ctypes.c_long(k))
    rows, columns = sparsity[0], sparsity[1]
    if sparsity[2] == 1:
        column, row = np.divmod(np.arange(rows * columns), rows)
        return row, column
    starts = np.array(sparsity[2 : 3 + columns])
    return np.array(sparsity[3 + columns : 3 + columns + starts[-1]], int), np.repeat(
        np.arange(columns), np.diff(starts)
    )
