"""HPIPM: one Riccati sweep of a linear-quadratic problem.

The library in CasADi's wheel uses generic C kernels of BLASFEO. Sources of BLASFEO and HPIPM in a folder (named by
`APPELL_HPIPM`, with the subfolders blasfeo and hpipm) are built for this processor, which is three to five times
faster; appell is compared with the fastest build.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

import numpy as np

from appell_lab.bench.peers.builds import SOURCES, TARGET, BuildFolder, compiler, package_folder
from appell_lab.bench.peers.library import address, library

NATIVE = "APPELL_HPIPM"
BUILD = """
set -e
mkdir "$0.d"
cp -r {folder}/blasfeo {folder}/hpipm "$0.d"
make -s -C "$0.d/blasfeo" clean TARGET={target} >/dev/null 2>&1
make -s -C "$0.d/blasfeo" static_library TARGET={target} >/dev/null 2>&1
make -s -C "$0.d/hpipm" static_library TARGET=AVX BLASFEO_PATH="$0.d/blasfeo" >/dev/null 2>&1
{gcc} -O2 -fPIC -shared -I"$0.d/hpipm/include" -I"$0.d/blasfeo/include" {driver} \
  "$0.d/hpipm/lib/libhpipm.a" "$0.d/blasfeo/lib/libblasfeo.a" -lm -o "$0"
"""


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
    folder = os.environ.get(NATIVE)
    if folder:
        for target in ("X64_INTEL_HASWELL", "X64_INTEL_SKYLAKE_X"):
            script = BUILD.format(folder=folder, target=target, gcc=gcc, driver=driver)
            title = f"built for {target.removeprefix('X64_INTEL_').lower()}"
            result[title] = builds.make("hpipm.so", ["bash", "-c", script, TARGET], [driver], f"HPIPM {title}")
    return result
