"""The machine that code is made for: this one."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm


@dataclass(frozen=True)
class Target:
    """A processor, in LLVM's words."""

    triple: str
    cpu: str
    features: str  # what the processor can do and what it cannot: "+fma,-avx512f,…"
    has_fma: bool  # whether x y + z rounds once in hardware

    @property
    def identity(self) -> str:
        """All that machine code depends on besides the program it was made from."""
        return "\n".join([self.triple, self.cpu, self.features, llvmlite.__version__, str(llvm.llvm_version_info)])


@cache
def host() -> Target:
    """The processor this process runs on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    arm = platform.machine().lower() in ("aarch64", "arm64")
    return Target(
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        has_fma=arm or bool(features.get("fma")),
    )
