"""Pinocchio from C++: its templates compiled for this machine, and the loop over the batch in C++ too."""

from __future__ import annotations

import ctypes

import numpy as np

from appell_lab.bench.arrange import arranged
from appell_lab.bench.peers.library import RobotHandles, bound, library
from appell_lab.bench.peers.peer import Peer, Prepared, States
from appell_lab.bench.peers.pinocchio_text import model_text
from appell_lab.bench.peers.quantities import driver_arguments, shapes
from appell_lab.bench.peers.builds import (
    OPTIMISED,
    SOURCES,
    TARGET,
    BuildFolder,
    compiler,
    compiler_version,
    includes,
    package_version,
)
from appell_lab.bench.subject import Subject


class PinocchioCpp(Peer):
    """Every result is written into the arrays of the batch; derivatives directly, others from Pinocchio's data."""

    name = "Pinocchio C++"

    def __init__(self, workshop: BuildFolder):
        self.workshop = workshop
        self._robots = RobotHandles()

    def version(self) -> str:
        return package_version("pin")

    def flags(self) -> str:
        return f"{compiler_version('g++')}, {' '.join(OPTIMISED)}"

    def prepare(self, subject: Subject, quantity: str, states: States) -> Prepared:
        twin, made = subject.twin, self._library()
        handle = self._robots.handle(made, subject.name, model_text(twin), "the driver of Pinocchio")
        count, nv = len(states["q"]), twin.model.nv
        given = [np.ascontiguousarray(twin.layout(name, states[name])) for name in driver_arguments(quantity)]
        # Eigen's matrices are stored by columns
        results = [np.zeros((count, *shape[::-1])) for shape in shapes(quantity, nv, twin.model.njoints - 1)]
        run = bound(getattr(made, quantity), handle, count, [*given, *results])

        def ours() -> tuple[np.ndarray, ...]:
            plain = (np.swapaxes(array, 1, 2) if array.ndim == 3 else array for array in results)
            return tuple(arranged(twin, quantity, k, array) for k, array in enumerate(plain))

        return Prepared(run, ours)

    def _library(self) -> ctypes.CDLL:
        sources = [SOURCES / "pinocchio_batch.cpp", SOURCES / "pinocchio_model.hpp"]
        command = [compiler("g++"), "-std=c++17", *OPTIMISED, "-fPIC", "-shared", "-w", *includes()]
        command += [str(sources[0]), "-o", TARGET]
        return library(self.workshop.make("pinocchio.so", command, sources, "Pinocchio's templates"))
