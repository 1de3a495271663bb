"""The machine that code is made for: this one."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from appell.compile.emit.lanes import NARROW

_WIDE = 64  # bytes


@dataclass(frozen=True)
class Target:
    """A processor, in LLVM's words."""

    triple: str
    cpu: str
    features: str  # what the processor can do and what it cannot: "+fma,-avx512f,…"
    has_fma: bool  # whether x y + z rounds once in hardware
    register: int = NARROW  # bytes of the widest SIMD register
    cache: int = 32 << 10  # bytes of the first cache for data

    @property
    def identity(self) -> str:
        """All that machine code depends on besides the program it was made from."""
        return "\n".join([self.triple, self.cpu, self.features, llvmlite.__version__, str(llvm.llvm_version_info)])


@cache
def host() -> Target:
    """The processor this process runs on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    arm = platform.machine().lower() in ("aarch64", "arm64")
    names = llvm.get_process_triple(), llvm.get_host_cpu_name()
    return describe(*names, llvm.get_host_cpu_features(), arm, _first_cache())


def _first_cache() -> int:
    """What the system says, if it says anything; what every processor of today has, if not."""
    try:
        told = Path("/sys/devices/system/cpu/cpu0/cache/index0/size").read_text()
        return int(told.strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        return Target.cache


def describe(triple: str, cpu: str, features: llvm.FeatureMap, arm: bool, cache: int = Target.cache) -> Target:
    """A processor by its features. LLVM splits the widest registers of some unless it is told to use them."""
    wide = bool(features.get("avx512f"))
    return Target(
        triple=triple,
        cpu=cpu,
        features=features.flatten() + (",-prefer-256-bit" if wide else ""),
        has_fma=arm or bool(features.get("fma")),
        register=_WIDE if wide else NARROW,
        cache=cache,
    )
