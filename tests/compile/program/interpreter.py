"""Reference interpreter of programs."""

from __future__ import annotations

import numpy as np

from appell.compile.program.program import Program
from appell.compile.tape.evaluate import evaluate


def run(program: Program, *arguments) -> tuple[np.ndarray, ...]:
    """Return the results of a program on one sample, computed by the interpreter of tapes."""
    frame = np.full(program.size, np.nan)
    frame[: program.input_size] = np.concatenate([np.ravel(np.asarray(x, float)) for x in arguments])
    for stage in program.stages:
        done = [0] * len(stage.steps)
        for number in stage.order:
            step, iteration = stage.steps[number], done[number]
            done[number] += 1
            operands = [frame[list(window.slots(iteration))] for window in step.reads]
            operands += [np.array(step.numbers[iteration])] if step.numbers else []
            for window, values in zip(step.writes, evaluate(step.tape, *operands), strict=True):
                frame[list(window.slots(iteration))] = values
    ends = np.cumsum([array.size for array in program.outputs])
    parts = np.split(frame[list(program.results)], ends[:-1])
    return tuple(part.reshape(array.shape) for part, array in zip(parts, program.outputs, strict=True))
