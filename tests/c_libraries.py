"""Exported C as shared libraries."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np

from programs import find_program


def library(code, folder, optimization="-O2"):
    gcc = find_program("gcc")
    code.write(folder)
    flags = [optimization, "-march=native", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, f"{code.name}.c", "-o", "law.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "law.so"))


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
