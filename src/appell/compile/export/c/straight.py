"""A tape as straight code: one statement a node, sines first, a long tape in several functions.

    puma_core(q, v, a, tau, s_, careful_)        neighbours in an array are s_ apart

The text is written once and serves twice: with s_ = 1 for one sample, and inside a loop over the lanes of a block,
which a compiler turns into vectors because there is no branch in it. There, what a careful caller would do at once is
only reported: the lowest bit says that something is not finite, any other that an angle was too large for the short
way, and then the block is computed again sample by sample.

What one function of a long tape computes for a later one waits in a frame; a slot is used again when its value has had
its last use.
"""

from __future__ import annotations

from appell.compile.emit.lanes import Lanes
from appell.compile.emit.residence import step_defines, step_uses
from appell.compile.emit.schedule import Group, Step, chunks, schedule
from appell.compile.emit.spoilt import witnesses
from appell.compile.export.c.body import LANES, Body, restrict, restricted, unused
from appell.compile.export.c.signature import Signature, element
from appell.compile.export.c.statements import OPERATIONS, Statements
from appell.compile.ops import Op
from appell.compile.tape import Tape

CHUNK = 1000  # steps of one function; three of them stay together


def straight(prefix: str, tape: Tape, signature: Signature, lanes: Lanes) -> Body:
    """The body of a tape."""
    pieces = chunks(schedule(tape), CHUNK)
    slots, size = _slots(tape, pieces)
    texts = [_piece(prefix, tape, signature, lanes, slots, pieces, number) for number in range(len(pieces))]
    frame = f", {lanes.scalar} *frame_" if size else ""
    names = [f"{prefix}_core{number if size else ''}" for number in range(len(pieces))]
    inline = [
        f"\n@P@_INLINE @word@ {name}({signature.pointers}{frame}, const size_t s_, const int careful_)\n{{\n"
        f"    @word@ flag_ = 0;\n{unused(signature.arrays)}    (void)careful_;\n{text}    return flag_;\n}}\n"
        for name, text in zip(names, texts, strict=True)
    ]
    if not size:
        one = f"    flag_ |= {names[0]}({signature.addresses}, 1, 1);\n"
        every = ", ".join(f"{array.name}_ + l_" for array in signature.arrays)
        return Body("".join(inline), one, f"{LANES}            flag_ |= {names[0]}({every}, @W@, 0);\n")
    moved = ", ".join(f"{array.name} + l_" for array in signature.arrays)
    handed = ", ".join(array.name for array in signature.arrays)
    apart = [
        f"\n@P@_APART @word@ {name}_one({signature.pointers}{frame})\n{{\n"
        f"    return {name}({handed}, frame_, 1, 1);\n}}\n"
        f"\n@P@_APART @word@ {name}_lanes({restricted(signature)}{restrict(frame)})\n{{\n"
        f"    @word@ flag_ = 0;\n    size_t l_;\n{LANES}        flag_ |= {name}({moved}, frame_ + l_, @W@, 0);\n"
        f"    return flag_;\n}}\n"
        for name in names
    ]
    blocks = ", ".join(f"{array.name}_" for array in signature.arrays)
    return Body(
        "".join(text for pair in zip(inline, apart, strict=True) for text in pair),
        f"    {lanes.scalar} frame_[{size}];\n\n"
        + "".join(f"    flag_ |= {name}_one({signature.addresses}, frame_);\n" for name in names),
        "".join(f"        flag_ |= {name}_lanes({blocks}, frame_);\n" for name in names),
        size,
    )


def _piece(prefix, tape: Tape, signature: Signature, lanes: Lanes, slots, pieces: list[list[Step]], number: int) -> str:
    """The statements of one function."""
    writer = TapeWriter(Statements(prefix, lanes), tape, slots)
    writer.inputs = [element(array, k) for array, k in signature.elements()]
    writer.run(pieces[number])
    last = number == len(pieces) - 1
    if last:
        writer.leaves()
    for (array, k), node in zip(signature.places(), tape.results, strict=True):
        if node in writer.values:
            writer.emit.do(f"{element(array, k)} = {writer.values[node]};")
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
            emit.do(f"frame_[{self.slots[node]} * s_] = {self.values[node]};")
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
                self.values[node] = self.emit.real_value(f"frame_[{self.slots[node]} * s_]")
        return self.values[node]

    def leaves(self) -> None:
        """Results that are constants or inputs."""
        for node in self.tape.results:
            if self.tape.nodes[node][0] <= Op.INPUT:
                self.value(node)

    def watch(self) -> None:
        """Report a witness that is not finite in the lowest bit: its exponent is the largest, and one more is a sign."""
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
