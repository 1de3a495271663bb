"""A tape as straight code: one statement a node, sines first, a long tape in several functions.

    puma_core(q, v, a, tau, s_, o_, careful_)      neighbours in arguments are s_ apart, in results and the frame o_

The text is written once and serves twice: with s_ = o_ = 1 for one sample, and inside a loop over the lanes of a block,
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
from appell.compile.export.c.body import LANES, CBody, restricted
from appell.compile.export.c.signature import Signature, element
from appell.compile.export.c.statements import OPERATIONS, Statements
from appell.compile.ops import Op
from appell.compile.tape import Tape

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
