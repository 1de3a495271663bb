"""The program that calls exported functions with given samples and writes the bits of their results to a file.

Samples are stored in the program as bits. A function is called with every sample, then with the batch of all samples.
On a Cortex-M the clock of the emulator counts instructions, and the program prints their number for the first sample.
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
#define REPETITIONS 400u
#define PER_TICK 40u /* instructions of 1 ns each, per tick of 25 MHz */
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
@write_one@@transpose@    @P@_batch(@count@, @batch@);
@write_batch@    (void)k;
#if defined(CORTEX_M)
    {
        uint32_t empty, full, before = CLOCK;
        volatile uint32_t count;

        for (count = 0; count < REPETITIONS; ++count)
            continue;
        empty = (before - CLOCK) & 0xFFFFFFu;
        before = CLOCK;
        for (count = 0; count < REPETITIONS; ++count)
            @P@(@first@);
        full = (before - CLOCK) & 0xFFFFFFu;
        printf("instructions @P@ %lu\\n", (unsigned long)((full - empty) * PER_TICK / REPETITIONS));
    }
#endif
    return good;
}
"""


def main_text(jobs: Iterable[BoardJob]) -> str:
    """Return the C source of the program."""
    jobs = list(jobs)
    names = [job.code.name for job in jobs]
    return fill(
        _MAIN,
        {
            "includes": "".join(f'#include "{name}.h"\n' for name in names),
            "jobs": "".join(_job(job) for job in jobs),
            "calls": "".join(f"    good = good && run_{name}(file);\n" for name in names),
        },
    )


def _job(job: BoardJob) -> str:
    count, kind = len(job.samples[0]), job.samples[0].dtype
    real, word = ("double", "uint64_t") if kind == np.float64 else ("float", "uint32_t")
    tables, arrays, unpack, transpose = "", "", "", ""
    one, first, batch, write = [], [], [], ""
    for k, (array, values) in enumerate(zip(job.function.inputs, job.samples, strict=True)):
        bits = np.ascontiguousarray(values).view(word.removesuffix("_t")).ravel()
        rows = ",\n".join(", ".join(f"{x:#x}u" for x in bits[j : j + 8]) for j in range(0, bits.size, 8))
        tables += f"static const {word} bits{k}_@P@[] = {{\n{rows}\n}};\n"
        arrays += f"    static {real} x{k}[{bits.size}], columns{k}[{bits.size}];\n"
        unpack += f"    memcpy(x{k}, bits{k}_@P@, sizeof x{k});\n"
        size = array.size
        transpose += f"    for (i = 0; i < {count}; ++i)\n        for (k = 0; k < {size}; ++k)\n"
        transpose += f"            columns{k}[k * {count} + i] = x{k}[i * {size} + k];\n"
        one.append(f"x{k} + i * {size}" if array.shape else f"x{k}[i]")
        first.append(f"x{k}" if array.shape else f"x{k}[0]")
        batch.append(f"columns{k}")
    for k, array in enumerate(job.function.outputs):
        arrays += f"    static {real} y{k}[{count * array.size}];\n"
        write += f"    good = good && fwrite(y{k}, sizeof y{k}, 1, file) == 1;\n"
        one.append(f"y{k} + i * {array.size}")
        first.append(f"y{k}")
        batch.append(f"y{k}")
    words = {
        "tables": tables,
        "arrays": arrays,
        "unpack": unpack,
        "transpose": transpose,
        "one": ", ".join(one),
        "first": ", ".join(first),
        "batch": ", ".join(batch),
        "write_one": write,
        "write_batch": write,
        "count": str(count),
        "P": job.code.name,
    }
    return fill(_JOB, words)
