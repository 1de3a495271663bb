"""How fast the machine is right now: an anchor loop around every figure, and the peak of fused multiplications.

    anchor    a chain of fused multiplications, each waiting for the one before: nothing but the clock of the core
              changes its time, so figures of a fast and of a slow minute can be compared
    peak      independent ones, as many at once as the registers of the machine hold: what a kernel could reach if it
              did nothing else and never waited

Both are loops in machine code, made on the spot as kernels are. Without fused multiplications in hardware the chain and
the peak are of plain multiplications and additions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from appell.compile.native.machine import Code, assemble, host

CHAIN = 16  # steps of the anchor in a turn of its loop
CHAINS = 12  # independent chains of the peak: more than latency times ports, fewer than registers
TURNS = 2000


@dataclass(frozen=True)
class Gauge:
    """A loop in machine code and the fused multiplications, of a register each, that a call does."""

    run: Callable[[], object]
    steps: int


@cache
def anchor() -> Gauge:
    """One chain of scalars."""
    return _loop("anchor", "double", chains=1, length=CHAIN)


@cache
def peak(width: int) -> Gauge:
    """Independent chains of registers of so many doubles."""
    return _loop("peak", f"<{width} x double>", chains=CHAINS, length=2)


def _loop(name: str, kind: str, chains: int, length: int) -> Gauge:
    target = host()
    constant = "splat (double {})" if kind.startswith("<") else "{}"
    factor, term = constant.format("0x3FEFFFFFFFFFFFFE"), constant.format("0x3E45798EE2308C3A")
    body, last = [], [f"%x{c}" for c in range(chains)]
    for step in range(length):
        for c in range(chains):
            here = f"%y{c}_{step}"
            if target.has_fma:
                call = f"call {kind} @llvm.fma({kind} {last[c]}, {kind} {factor}, {kind} {term})"
                body.append(f"  {here} = {call}")
            else:
                body += [f"  {here}m = fmul {kind} {last[c]}, {factor}", f"  {here} = fadd {kind} {here}m, {term}"]
            last[c] = here
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
            f"  %more = icmp ult i64 %next, {TURNS}",
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
    room = (ctypes.c_double * 16)()
    where = ctypes.cast(room, ctypes.c_void_p)

    def run(kept=(code, room)):  # the machine code lives as long as the call
        function(where)

    return Gauge(run, chains * length * TURNS)
