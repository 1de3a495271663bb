"""Pinocchio in C++: its templates compiled for this machine, with the loop over the batch in C++."""

from __future__ import annotations

import ctypes

import numpy as np

from appell_lab.bench.arrange import arranged
from appell_lab.bench.peers.builds import (
    SOURCES,
    TARGET,
    BuildFolder,
    compiler,
    compiler_version,
    includes,
    optimised,
    package_version,
)
from appell_lab.bench.peers.library import RobotHandles, bound, library
from appell_lab.bench.peers.peer import Peer, Prepared, States
from appell_lab.bench.peers.pinocchio_text import model_text
from appell_lab.bench.peers.quantities import driver_arguments, shapes
from appell_lab.bench.subject import Subject


class PinocchioCpp(Peer):
    """Pinocchio's C++; results are written into the arrays of the batch, derivatives directly, others from its data."""

    name = "Pinocchio C++"

    def __init__(self, builds: BuildFolder):
        self.builds = builds
        self._robots = RobotHandles()

    def version(self) -> str:
        return package_version("pin")

    def flags(self) -> str:
        return f"{compiler_version('g++')}, {' '.join(optimised())}"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        twin, compiled = subject.twin, self._library()
        handle = self._robots.handle(compiled, subject.name, model_text(twin), "the Pinocchio driver")
        count, nv = len(states["q"]), twin.model.nv
        given = [np.ascontiguousarray(twin.layout(name, states[name])) for name in driver_arguments(quantity)]
        # Eigen stores matrices by columns
        results = [np.zeros((count, *shape[::-1])) for shape in shapes(quantity, nv, twin.model.njoints - 1)]
        run = bound(getattr(compiled, quantity), handle, count, [*given, *results])

        def ours() -> tuple[np.ndarray, ...]:
            by_rows = (np.swapaxes(array, 1, 2) if array.ndim == 3 else array for array in results)
            return tuple(arranged(twin, quantity, k, array) for k, array in enumerate(by_rows))

        return Prepared(run, ours)

    def _library(self) -> ctypes.CDLL:
        sources = [SOURCES / "pinocchio_batch.cpp", SOURCES / "pinocchio_model.hpp"]
        command = [compiler("g++"), "-std=c++17", *optimised(), "-fPIC", "-shared", "-w", *includes()]
        command += [str(sources[0]), "-o", TARGET]
        return library(self.builds.make("pinocchio.so", command, sources, "Pinocchio's templates"))
