"""The body: a tape on one block of samples, in LLVM.

    void @body(inputs, outputs, near, blocks)

`inputs` is a block of registers, one a scalar input, one sample a lane; `outputs` has one register a *distinct* result:
a symmetric matrix has its mirrored elements computed and stored once, and `slots` tells which register holds which.
Where the `plan` says so, several blocks follow each other, and every chunk of the tape is run on all of them. `near`
tells where the results will be written, for what is fetched `ahead`.

A sample with an input that is not finite gets NaN for all its results (`spoilt`).
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.compile.emit.ahead import ENTRY, LineFetching, fetched_lines
from appell.compile.emit.constants import Constants
from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.form import Form
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.payne_hanek import reduce_huge, sincos_careful
from appell.compile.emit.plan import plan
from appell.compile.emit.spoilt import poison, spoilt_samples, unless_finite, witnesses
from appell.compile.emit.writer import Writer, frame_on_stack
from appell.compile.ops import Op
from appell.compile.tape import Tape

_BODY = "ptr noalias %inputs, ptr noalias %outputs, ptr noalias %near, i64 %blocks"
_SPARE = 1 / 3  # lines that can be fetched in a step
_ROOM = 2 / 3  # of the first cache: what is fetched ahead must still be there when it is written
_CHUNK = "ptr noalias %inputs, ptr noalias %outputs, ptr noalias %near, ptr noalias %frame"


def slots(tape: Tape) -> dict[int, int]:
    """The place in the output block of each node that is a result."""
    return {node: slot for slot, node in enumerate(dict.fromkeys(tape.results))}


@dataclass(frozen=True)
class BodyCode:
    """The functions of a body; it is run on a number of blocks of samples at once, at most on `blocks`."""

    text: str
    blocks: int = 1
    long: bool = False  # whether its code leaves no room for other code in the first cache
    ahead: bool = False  # whether it fetches the lines that its results will be written to


def body(tape: Tape, lanes: Lanes, fused: bool, form: Form, ahead: bool = False) -> BodyCode:
    """The body of a tape; with `ahead` it may fetch lines of the arrays that its results go to."""
    planned, outputs = plan(tape, lanes, form), slots(tape)
    pieces = planned.pieces
    steps = sum(map(len, pieces))
    lines = fetched_lines(tape, lanes) if ahead and planned.data * planned.blocks <= _ROOM * form.cache else []
    if len(lines) > _SPARE * steps:  # results that are mostly zeros: the body is over before they are there
        lines = []
    fetching = LineFetching(lines, steps)

    def read(emit: Emitter, number: int) -> Value:
        return emit.load("%inputs", number)

    def write(emit: Emitter, node: int, value: Value) -> None:
        emit.store(value, "%outputs", outputs[node])

    def reread(emit: Emitter, node: int) -> Value:
        return emit.load("%outputs", outputs[node])

    def prepare(emit: Emitter, node: int) -> None:
        emit.prefetch(emit.address("%outputs", outputs[node] * lanes.bytes))

    large = 0 < form.cache < len(outputs) * lanes.bytes
    writer = Writer(tape, planned.frame, read, write, reread, fetching.after_step, prepare if large else None)

    def piece(emit: Emitter, number: int) -> None:
        fetching.enter()
        if number == 0:
            writer.leaves(emit)
        writer.chunk(emit, pieces[number], number)
        if number == len(pieces) - 1:
            results, inputs = witnesses(tape)
            told = [emit.load("%outputs", outputs[node]) for node in results] + [read(emit, k) for k in inputs]
            unless_finite(emit, told, lambda: poison(emit, spoilt_samples(emit, tape.input_size), len(outputs)))
        emit.do("ret void")

    constants = Constants(lanes)
    functions = careful_functions(lanes, fused) if has_angles(tape) else []
    emit = Emitter(lanes, fused, constants)
    if len(pieces) == 1:
        piece(emit, 0)
    else:
        frame, blocks = frame_on_stack(emit, planned.frame, planned.blocks), 1 if planned.blocks == 1 else "%blocks"
        width = lanes.bytes
        sizes = {
            "%inputs": tape.input_size * width,
            "%outputs": len(outputs) * width,
            "%near": len(tape.outputs) * ENTRY,
            frame: planned.frame.size * width,
        }
        for number in range(len(pieces)):
            part = Emitter(lanes, fused, constants)
            piece(part, number)
            functions.append(part.function(f"define internal void @chunk{number}({_CHUNK}) noinline nounwind"))
            emit.repeat(blocks, lambda block, of=number: _call(emit, of, sizes, block), unroll=True)
        emit.do("ret void")
    text = "\n".join(
        [*constants.text(), *functions, emit.function(f"define internal void @body({_BODY}) noinline nounwind")]
    )
    return BodyCode(text, planned.blocks, long=len(pieces) > 1, ahead=bool(lines))


def _call(emit: Emitter, number: int, sizes: dict[Value, int], block: Index) -> None:
    """Run a chunk on one of several blocks; `sizes` are bytes of a block, by the pointers to the first."""
    pointers = [emit.address(first, emit.times(block, size)) for first, size in sizes.items()]
    emit.do(f"call void @chunk{number}({', '.join(f'ptr {pointer}' for pointer in pointers)})")


def has_angles(tape: Tape) -> bool:
    """Whether there are sines or cosines, which need `careful_functions` in their module."""
    return any(node[0] in (Op.SIN, Op.COS) for node in tape.nodes)


def careful_functions(lanes: Lanes, fused: bool) -> list[str]:
    """What is called for huge angles."""
    return [reduce_huge(), sincos_careful(lanes, fused)]
