"""The program that calls exported functions on given samples and keeps the bits of their results in a file.

Samples stand in it as bits. A function is called on every sample alone, then on all of them at once. On a Cortex-M the
clock of the emulator counts instructions, and the program prints how many the first sample takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from appell.compile.c.statements import fill

if TYPE_CHECKING:
    from appell_lab.boards.board import BoardJob

_MAIN = """\
#include <stdint.h>
#include <stdio.h>
#include <string.h>
@includes@
#if defined(CORTEX_M)
#define CLOCK (*(volatile uint32_t *)0xE000E018)
#define TIMES 400u
#define PER_TICK 40u /* instructions of a nanosecond each, ticks of 25 MHz */
#endif
@jobs@
int main(void)
{
    FILE *file = fopen("results.bin", "wb");
    int good = file != NULL;

#if defined(CORTEX_M)
    *(volatile uint32_t *)0xE000E014 = 0xFFFFFF;
    *(volatile uint32_t *)0xE000E010 = 5;
#endif
@calls@    return good && fclose(file) == 0 ? 0 : 1;
}
"""

_JOB = """
@tables@
static int run_@P@(FILE *file)
{
@arrays@    size_t i, k;
    int good = 1;

@unpack@    for (i = 0; i < @count@; ++i)
        @P@(@one@);
@keep_one@@turn@    @P@_batch(@count@, @batch@);
@keep_batch@    (void)k;
#if defined(CORTEX_M)
    {
        uint32_t empty, full, before = CLOCK;
        volatile uint32_t turns;

        for (turns = 0; turns < TIMES; ++turns)
            continue;
        empty = (before - CLOCK) & 0xFFFFFFu;
        before = CLOCK;
        for (turns = 0; turns < TIMES; ++turns)
            @P@(@first@);
        full = (before - CLOCK) & 0xFFFFFFu;
        printf("instructions @P@ %lu\\n", (unsigned long)((full - empty) * PER_TICK / TIMES));
    }
#endif
    return good;
}
"""


def main_text(jobs: Iterable[BoardJob]) -> str:
    """The text of the program."""
    made = list(jobs)
    names = [job.code.name for job in made]
    return fill(
        _MAIN,
        {
            "includes": "".join(f'#include "{name}.h"\n' for name in names),
            "jobs": "".join(_job(job) for job in made),
            "calls": "".join(f"    good = good && run_{name}(file);\n" for name in names),
        },
    )


def _job(job: BoardJob) -> str:
    count, kind = len(job.samples[0]), job.samples[0].dtype
    real, word = ("double", "uint64_t") if kind == np.float64 else ("float", "uint32_t")
    tables, arrays, unpack, turn = "", "", "", ""
    one, first, batch, keep = [], [], [], ""
    for k, (array, values) in enumerate(zip(job.function.inputs, job.samples, strict=True)):
        bits = np.ascontiguousarray(values).view(word.removesuffix("_t")).ravel()
        rows = ",\n".join(", ".join(f"{x:#x}u" for x in bits[j : j + 8]) for j in range(0, bits.size, 8))
        tables += f"static const {word} bits{k}_@P@[] = {{\n{rows}\n}};\n"
        arrays += f"    static {real} x{k}[{bits.size}], columns{k}[{bits.size}];\n"
        unpack += f"    memcpy(x{k}, bits{k}_@P@, sizeof x{k});\n"
        size = array.size
        turn += f"    for (i = 0; i < {count}; ++i)\n        for (k = 0; k < {size}; ++k)\n"
        turn += f"            columns{k}[k * {count} + i] = x{k}[i * {size} + k];\n"
        one.append(f"x{k} + i * {size}" if array.shape else f"x{k}[i]")
        first.append(f"x{k}" if array.shape else f"x{k}[0]")
        batch.append(f"columns{k}")
    for k, array in enumerate(job.function.outputs):
        arrays += f"    static {real} y{k}[{count * array.size}];\n"
        keep += f"    good = good && fwrite(y{k}, sizeof y{k}, 1, file) == 1;\n"
        one.append(f"y{k} + i * {array.size}")
        first.append(f"y{k}")
        batch.append(f"y{k}")
    words = {
        "tables": tables,
        "arrays": arrays,
        "unpack": unpack,
        "turn": turn,
        "one": ", ".join(one),
        "first": ", ".join(first),
        "batch": ", ".join(batch),
        "keep_one": keep,
        "keep_batch": keep,
        "count": str(count),
        "P": job.code.name,
    }
    return fill(_JOB, words)
