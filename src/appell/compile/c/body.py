"""Body of a C function: statements for one sample and for a block of a batch, from a tape or a program.

A tape becomes straight code: one statement per node, sines first, a long tape in several functions.

    puma_core(q, v, a, tau, s_, o_, careful_)      neighbours in arguments are s_ apart, in results and the frame o_

The text is written once and used twice: with s_ = o_ = 1 for one sample, and inside a loop over the lanes of a block,
which a compiler vectorises because there is no branch in it. There, rare cases that a careful caller would handle at
once are only reported: the lowest bit says that a number is not finite, any other that an angle was too large for the
fast reduction, and then the block is computed again sample by sample. What one function of a long tape computes for a
later one waits in a frame; a slot is reused after the last use of its value.

A program becomes loops: the text of every step once, what changes from iteration to iteration in constant tables.

    for (turn_ = 0; turn_ < 100; ++turn_) {
        memcpy(in_, frame_ + arm_moves1_0[turn_][0], ...);
        flag_ |= arm_stage1_0(in_, arm_numbers1_0[turn_], out_, 1, 1);
        memcpy(frame_ + arm_moves1_0[turn_][1], out_, ...);
    }

The frame is on the stack and holds the inputs first, as in `compile.program`. The windows of an iteration are copied:
it reads everything it needs before it writes, and the compiler sees that lanes, which are the inner loop of a batch,
never overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.compile.c.signature import Signature, element
from appell.compile.c.statements import OPERATIONS, Statements, c_number
from appell.compile.llvm.body import witnesses
from appell.compile.llvm.lanes import Lanes
from appell.compile.llvm.schedule import Group, Step, chunks, schedule, step_defines, step_uses
from appell.compile.program.program import FrameStep, Program, Stage, Window
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

LANES = "@P@_IVDEP\n        for (l_ = 0; l_ < @W@; ++l_)\n"  # the loop that becomes vectors


@dataclass(frozen=True)
class CBody:
    """Functions, and the statements that call them; both set bits of `flag_` where something is not as usual.

    The arrays are called as in the signature; a block of @W@ samples begins at sample i_ of n_, and its results have
    the same names with a '_'.
    """

    functions: str
    one: str
    lanes: str
    frame: int = 0  # numbers of a sample that wait in `frame_`


def restricted(signature: Signature) -> str:
    """Parameters that do not meet."""
    return signature.pointers.replace("*", "*restrict ")


CHUNK = 1000  # steps of one function; three of them stay together


def straight(prefix: str, tape: Tape, signature: Signature, lanes: Lanes) -> CBody:
    """The body of a tape."""
    pieces = chunks(schedule(tape), CHUNK)
    slots, size = _slots(tape, pieces)
    if not size:
        name = f"{prefix}_core"
        one = f"    flag_ |= {name}({signature.addresses}, 1, 1, 1);\n"
        every = f"{LANES}            flag_ |= {name}({signature.lanes}, n_, @W@, 0);\n"
        return CBody(_core(name, signature, "", _piece(prefix, tape, signature, lanes, slots, pieces, 0)), one, every)
    frame, handed = ", @real@ *frame_", ", ".join(array.name for array in signature.arrays)
    moved = ", ".join(f"{array.name} + l_" for array in signature.arrays)
    functions, one, every = "", f"    @real@ frame_[{size}];\n\n", ""
    blocks = ", ".join([*(f"{a.name} + i_" for a in signature.inputs), *(f"{a.name}_" for a in signature.outputs)])
    for number in range(len(pieces)):
        name = f"{prefix}_core{number}"
        functions += _core(name, signature, frame, _piece(prefix, tape, signature, lanes, slots, pieces, number))
        functions += (
            f"\n@P@_APART @word@ {name}_one({signature.pointers}{frame})\n{{\n"
            f"    return {name}({handed}, frame_, 1, 1, 1);\n}}\n"
            f"\n@P@_APART @word@ {name}_lanes(const size_t n_, {restricted(signature)}, @real@ *restrict frame_)\n{{\n"
            f"    @word@ flag_ = 0;\n    size_t l_;\n"
            f"{LANES}            flag_ |= {name}({moved}, frame_ + l_, n_, @W@, 0);\n    return flag_;\n}}\n"
        )
        one += f"    flag_ |= {name}_one({signature.addresses}, frame_);\n"
        every += f"        flag_ |= {name}_lanes(n_, {blocks}, frame_);\n"
    return CBody(functions, one, every, size)


def _core(name: str, signature: Signature, frame: str, text: str) -> str:
    """A function of the core around its statements."""
    unused = "".join(f"    (void){array.name};\n" for array in signature.arrays)
    return (
        f"\n@P@_INLINE @word@ {name}({signature.pointers}{frame}, const size_t s_, const size_t o_, "
        f"const int careful_)\n{{\n    @word@ flag_ = 0;\n{unused}    (void)s_;\n    (void)o_;\n    (void)careful_;\n"
        f"{text}    return flag_;\n}}\n"
    )


def _piece(prefix, tape: Tape, signature: Signature, lanes: Lanes, slots, pieces: list[list[Step]], number: int) -> str:
    """The statements of one function."""
    writer = TapeWriter(Statements(prefix, lanes), tape, slots)
    writer.inputs = [element(array, k, "s_") for array, k in signature.elements()]
    writer.run(pieces[number])
    last = number == len(pieces) - 1
    if last:
        writer.leaves()
    for (array, k), node in zip(signature.places(), tape.results, strict=True):
        if node in writer.values:
            writer.emit.do(f"{element(array, k, 'o_')} = {writer.values[node]};")
    if last:
        writer.watch()
    return writer.emit.text()


class TapeWriter:
    """Writes steps of a tape as statements; `values` has the names of the nodes that are known."""

    def __init__(self, emit: Statements, tape: Tape, slots: dict[int, int]):
        self.emit, self.tape, self.slots = emit, tape, slots
        self.inputs: list[str] = []  # how each scalar input is spelt
        self.values: dict[int, str] = {}

    def run(self, steps: list[Step]) -> None:
        emit, made = self.emit, set()
        for step in steps:
            operands = [self.value(node) for node in step_uses(self.tape, step)]
            if isinstance(step, Group):
                self._sines(step)
            else:
                self.values[step] = OPERATIONS[Op(self.tape.nodes[step][0])](emit, *operands)
            made.update(step_defines(step))
        for node in sorted(made & self.slots.keys()):
            emit.do(f"frame_[{self.slots[node]} * o_] = {self.values[node]};")
        results = set(self.tape.results)
        self.values = {node: name for node, name in self.values.items() if node in made and node in results}

    def value(self, node: int) -> str:
        """The name of a value; what this function has not seen yet is read."""
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
        """Results that are constants or inputs."""
        for node in self.tape.results:
            if self.tape.nodes[node][0] <= Op.INPUT:
                self.value(node)

    def watch(self) -> None:
        """Report a witness that is not finite, in the lowest bit: the largest exponent and one more make a sign."""
        emit = self.emit
        nodes, numbers = witnesses(self.tape)
        bits = emit.lanes.integer_bits
        exponent = emit.pattern(emit.lanes.pattern_of(float("inf")))
        one = emit.pattern(1 << emit.lanes.fraction)
        told = [self.value(node) for node in nodes] + [self.inputs[number] for number in numbers]
        for value in told:
            emit.do(f"flag_ |= (({emit.prefix}_bits({value}) & {exponent}) + {one}) >> {bits - 1};")

    def _sines(self, group: Group) -> None:
        emit = self.emit
        for angle in group.angles:
            sine, cosine = (emit.fresh() for _ in range(2))
            emit.do(f"{emit.real} {sine}, {cosine};")
            emit.do(f"flag_ |= {emit.prefix}_sincos({self.values[angle.node]}, careful_, &{sine}, &{cosine});")
            self.values |= dict.fromkeys(angle.sines, sine) | dict.fromkeys(angle.cosines, cosine)


def _slots(tape: Tape, pieces: list[list[Step]]) -> tuple[dict[int, int], int]:
    """The place in the frame of every value that a later piece needs, and the size of the frame."""
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


LARGEST = 1 << 18  # bytes of the frame of a block: larger ones are not laid on the stack, samples go one by one


def looped(prefix: str, program: Program, signature: Signature, lanes: Lanes) -> CBody:
    """The body of a program."""
    texts, one, every = [], "", ""
    blocks = program.size * 64 <= LARGEST
    for position, stage in enumerate(program.stages):
        made = _Stage(prefix, position, stage, lanes)
        texts.append(made.text(blocks))
        one += f"    flag_ |= {made.name}_one(frame_);\n"
        every += f"        flag_ |= {made.name}_lanes(frame_);\n"
    texts.append(_table("uint32_t", f"{prefix}_results", [map(str, program.results)]))
    return CBody(
        "".join(texts),
        _one(prefix, program, signature, lanes, one),
        _lanes(prefix, program, signature, lanes, every) if blocks else "        flag_ = 2;\n",
        program.size if blocks else 0,
    )


def _one(prefix: str, program: Program, signature: Signature, lanes: Lanes, stages: str) -> str:
    text, place = f"    {lanes.scalar} frame_[{program.size}];\n    size_t k_;\n\n", 0
    for array in signature.inputs:
        source = array.name if array.shape else f"&{array.name}"
        text += f"    memcpy(frame_ + {place}, {source}, {array.size} * sizeof(@real@));\n"
        place += array.size
    text += f"    for (k_ = 0; k_ < {place}; ++k_)\n        {_suspect(lanes, 'frame_[k_]')}"
    text, place = text + stages, 0
    for array in signature.outputs:
        text += f"    for (k_ = 0; k_ < {array.size}; ++k_)\n"
        text += f"        {array.name}[k_] = frame_[{prefix}_results[0][{place} + k_]];\n"
        place += array.size
    return text


def _lanes(prefix: str, program: Program, signature: Signature, lanes: Lanes, stages: str) -> str:
    text, place = "", 0
    for array in signature.inputs:
        target = f"frame_ + ({place} + k_) * @W@"
        text += f"        for (k_ = 0; k_ < {array.size}; ++k_)\n"
        text += f"            memcpy({target}, {array.name} + k_ * n_ + i_, @W@ * sizeof(@real@));\n"
        place += array.size
    text += f"        for (k_ = 0; k_ < {place} * @W@; ++k_)\n            {_suspect(lanes, 'frame_[k_]')}"
    text, place = text + stages, 0
    for array in signature.outputs:
        source = f"frame_ + @W@ * (size_t){prefix}_results[0][{place} + k_]"
        text += f"        for (k_ = 0; k_ < {array.size}; ++k_)\n"
        text += f"            memcpy({array.name}_ + k_ * @W@, {source}, @W@ * sizeof(@real@));\n"
        place += array.size
    return text


def _suspect(lanes: Lanes, value: str) -> str:
    """The statement that reports a number that is not finite."""
    emit = Statements("@P@", lanes)
    exponent, one = emit.pattern(lanes.pattern_of(float("inf"))), emit.pattern(1 << lanes.fraction)
    return f"flag_ |= ((@P@_bits({value}) & {exponent}) + {one}) >> {lanes.integer_bits - 1};\n"


class _Stage:
    """The functions and tables of one stage."""

    def __init__(self, prefix: str, position: int, stage: Stage, lanes: Lanes):
        self.prefix, self.stage, self.lanes = prefix, stage, lanes
        self.name, self.position = f"{prefix}_stage{position}", position

    def text(self, blocks: bool) -> str:
        steps = self.stage.steps
        parts = [self._step(kind, step) for kind, step in enumerate(steps)]
        if len(steps) > 1:
            parts.append(_table("uint32_t", f"{self.prefix}_order{self.position}", [map(str, self.stage.order)]))
        return "".join([*parts, self._runner(lanes=False), self._runner(lanes=True) * blocks])

    def _step(self, kind: int, step: FrameStep) -> str:
        """The tables of a step, and its text on what a turn has been given."""
        tape, (moves, rows) = step.tape, self._tables(kind)
        writer = TapeWriter(Statements(self.prefix, self.lanes), tape, {})
        read = sum(window.width for window in step.reads)
        writer.inputs = [f"in_[{k} * s_]" for k in range(read)]
        writer.inputs += [f"numbers_[{k}]" for k in range(tape.input_size - read)]
        writer.run(schedule(tape))
        writer.leaves()
        for k, node in enumerate(tape.results):
            writer.emit.do(f"out_[{k} * s_] = {writer.values[node]};")
        text = _table("uint32_t", moves, [map(str, row) for row in _moves(step)])
        if step.numbers:
            numbers = [[c_number(x, self.lanes) for x in row] for row in step.numbers]
            text += _table(self.lanes.scalar, rows, numbers)
        return (
            f"{text}\n@P@_INLINE @word@ {self.name}_{kind}(const @real@ *in_, const @real@ *numbers_, @real@ *out_, "
            f"const size_t s_, const int careful_)\n{{\n    @word@ flag_ = 0;\n"
            f"    (void)in_;\n    (void)numbers_;\n    (void)careful_;\n{writer.emit.text()}    return flag_;\n}}\n"
        )

    def _tables(self, kind: int) -> tuple[str, str]:
        """Return the names of the tables of windows and numbers of a step."""
        return f"{self.prefix}_moves{self.position}_{kind}", f"{self.prefix}_numbers{self.position}_{kind}"

    def _runner(self, lanes: bool) -> str:
        """All turns, of one sample or of a block."""
        steps, order = self.stage.steps, self.stage.order
        several, wide = len(steps) > 1, " * @W@" if lanes else ""
        most = [
            max(sum(w.width for w in side) for side in sides)
            for sides in ([s.reads for s in steps], [s.writes for s in steps])
        ]
        text = f"\n@P@_APART @word@ {self.name}_{'lanes' if lanes else 'one'}(@real@ *frame_)\n{{\n"
        text += f"    @real@ in_[{most[0] or 1}{wide}], out_[{most[1]}{wide}];\n    @word@ flag_ = 0;\n    size_t turn_"
        text += "".join(f", k{k}_ = 0" for k in range(len(steps) if several else 0)) + f"{', l_' * lanes};\n\n"
        text += f"    for (turn_ = 0; turn_ < {len(order)}; ++turn_) {{\n"
        for k, step in enumerate(steps):
            (moves, rows), turn = self._tables(k), f"k{k}_" if several else "turn_"
            if several:
                text += f"        if ({self.prefix}_order{self.position}[0][turn_] == {k}) {{\n"
            text += f"        const uint32_t *moves_ = {moves}[{turn}];\n\n"
            text += "".join(_copies("in_[{0}]", "frame_[{1}]", step.reads, wide, 0))
            numbers = f"{rows}[{turn}]" if step.numbers else "NULL"
            if lanes:
                text += f"{LANES}            flag_ |= {self.name}_{k}(in_ + l_, {numbers}, out_ + l_, @W@, 0);\n"
            else:
                text += f"        flag_ |= {self.name}_{k}(in_, {numbers}, out_, 1, 1);\n"
            text += "".join(_copies("frame_[{1}]", "out_[{0}]", step.writes, wide, len(step.reads)))
            text += f"        ++{turn};\n        }}\n" if several else ""
        return f"{text}    }}\n    return flag_;\n}}\n"


def _moves(step: FrameStep) -> list[tuple[int, ...]]:
    """Where the windows of every turn begin, first those that are read."""
    return list(zip(*(window.starts for window in (*step.reads, *step.writes)), strict=True))


def _copies(target: str, source: str, windows: Sequence[Window], wide: str, first: int) -> Iterable[str]:
    """Statements that bring windows from the frame, one after the other, or back; a window at once if it is whole."""
    place = 0
    for entry, window in enumerate(windows, first):
        whole = window.stride == 1
        for k in range(1 if whole else window.width):
            size = window.width if whole else 1
            slot = f"(moves_[{entry}] + {k * window.stride})" if k else f"moves_[{entry}]"
            spots = [f"{place + k}{wide}", f"{slot}{wide}"]
            to, of = target.format(*spots), source.format(*spots)
            yield f"        memcpy(&{to}, &{of}, {size}{wide} * sizeof(@real@));\n"
        place += window.width


def _table(kind: str, name: str, rows: Sequence[Iterable[str]]) -> str:
    spelt = [list(row) for row in rows]
    text = ",\n".join(f"    {{{', '.join(row)}}}" for row in spelt)
    return f"\nstatic const {kind} {name}[{len(spelt)}][{len(spelt[0])}] = {{\n{text}\n}};\n"
