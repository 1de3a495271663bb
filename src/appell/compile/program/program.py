"""A program: tapes that run in loops on one frame of numbers, for computations that would be too long as one tape.

    program chain (q[100], v[100], a[100]) -> (tau[100])
      frame of 1424
      1 iteration of chain_0 () -> (row0[15])
      100 iterations of outward (row0[9], row1[3], numbers[15]) -> (row0[9], row1[6])
      …

The frame starts with the scalar inputs, in the order of a tape's inputs, which are never overwritten; the other slots
are written by iterations. An iteration reads its windows of the frame, evaluates its tape and writes its windows; then
the next iteration starts. The results are slots of the frame. A tape by itself is a program of one iteration.

A stage may have a flag, a slot of the frame: if it is zero in all samples, the stage is skipped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.compile.tape.tape import Array, Node, Tape, verify
from appell.errors import CompileError


@dataclass(frozen=True)
class Window:
    """Slots of the frame that a step reads or writes: `width` slots, `stride` apart, with one start per iteration."""

    starts: tuple[int, ...]
    width: int
    stride: int = 1

    def slots(self, iteration: int) -> range:
        """Return the slots of one iteration."""
        start = self.starts[iteration]
        return range(start, start + self.width * self.stride, self.stride)


def window_slots(windows: Sequence[Window], iterations: int) -> np.ndarray:
    """Return all slots of some windows, (iterations, total width)."""
    parts = [np.array(w.starts, dtype=np.int64)[:, None] + np.arange(w.width) * w.stride for w in windows]
    return np.concatenate([np.empty((iterations, 0), np.int64), *parts], axis=1)


@dataclass(frozen=True)
class FrameStep:
    """A tape and the windows that its iterations read and write.

    The inputs of the tape are one array per window that is read and, if there are any, the numbers of the iteration;
    its outputs are one array per window that is written.
    """

    tape: Tape
    reads: tuple[Window, ...]
    writes: tuple[Window, ...]
    numbers: tuple[tuple[float, ...], ...] = ()  # one row per iteration


def frame_step(
    name: str,
    nodes: Sequence[Node],
    results: Sequence[int],
    reads: Sequence[Window],
    writes: Sequence[Window],
    numbers: tuple[tuple[float, ...], ...] = (),
) -> FrameStep:
    """Return the step of a tape with one input per window that is read and one output per window that is written.

    Parameters
    ----------
    name, nodes, results : of the tape
    reads, writes : windows
    numbers : constants, one row per iteration
    """
    inputs = [Array(f"row{k}", (window.width,)) for k, window in enumerate(reads)]
    inputs += [Array("numbers", (len(numbers[0]),))] if numbers else []
    outputs = tuple(Array(f"row{k}", (window.width,)) for k, window in enumerate(writes))
    tape = verify(Tape(name, tuple(inputs), outputs, tuple(nodes), tuple(results)))
    return FrameStep(tape, tuple(reads), tuple(writes), numbers)


@dataclass(frozen=True)
class Stage:
    """A loop over some steps: `order` gives the step of each iteration.

    The k-th iteration of a step uses the k-th start of its windows and its k-th row of numbers.
    """

    steps: tuple[FrameStep, ...]
    order: tuple[int, ...]
    flag: int | None = None  # slot; the stage may be skipped where it is zero


@dataclass(frozen=True)
class Program:
    """Stages that follow each other on a frame of `size` slots; `results` are the slots of all outputs."""

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    size: int
    stages: tuple[Stage, ...]
    results: tuple[int, ...]

    @property
    def input_size(self) -> int:
        """Number of scalar inputs."""
        return sum(array.size for array in self.inputs)

    def __len__(self) -> int:
        """Return the number of nodes of one evaluation, those of all iterations."""
        return sum(
            stage.order.count(number) * len(step.tape)
            for stage in self.stages
            for number, step in enumerate(stage.steps)
        )

    def __str__(self) -> str:
        def signature(formula: Program | Tape) -> str:
            sides = (", ".join(map(str, arrays)) for arrays in (formula.inputs, formula.outputs))
            return "{} ({}) -> ({})".format(formula.name, *sides)

        lines = [f"program {signature(self)}", f"  frame of {self.size}"]
        for stage in self.stages:
            for number, step in enumerate(stage.steps):
                count = stage.order.count(number)
                iterations = f"{count} iteration{'s' * (count != 1)}"
                lines.append(f"  {'or ' if number else ''}{iterations} of {signature(step.tape)}")
        return "\n".join(lines)

    @cached_property
    def digest(self) -> str:
        """Hash of the content; programs with equal digests perform the same operations in the same order."""
        return self._hash(lambda tape: tape.digest)

    @cached_property
    def constants(self) -> tuple[float, ...]:
        """The constants of all tapes except literals, each once, in the order of their first use."""
        tapes = (step.tape for stage in self.stages for step in stage.steps)
        return tuple(dict.fromkeys(value for tape in tapes for value in tape.constants))

    @cached_property
    def structure(self) -> str:
        """Hash of everything but the values of `constants`; programs with equal ones share machine code."""
        return self._hash(lambda tape: tape.structure_among(self.constants))

    def _hash(self, digest: Callable[[Tape], str]) -> str:
        total = hashlib.sha256(repr((self.inputs, self.outputs, self.size, self.results)).encode())
        for stage in self.stages:
            total.update(repr(stage.order).encode())
            if stage.flag is not None:
                total.update(f"flag {stage.flag}".encode())
            for step in stage.steps:
                total.update(digest(step.tape).encode())
                total.update(repr((step.reads, step.writes)).encode())
                total.update(np.array(step.numbers, dtype="<f8").tobytes())
        return total.hexdigest()


def verify_program(program: Program) -> Program:
    """Return the program, or raise an error at the first violation of its rules."""

    def fail(problem: str):
        raise CompileError(f"program '{program.name}': {problem}.")

    for stage in program.stages:
        for number, step in enumerate(stage.steps):
            iterations, tape = stage.order.count(number), step.tape
            widths = [window.width for window in step.reads] + [len(row) for row in step.numbers[:1]]
            if widths != [array.size for array in tape.inputs]:
                fail(f"step '{tape.name}' reads windows of widths {widths} for inputs {tape.inputs}")
            if [window.width for window in step.writes] != [array.size for array in tape.outputs]:
                fail(f"step '{tape.name}' writes windows of other widths than its outputs {tape.outputs}")
            if any(len(window.starts) != iterations for window in (*step.reads, *step.writes)):
                fail(f"step '{tape.name}' has {iterations} iterations, but windows for another number of them")
            lengths = {len(row) for row in step.numbers}
            if step.numbers and (len(step.numbers) != iterations or lengths != set(widths[-1:])):
                fail(f"step '{tape.name}' lacks rows of {widths[-1]} numbers for its {iterations} iterations")
            if not np.isfinite(np.array(step.numbers)).all():
                fail(f"step '{tape.name}' has numbers that are not finite")
            read, written = (window_slots(side, iterations) for side in (step.reads, step.writes))
            for wrong, problem in (
                (_outside(read, program.size) | _outside(written, program.size), "accesses slots beyond the frame"),
                (_repeats(written), "writes a slot twice"),
                (written.min(axis=1, initial=program.size) < program.input_size, "overwrites an input"),
            ):
                if wrong.any():
                    fail(f"iteration {np.flatnonzero(wrong)[0]} of step '{tape.name}' {problem}")
        if stage.flag is not None and not 0 <= stage.flag < program.size:
            fail("the flag of a stage is beyond the frame")
    if not all(0 <= slot < program.size for slot in program.results):
        fail("a result is beyond the frame")
    if len(program.results) != sum(array.size for array in program.outputs):
        fail(f"there are {len(program.results)} results for outputs {program.outputs}")
    return program


def _outside(slots: np.ndarray, size: int) -> np.ndarray:
    """Return the iterations with slots beyond the frame."""
    return np.any((slots < 0) | (slots >= size), axis=1)


def _repeats(slots: np.ndarray) -> np.ndarray:
    """Return the iterations in which a slot occurs twice."""
    ordered = np.sort(slots, axis=1)
    return np.any(ordered[:, 1:] == ordered[:, :-1], axis=1)
