"""The meaning of a program: its results by the interpreter of tapes."""

from __future__ import annotations

import numpy as np

from appell.compile.program.program import Program
from appell.compile.tape.evaluate import evaluate


def run(program: Program, *arguments) -> tuple[np.ndarray, ...]:
    """What a program means: the results of one sample, by the interpreter of tapes."""
    frame = np.full(program.size, np.nan)
    frame[: program.input_size] = np.concatenate([np.ravel(np.asarray(x, float)) for x in arguments])
    for stage in program.stages:
        taken = [0] * len(stage.steps)
        for number in stage.order:
            step, turn = stage.steps[number], taken[number]
            taken[number] += 1
            operands = [frame[list(window.slots(turn))] for window in step.reads]
            operands += [np.array(step.numbers[turn])] if step.numbers else []
            for window, found in zip(step.writes, evaluate(step.tape, *operands), strict=True):
                frame[list(window.slots(turn))] = found
    ends = np.cumsum([array.size for array in program.outputs])
    parts = np.split(frame[list(program.results)], ends[:-1])
    return tuple(part.reshape(array.shape) for part, array in zip(parts, program.outputs, strict=True))
