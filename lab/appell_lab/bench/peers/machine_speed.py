"""The current speed of the machine: a reference loop timed with every figure, and the peak of fused multiply-adds.

    anchor    a chain of fused multiply-adds, each of which depends on the previous one: its time depends only on the
              clock frequency of the core, so that figures from fast and slow periods can be compared
    peak      independent fused multiply-adds on all registers of the machine: the speed of a kernel that does nothing
              else and never waits

Both are loops in machine code, generated like kernels. Without fused multiply-add in hardware, they consist of
multiplications and additions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from appell.compile.native.machine import Code, assemble, host

CHAIN_LENGTH = 16  # steps of the reference loop per iteration
PEAK_CHAINS = 12  # independent chains: more than latency times ports, fewer than registers
ITERATIONS = 2000


@dataclass(frozen=True)
class Gauge:
    """A loop in machine code, and the number of fused multiply-adds (of one register each) per call."""

    run: Callable[[], object]
    steps: int


@cache
def anchor() -> Gauge:
    """Return the reference loop, one chain of scalars."""
    return _loop("anchor", "double", chains=1, length=CHAIN_LENGTH)


@cache
def peak(width: int) -> Gauge:
    """Return the loop of independent chains of registers with `width` doubles."""
    return _loop("peak", f"<{width} x double>", chains=PEAK_CHAINS, length=2)


def _loop(name: str, kind: str, chains: int, length: int) -> Gauge:
    target = host()
    constant = "splat (double {})" if kind.startswith("<") else "{}"
    factor, term = constant.format("0x3FEFFFFFFFFFFFFE"), constant.format("0x3E45798EE2308C3A")
    body, last = [], [f"%x{c}" for c in range(chains)]
    for step in range(length):
        for c in range(chains):
            result = f"%y{c}_{step}"
            if target.has_fma:
                call = f"call {kind} @llvm.fma({kind} {last[c]}, {kind} {factor}, {kind} {term})"
                body.append(f"  {result} = {call}")
            else:
                body += [
                    f"  {result}m = fmul {kind} {last[c]}, {factor}",
                    f"  {result} = fadd {kind} {result}m, {term}",
                ]
            last[c] = result
    start = constant.format("0x3FF0000000000000")
    phis = [f"  %x{c} = phi {kind} [ {start}, %entry ], [ {last[c]}, %loop ]" for c in range(chains)]
    total, sums = last[0], []
    for c in range(1, chains):
        sums.append(f"  %s{c} = fadd {kind} {total}, {last[c]}")
        total = f"%s{c}"
    text = "\n".join(
        [
            f"declare {kind} @llvm.fma({kind}, {kind}, {kind})",
            f"define void @{name}(ptr %out) nounwind {{",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %k = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *phis,
            *body,
            "  %next = add i64 %k, 1",
            f"  %more = icmp ult i64 %next, {ITERATIONS}",
            "  br i1 %more, label %loop, label %end",
            "end:",
            *sums,
            f"  store {kind} {total}, ptr %out, align 8",
            "  ret void",
            "}",
            "",
        ]
    )
    code = Code(assemble(text, target, name), name)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address)
    output = (ctypes.c_double * 16)()
    pointer = ctypes.cast(output, ctypes.c_void_p)

    def run(kept=(code, output)):  # keeps the machine code and the output alive
        function(pointer)

    return Gauge(run, chains * length * ITERATIONS)
