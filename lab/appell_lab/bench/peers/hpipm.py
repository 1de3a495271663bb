"""HPIPM: one Riccati sweep of a linear-quadratic problem.

The library in CasADi's wheel uses generic C kernels of BLASFEO. Installations of BLASFEO and HPIPM for this processor,
which are three to five times faster, are named by `APPELL_HPIPM`: folders with `include` and the static libraries in
`lib`, separated as in PATH. appell is compared with the fastest of all.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

import numpy as np

from appell_lab.bench.peers.builds import SOURCES, TARGET, BuildFolder, compiler, package_folder
from appell_lab.bench.peers.library import address, library

INSTALLED = "APPELL_HPIPM"


class Sweep:
    """HPIPM's sweep for given matrices; `matrices` has A, B, b, Q, S, R, q, r of all knots (Q and q: one more)."""

    def __init__(self, path: Path, matrices: dict[str, np.ndarray]):
        self.library = library(path)
        N, nx, nu = matrices["B"].shape
        self.size = N, nx, nu
        self._arrays = [
            np.ascontiguousarray(np.swapaxes(m, 1, 2) if m.ndim == 3 else m)
            for m in (matrices[name] for name in ("A", "B", "b", "Q", "S", "R", "q", "r"))
        ] + [np.zeros((N + 1, nx)), np.zeros((N, nu))]
        pointers = (ctypes.c_void_p * len(self._arrays))(*(array.ctypes.data for array in self._arrays))
        self.library.prepare((ctypes.c_int * 3)(N, nx, nu), pointers)

    def solution(self) -> tuple[np.ndarray, np.ndarray]:
        """Return states and controls of one sweep."""
        N, nx, nu = self.size
        x, u = np.zeros((N + 1, nx)), np.zeros((N, nu))
        self.library.sweep(1)
        self.library.solution(address(x), address(u))
        return x, u

    def seconds(self, count: int = 20, copies: bool = False) -> float:
        """Return the processor time of one sweep, the mean of `count`; `copies` includes those into and from HPIPM."""
        run = self.library.sweep_with_copies if copies else self.library.sweep
        before = time.process_time()
        run(ctypes.c_int(count))
        return (time.process_time() - before) / count


def libraries(builds: BuildFolder) -> dict[str, Path]:
    """Return the drivers that can be built, by title."""
    driver, gcc, casadi = SOURCES / "hpipm_sweep.c", compiler("gcc"), package_folder("casadi")
    flags = ["-O2", "-fPIC", "-shared", f"-I{casadi / 'include'}", str(driver), f"-L{casadi}", "-lhpipm", "-lblasfeo"]
    command = [gcc, *flags, f"-Wl,-rpath,{casadi}", "-o", TARGET]
    result = {"CasADi's wheel (generic kernels)": builds.make("hpipm.so", command, [driver], "HPIPM of CasADi")}
    for folder in map(Path, filter(None, os.environ.get(INSTALLED, "").split(os.pathsep))):
        archives = [str(folder / "lib" / f"lib{name}.a") for name in ("hpipm", "blasfeo")]
        flags = ["-O2", "-fPIC", "-shared", f"-I{folder / 'include'}", str(driver), *archives, "-lm"]
        sources, title = [driver, *map(Path, archives)], f"HPIPM, {folder.name}"
        result[folder.name] = builds.make("hpipm.so", [gcc, *flags, "-o", TARGET], sources, title)
    return result
