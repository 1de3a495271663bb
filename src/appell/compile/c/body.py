"""Body of a C function: statements for one sample and for a block of a batch, from a tape or a program.

A tape becomes straight code: one statement per node, sines first, a long tape in several functions.

    puma_core(q, v, a, tau, s_, o_, careful_)      neighbours in arguments are s_ apart, in results and the frame o_

The text is written once and used twice: with s_ = o_ = 1 for one sample, and inside a loop over the lanes of a block,
which a compiler vectorises because there is no branch in it. There, rare cases that a careful caller would handle at
once are only reported: the lowest bit says that a number is not finite, any other that an angle was too large for the
fast reduction, and then the block is computed again sample by sample. Values that one function of a long tape computes
for a later one are stored in a frame; a slot is reused after the last use of its value.

A program becomes loops: the text of every step appears once, and constant tables hold what changes between iterations.

    for (iteration_ = 0; iteration_ < 100; ++iteration_)
        flag_ |= arm_stage1_0(frame_, frame_, arm_moves1_0[iteration_], arm_numbers1_0[iteration_], 1, 1);

The frame is on the stack and holds the inputs first, as in `compile.program`. An iteration reads everything it needs
before it writes. In a batch, the windows of an iteration are copied: the compiler can prove that lanes, which are the
inner loop, never overlap. One sample needs no copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.compile.c.signature import Signature, element, local_name
from appell.compile.c.statements import OPERATIONS, Statements, c_number
from appell.compile.llvm.body import witnesses
from appell.compile.llvm.lanes import Lanes
from appell.compile.llvm.schedule import Group, Step, chunks, schedule, step_defines, step_uses
from appell.compile.program.program import FrameStep, Program, Stage, Window
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

LANES = "@P@_IVDEP\n        for (l_ = 0; l_ < @W@; ++l_)\n"  # the loop that compilers vectorise


@dataclass(frozen=True)
class CBody:
    """Functions, and the statements that call them; both set bits of `flag_` in rare cases (see above).

    Arrays have the names of the signature; a block of @W@ samples starts at sample i_ of n_, and its results have the
    names of `local_name`.
    """

    functions: str
    one: str
    lanes: str
    frame: int = 0  # numbers per sample in `frame_`


def restricted(signature: Signature) -> str:
    """Return the parameters with `restrict`: they do not overlap."""
    return signature.pointers.replace("*", "*restrict ")


CHUNK_STEPS = 1000  # steps per function; a tape of up to three times as many is not divided


def straight(prefix: str, tape: Tape, signature: Signature, lanes: Lanes) -> CBody:
    """Return the body of a tape.

    Parameters
    ----------
    prefix : prefix of all symbols
    tape : fused tape
    signature : arguments and results in C
    lanes : number format
    """
    pieces = chunks(schedule(tape), CHUNK_STEPS)
    slots, size = _slots(tape, pieces)
    if not size:
        name = f"{prefix}_core"
        one = f"    flag_ |= {name}({signature.addresses}, 1, 1, 1);\n"
        every = f"{LANES}            flag_ |= {name}({signature.lanes}, n_, @W@, 0);\n"
        return CBody(_core(name, signature, "", _piece(prefix, tape, signature, lanes, slots, pieces, 0)), one, every)
    frame, names = ", @real@ *frame_", ", ".join(array.name for array in signature.arrays)
    moved = ", ".join(f"{array.name} + l_" for array in signature.arrays)
    functions, one, every = "", f"    @real@ frame_[{size}];\n\n", ""
    blocks = ", ".join([*(f"{a.name} + i_" for a in signature.inputs), *map(local_name, signature.outputs)])
    for number in range(len(pieces)):
        name = f"{prefix}_core{number}"
        functions += _core(name, signature, frame, _piece(prefix, tape, signature, lanes, slots, pieces, number))
        functions += (
            f"\n@P@_APART @word@ {name}_one({signature.pointers}{frame})\n{{\n"
            f"    return {name}({names}, frame_, 1, 1, 1);\n}}\n"
            f"\n@P@_APART @word@ {name}_lanes(const size_t n_, {restricted(signature)}, @real@ *restrict frame_)\n{{\n"
            f"    @word@ flag_ = 0;\n    size_t l_;\n"
            f"{LANES}            flag_ |= {name}({moved}, frame_ + l_, n_, @W@, 0);\n    return flag_;\n}}\n"
        )
        one += f"    flag_ |= {name}_one({signature.addresses}, frame_);\n"
        every += f"        flag_ |= {name}_lanes(n_, {blocks}, frame_);\n"
    return CBody(functions, one, every, size)


def _core(name: str, signature: Signature, frame: str, text: str) -> str:
    """Return a function of the core with these statements."""
    unused = "".join(f"    (void){array.name};\n" for array in signature.arrays)
    return (
        f"\n@P@_INLINE @word@ {name}({signature.pointers}{frame}, const size_t s_, const size_t o_, "
        f"const int careful_)\n{{\n    @word@ flag_ = 0;\n{unused}    (void)s_;\n    (void)o_;\n    (void)careful_;\n"
        f"{text}    return flag_;\n}}\n"
    )


def _piece(prefix, tape: Tape, signature: Signature, lanes: Lanes, slots, pieces: list[list[Step]], number: int) -> str:
    """Return the statements of one function."""
    writer = TapeWriter(Statements(prefix, lanes), tape, slots)
    writer.inputs = [element(array, k, "s_") for array, k in signature.elements()]
    writer.run(pieces[number])
    last = number == len(pieces) - 1
    if last:
        writer.leaves()
    for (array, k), node in zip(signature.result_elements(), tape.results, strict=True):
        if node in writer.values:
            writer.emit.do(f"{element(array, k, 'o_')} = {writer.values[node]};")
    if last:
        writer.report_nonfinite()
    return writer.emit.text()


class TapeWriter:
    """Writes steps of a tape as statements; `values` maps nodes to the names of their variables."""

    def __init__(self, emit: Statements, tape: Tape, slots: dict[int, int]):
        self.emit, self.tape, self.slots = emit, tape, slots
        self.inputs: list[str] = []  # expression of each scalar input
        self.values: dict[int, str] = {}

    def run(self, steps: list[Step]) -> None:
        """Write the statements of some steps, and store the values that later functions need in the frame."""
        emit, computed = self.emit, set()
        for step in steps:
            operands = [self.value(node) for node in step_uses(self.tape, step)]
            if isinstance(step, Group):
                self._sines(step)
            else:
                self.values[step] = OPERATIONS[Op(self.tape.nodes[step][0])](emit, *operands)
            computed.update(step_defines(step))
        for node in sorted(computed & self.slots.keys()):
            emit.do(f"frame_[{self.slots[node]} * o_] = {self.values[node]};")
        results = set(self.tape.results)
        self.values = {node: name for node, name in self.values.items() if node in computed & results}

    def value(self, node: int) -> str:
        """Return the name of a value; a value that this function has not used yet is loaded first."""
        if node not in self.values:
            op, *content = self.tape.nodes[node]
            if op == Op.CONST:
                self.values[node] = self.emit.constant(content[0])
            elif op == Op.INPUT:
                self.values[node] = self.emit.real_value(self.inputs[content[0]])
            else:
                self.values[node] = self.emit.real_value(f"frame_[{self.slots[node]} * o_]")
        return self.values[node]

    def leaves(self) -> None:
        """Load the results that are constants or inputs."""
        for node in self.tape.results:
            if self.tape.nodes[node][0] <= Op.INPUT:
                self.value(node)

    def report_nonfinite(self) -> None:
        """Set the lowest bit of the flag if a witness is not finite."""
        nodes, numbers = witnesses(self.tape)
        for value in [self.value(node) for node in nodes] + [self.inputs[number] for number in numbers]:
            self.emit.do(_nonfinite_flag(self.emit, value))

    def _sines(self, group: Group) -> None:
        emit = self.emit
        for angle in group.angles:
            sine, cosine = (emit.fresh() for _ in range(2))
            emit.do(f"{emit.real} {sine}, {cosine};")
            emit.do(f"flag_ |= {emit.prefix}_sincos({self.values[angle.node]}, careful_, &{sine}, &{cosine});")
            self.values |= dict.fromkeys(angle.sines, sine) | dict.fromkeys(angle.cosines, cosine)


def _slots(tape: Tape, pieces: list[list[Step]]) -> tuple[dict[int, int], int]:
    """Return the slot in the frame of every value that a later piece needs, and the size of the frame."""
    if len(pieces) == 1:
        return {}, 0
    last: dict[int, int] = {}
    for number, steps in enumerate(pieces):
        for step in steps:
            last |= {node: number for node in step_uses(tape, step) if tape.nodes[node][0] > Op.INPUT}
    last |= {node: len(pieces) - 1 for node in witnesses(tape)[0]}
    slots: dict[int, int] = {}
    free: list[int] = []
    size = 0
    for number, steps in enumerate(pieces):
        for step in steps:
            for node in step_defines(step):
                if last.get(node, number) > number:
                    if not free:
                        free.append(size)
                        size += 1
                    slots[node] = free.pop()
        free += [slot for node, slot in slots.items() if last[node] == number]
    return slots, size


MAX_FRAME_BYTES = 1 << 18  # of the frame of a block on the stack; with larger frames, samples are computed one by one


def looped(prefix: str, program: Program, signature: Signature, lanes: Lanes) -> CBody:
    """Return the body of a program.

    Parameters
    ----------
    prefix : prefix of all symbols
    program : fused program
    signature : arguments and results in C
    lanes : number format
    """
    texts, one, every = [], "", ""
    blocks = program.size * 64 <= MAX_FRAME_BYTES
    for position, stage in enumerate(program.stages):
        code = _StageCode(prefix, position, stage, lanes)
        texts.append(code.text(blocks))
        if stage.flag is not None:
            one += f"    if (frame_[{stage.flag}] != 0)\n    "
            every += f"        if ({code.name}_due(frame_))\n    "
        one += f"    flag_ |= {code.name}_one(frame_);\n"
        every += f"        flag_ |= {code.name}_lanes(frame_);\n"
    texts.append(_table("uint32_t", f"{prefix}_results", [map(str, program.results)]))
    return CBody(
        "".join(texts),
        _one(prefix, program, signature, lanes, one),
        _lanes(prefix, program, signature, lanes, every) if blocks else "        flag_ = 2;\n",
        program.size if blocks else 0,
    )


def _one(prefix: str, program: Program, signature: Signature, lanes: Lanes, stages: str) -> str:
    text, first = f"    {lanes.scalar} frame_[{program.size}];\n    size_t k_;\n\n", 0
    for array in signature.inputs:
        source = array.name if array.shape else f"&{array.name}"
        text += f"    memcpy(frame_ + {first}, {source}, {array.size} * sizeof(@real@));\n"
        first += array.size
    text += f"    for (k_ = 0; k_ < {first}; ++k_)\n        {_frame_check(lanes)}"
    text, first = text + stages, 0
    for array in signature.outputs:
        text += f"    for (k_ = 0; k_ < {array.size}; ++k_)\n"
        text += f"        {array.name}[k_] = frame_[{prefix}_results[0][{first} + k_]];\n"
        first += array.size
    return text


def _lanes(prefix: str, program: Program, signature: Signature, lanes: Lanes, stages: str) -> str:
    text, first = "", 0
    for array in signature.inputs:
        target = f"frame_ + ({first} + k_) * @W@"
        text += f"        for (k_ = 0; k_ < {array.size}; ++k_)\n"
        text += f"            memcpy({target}, {array.name} + k_ * n_ + i_, @W@ * sizeof(@real@));\n"
        first += array.size
    text += f"        for (k_ = 0; k_ < {first} * @W@; ++k_)\n            {_frame_check(lanes)}"
    text, first = text + stages, 0
    for array in signature.outputs:
        source = f"frame_ + @W@ * (size_t){prefix}_results[0][{first} + k_]"
        text += f"        for (k_ = 0; k_ < {array.size}; ++k_)\n"
        text += f"            memcpy({local_name(array)} + k_ * @W@, {source}, @W@ * sizeof(@real@));\n"
        first += array.size
    return text


def _frame_check(lanes: Lanes) -> str:
    """Return the statement that reports number k_ of the frame if it is not finite."""
    return _nonfinite_flag(Statements("@P@", lanes), "frame_[k_]") + "\n"


def _nonfinite_flag(emit: Statements, value: str) -> str:
    """Return the statement that sets the lowest bit of the flag if a number is not finite.

    The exponent of such a number has all bits set, and adding one to it carries into the sign bit.
    """
    lanes = emit.lanes
    exponent, one = emit.pattern(lanes.pattern_of(float("inf"))), emit.pattern(1 << lanes.fraction)
    return f"flag_ |= (({emit.prefix}_bits({value}) & {exponent}) + {one}) >> {lanes.integer_bits - 1};"


class _StageCode:
    """The functions and tables of one stage."""

    def __init__(self, prefix: str, position: int, stage: Stage, lanes: Lanes):
        self.prefix, self.stage, self.lanes = prefix, stage, lanes
        self.name, self.position = f"{prefix}_stage{position}", position

    def text(self, blocks: bool) -> str:
        steps = self.stage.steps
        parts = [self._step(kind, step) for kind, step in enumerate(steps)]
        if len(steps) > 1:
            parts.append(_table("uint32_t", f"{self.prefix}_order{self.position}", [map(str, self.stage.order)]))
        if blocks and self.stage.flag is not None:
            parts.append(self._due(self.stage.flag))
        return "".join([*parts, self._runner(lanes=False), self._runner(lanes=True) * blocks])

    def _due(self, flag: int) -> str:
        """Return the function that decides whether a stage runs for a block: its flag is set in any sample."""
        return (
            f"\n@P@_APART int {self.name}_due(const @real@ *frame_)\n{{\n    int due_ = 0;\n    size_t l_;\n"
            f"    for (l_ = 0; l_ < @W@; ++l_)\n        due_ |= frame_[{flag} * @W@ + l_] != 0;\n    return due_;\n}}\n"
        )

    def _step(self, kind: int, step: FrameStep) -> str:
        """Return the tables of a step, and its function on one iteration."""
        tape, (moves, rows) = step.tape, self._tables(kind)
        writer = TapeWriter(Statements(self.prefix, self.lanes), tape, {})
        starts: list[str] = []
        inputs: list[str] = []
        results: list[str] = []
        for entry, window in enumerate((*step.reads, *step.writes)):
            starts.append(f"    const size_t w{entry}_ = moves_[{entry}] * s_;\n" * (window.width > 0))
            array, slots = ("in_", inputs) if entry < len(step.reads) else ("out_", results)
            slots += [f"{array}[w{entry}_ + {k * window.stride} * s_]" for k in range(window.width)]
        writer.inputs = inputs + [f"numbers_[{k}]" for k in range(tape.input_size - len(inputs))]
        writer.run(schedule(tape))
        writer.leaves()
        for slot, node in zip(results, tape.results, strict=True):
            writer.emit.do(f"{slot} = {writer.values[node]};")
        unused = [f"    (void)w{k}_;\n" for k, window in enumerate((*step.reads, *step.writes)) if window.width]
        text = _table("uint32_t", moves, [map(str, row) for row in _moves(step)])
        if step.numbers:
            numbers = [[c_number(x, self.lanes) for x in row] for row in step.numbers]
            text += _table(self.lanes.scalar, rows, numbers)
        return (
            f"{text}\n@P@_INLINE @word@ {self.name}_{kind}(const @real@ *in_, @real@ *out_, const uint32_t *moves_, "
            f"const @real@ *numbers_, const size_t s_, const int careful_)\n{{\n"
            f"    @word@ flag_ = 0;\n{''.join(starts)}    (void)in_;\n    (void)moves_;\n    (void)numbers_;\n"
            f"    (void)careful_;\n{''.join(unused)}{writer.emit.text()}    return flag_;\n}}\n"
        )

    def _tables(self, kind: int) -> tuple[str, str]:
        """Return the names of the tables of windows and numbers of a step."""
        return f"{self.prefix}_moves{self.position}_{kind}", f"{self.prefix}_numbers{self.position}_{kind}"

    def _runner(self, lanes: bool) -> str:
        """Return the function that runs all iterations, for one sample or for a block."""
        steps, order = self.stage.steps, self.stage.order
        several = len(steps) > 1
        text = f"\n@P@_APART @word@ {self.name}_{'lanes' if lanes else 'one'}(@real@ *frame_)\n{{\n"
        if lanes:
            sizes = [max(_size(step.reads) for step in steps), max(_size(step.writes) for step in steps)]
            text += f"    @real@ in_[{sizes[0] or 1} * @W@], out_[{sizes[1]} * @W@];\n"
        text += "    @word@ flag_ = 0;\n    size_t iteration_"
        text += "".join(f", k{k}_ = 0" for k in range(len(steps) if several else 0))
        text += f"{', l_' * lanes};\n\n"
        text += f"    for (iteration_ = 0; iteration_ < {len(order)}; ++iteration_) {{\n"
        for k, step in enumerate(steps):
            (moves, rows), index = self._tables(k), f"k{k}_" if several else "iteration_"
            if several:
                text += f"        if ({self.prefix}_order{self.position}[0][iteration_] == {k}) {{\n"
            numbers = f"{rows}[{index}]" if step.numbers else "NULL"
            if lanes:
                copy_starts = _copy_starts(step)
                text += _table("uint32_t", "starts_", [map(str, copy_starts)], "        ")
                text += "".join(_copies(step, copy_starts, index, moves, reads=True))
                arguments = f"in_ + l_, out_ + l_, starts_[0], {numbers}, @W@, 0"
                text += f"{LANES}            flag_ |= {self.name}_{k}({arguments});\n"
                text += "".join(_copies(step, copy_starts, index, moves, reads=False))
            else:
                arguments = f"frame_, frame_, {moves}[{index}], {numbers}, 1, 1"
                text += f"        flag_ |= {self.name}_{k}({arguments});\n"
            text += f"        ++{index};\n        }}\n" if several else ""
        return f"{text}    }}\n    return flag_;\n}}\n"


def _moves(step: FrameStep) -> list[tuple[int, ...]]:
    """Return the starts of the windows of every iteration, first of those that are read."""
    return list(zip(*(window.starts for window in (*step.reads, *step.writes)), strict=True))


def _size(windows: Sequence[Window]) -> int:
    """Return the slots of copies of windows, which keep their gaps."""
    return sum(window.width * window.stride for window in windows)


def _copy_starts(step: FrameStep) -> list[int]:
    """Return where the copy of each window starts, among those that are read or those that are written."""
    sides = (step.reads, step.writes)
    return [_size(side[:k]) for side in sides for k in range(len(side))]


def _copies(step: FrameStep, copy_starts: list[int], index: str, moves: str, reads: bool) -> Iterable[str]:
    """Yield statements that copy windows of a block from the frame or to it; one without gaps is copied at once."""
    first = 0 if reads else len(step.reads)
    for entry, window in enumerate(step.reads if reads else step.writes, first):
        is_contiguous = window.stride == 1
        for k in range(1 if is_contiguous else window.width):
            size = window.width if is_contiguous else 1
            slot = f"&frame_[({moves}[{index}][{entry}] + {k * window.stride}) * @W@]"
            copy = f"&{'in_' if reads else 'out_'}[{copy_starts[entry] + k * window.stride} * @W@]"
            target, source = (copy, slot) if reads else (slot, copy)
            if size:
                yield f"        memcpy({target}, {source}, {size} * @W@ * sizeof(@real@));\n"


def _table(kind: str, name: str, rows: Sequence[Iterable[str]], indent: str = "") -> str:
    entries = [list(row) for row in rows]
    text = ",\n".join(f"{indent}    {{{', '.join(row)}}}" for row in entries)
    return f"\n{indent}static const {kind} {name}[{len(entries)}][{len(entries[0])}] = {{\n{text}\n{indent}}};\n"
