"""A program: tapes that are run turn by turn on one frame of numbers, for what would be too long as one tape.

    program chain (q[100], v[100], a[100]) -> (tau[100])
      frame of 1424
      1 turn of chain_0 () -> (row0[15])
      100 turns of outward (row0[9], row1[3], numbers[15]) -> (row0[9], row1[6])
      …

The frame holds the scalar inputs first, in the order of a tape's, which stay as they are, then whatever the turns
write. A turn reads its windows of the frame, runs its tape and writes its windows; then the next turn begins. The
results are slots of the frame. A tape by itself is a program of one turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.compile.tape.tape import Array, Node, Tape, verify
from appell.errors import CompileError


@dataclass(frozen=True)
class Window:
    """Slots of the frame that a step reads or writes: `width` of them, `stride` apart, from where each turn begins."""

    starts: tuple[int, ...]
    width: int
    stride: int = 1

    def slots(self, turn: int) -> range:
        start = self.starts[turn]
        return range(start, start + self.width * self.stride, self.stride)


@dataclass(frozen=True)
class FrameStep:
    """One tape and where its turns find their operands.

    The inputs of the tape are an array for each window that is read, then, if there are any, the numbers of the turn;
    its outputs are an array for each window that is written.
    """

    tape: Tape
    reads: tuple[Window, ...]
    writes: tuple[Window, ...]
    numbers: tuple[tuple[float, ...], ...] = ()  # one row a turn


def frame_step(
    name: str,
    nodes: Sequence[Node],
    results: Sequence[int],
    reads: Sequence[Window],
    writes: Sequence[Window],
    numbers: tuple[tuple[float, ...], ...] = (),
) -> FrameStep:
    """Return the step of a tape with an input for every window that is read and an output for every one written."""
    inputs = [Array(f"row{k}", (window.width,)) for k, window in enumerate(reads)]
    inputs += [Array("numbers", (len(numbers[0]),))] if numbers else []
    outputs = tuple(Array(f"row{k}", (window.width,)) for k, window in enumerate(writes))
    tape = verify(Tape(name, tuple(inputs), outputs, tuple(nodes), tuple(results)))
    return FrameStep(tape, tuple(reads), tuple(writes), numbers)


@dataclass(frozen=True)
class Stage:
    """Turns of some steps: `order` says whose turn it is; the k-th turn of a step takes its k-th windows."""

    steps: tuple[FrameStep, ...]
    order: tuple[int, ...]


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
        return sum(array.size for array in self.inputs)

    def __len__(self) -> int:
        """The nodes of one evaluation: those of every turn."""
        return sum(
            stage.order.count(number) * len(step.tape)
            for stage in self.stages
            for number, step in enumerate(stage.steps)
        )

    def __str__(self) -> str:
        def signed(described: Program | Tape) -> str:
            sides = (", ".join(map(str, arrays)) for arrays in (described.inputs, described.outputs))
            return "{} ({}) -> ({})".format(described.name, *sides)

        lines = [f"program {signed(self)}", f"  frame of {self.size}"]
        for stage in self.stages:
            for number, step in enumerate(stage.steps):
                turns = stage.order.count(number)
                lines.append(f"  {'or ' if number else ''}{turns} turn{'s' * (turns != 1)} of {signed(step.tape)}")
        return "\n".join(lines)

    @cached_property
    def digest(self) -> str:
        """The content as a hash: equal programs compute the same thing in the same order."""
        total = hashlib.sha256(repr((self.inputs, self.outputs, self.size, self.results)).encode())
        for stage in self.stages:
            total.update(repr(stage.order).encode())
            for step in stage.steps:
                total.update(step.tape.digest.encode())
                total.update(repr((step.reads, step.writes)).encode())
                total.update(np.array(step.numbers, dtype="<f8").tobytes())
        return total.hexdigest()


def verify_program(program: Program) -> Program:
    """Return the program, or raise on the first rule it breaks."""

    def fail(problem: str):
        raise CompileError(f"program '{program.name}': {problem}.")

    for stage in program.stages:
        for number, step in enumerate(stage.steps):
            turns, tape = stage.order.count(number), step.tape
            widths = [window.width for window in step.reads] + [len(row) for row in step.numbers[:1]]
            if widths != [array.size for array in tape.inputs]:
                fail(f"step '{tape.name}' reads {widths} for {tape.inputs}")
            if [window.width for window in step.writes] != [array.size for array in tape.outputs]:
                fail(f"step '{tape.name}' writes other widths than {tape.outputs}")
            if any(len(window.starts) != turns for window in (*step.reads, *step.writes)):
                fail(f"step '{tape.name}' has {turns} turns, and windows for another number of them")
            if step.numbers and (len(step.numbers) != turns or {len(row) for row in step.numbers} != set(widths[-1:])):
                fail(f"step '{tape.name}' has no row of {widths[-1]} numbers for each of {turns} turns")
            if not np.isfinite(np.array(step.numbers)).all():
                fail(f"step '{tape.name}' has numbers that are not finite")
            for turn in range(turns):
                read, written = ([k for w in windows for k in w.slots(turn)] for windows in (step.reads, step.writes))
                if not all(0 <= slot < program.size for slot in (*read, *written)):
                    fail(f"turn {turn} of step '{tape.name}' reaches beyond the frame")
                if len(set(written)) != len(written):
                    fail(f"turn {turn} of step '{tape.name}' writes a slot twice")
                if written and min(written) < program.input_size:
                    fail(f"turn {turn} of step '{tape.name}' writes over an input")
    if not all(0 <= slot < program.size for slot in program.results):
        fail("a result lies beyond the frame")
    if len(program.results) != sum(array.size for array in program.outputs):
        fail(f"there are {len(program.results)} results for outputs {program.outputs}")
    return program
