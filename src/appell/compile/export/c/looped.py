"""A program as loops: the text of every step once, what changes from turn to turn in constant tables.

    for (turn_ = 0; turn_ < 100; ++turn_) {
        memcpy(in_, frame_ + arm_moves1_0[turn_][0], ...);
        flag_ |= arm_stage1_0(in_, arm_numbers1_0[turn_], out_, 1, 1);
        memcpy(frame_ + arm_moves1_0[turn_][1], out_, ...);
    }

The frame holds the inputs first, as in `compile.program`, and lies on the stack. The windows of a turn are copied: a
turn reads all it needs before it writes, and the compiler sees that lanes, which are the inner loop of a batch, never
meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.compile.emit.lanes import Lanes
from appell.compile.emit.schedule import schedule
from appell.compile.export.c.body import LANES, CBody
from appell.compile.export.c.signature import Signature
from appell.compile.export.c.statements import Statements, number
from appell.compile.export.c.straight import TapeWriter
from appell.compile.program import FrameStep, Program, Stage, Window

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
        tape, tables = step.tape, _Tables(self.prefix, self.position, kind)
        writer = TapeWriter(Statements(self.prefix, self.lanes), tape, {})
        read = sum(window.width for window in step.reads)
        writer.inputs = [f"in_[{k} * s_]" for k in range(read)]
        writer.inputs += [f"numbers_[{k}]" for k in range(tape.input_size - read)]
        writer.run(schedule(tape))
        writer.leaves()
        for k, node in enumerate(tape.results):
            writer.emit.do(f"out_[{k} * s_] = {writer.values[node]};")
        text = _table("uint32_t", tables.moves, [map(str, row) for row in _moves(step)])
        if step.numbers:
            numbers = [[number(x, self.lanes) for x in row] for row in step.numbers]
            text += _table(self.lanes.scalar, tables.numbers, numbers)
        return (
            f"{text}\n@P@_INLINE @word@ {self.name}_{kind}(const @real@ *in_, const @real@ *numbers_, @real@ *out_, "
            f"const size_t s_, const int careful_)\n{{\n    @word@ flag_ = 0;\n"
            f"    (void)in_;\n    (void)numbers_;\n    (void)careful_;\n{writer.emit.text()}    return flag_;\n}}\n"
        )

    def _runner(self, lanes: bool) -> str:
        """All turns, of one sample or of a block."""
        steps, order = self.stage.steps, self.stage.order
        several, wide = len(steps) > 1, " * @W@" if lanes else ""
        most = [max(sum(w.width for w in side(step)) for step in steps) for side in (_reads, _writes)]
        text = f"\n@P@_APART @word@ {self.name}_{'lanes' if lanes else 'one'}(@real@ *frame_)\n{{\n"
        text += f"    @real@ in_[{most[0] or 1}{wide}], out_[{most[1]}{wide}];\n    @word@ flag_ = 0;\n    size_t turn_"
        text += "".join(f", k{k}_ = 0" for k in range(len(steps) if several else 0)) + f"{', l_' * lanes};\n\n"
        text += f"    for (turn_ = 0; turn_ < {len(order)}; ++turn_) {{\n"
        for k, step in enumerate(steps):
            tables, turn = _Tables(self.prefix, self.position, k), f"k{k}_" if several else "turn_"
            if several:
                text += f"        if ({self.prefix}_order{self.position}[0][turn_] == {k}) {{\n"
            text += f"        const uint32_t *moves_ = {tables.moves}[{turn}];\n\n"
            text += "".join(_copies("in_[{0}]", "frame_[{1}]", _reads(step), wide, 0))
            numbers = f"{tables.numbers}[{turn}]" if step.numbers else "NULL"
            if lanes:
                text += f"{LANES}            flag_ |= {self.name}_{k}(in_ + l_, {numbers}, out_ + l_, @W@, 0);\n"
            else:
                text += f"        flag_ |= {self.name}_{k}(in_, {numbers}, out_, 1, 1);\n"
            text += "".join(_copies("frame_[{1}]", "out_[{0}]", _writes(step), wide, len(step.reads)))
            text += f"        ++{turn};\n        }}\n" if several else ""
        return f"{text}    }}\n    return flag_;\n}}\n"


@dataclass(frozen=True)
class _Tables:
    """The names of what a step reads besides the frame."""

    prefix: str
    stage: int
    kind: int

    @property
    def moves(self) -> str:
        return f"{self.prefix}_moves{self.stage}_{self.kind}"

    @property
    def numbers(self) -> str:
        return f"{self.prefix}_numbers{self.stage}_{self.kind}"


def _reads(step: FrameStep) -> tuple[Window, ...]:
    return step.reads


def _writes(step: FrameStep) -> tuple[Window, ...]:
    return step.writes


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


def _row(entries: Iterable[str]) -> str:
    return "    {" + ", ".join(entries) + "}"


def _table(kind: str, name: str, rows: Sequence[Iterable[str]]) -> str:
    spelt = [list(row) for row in rows]
    text = ",\n".join(_row(row) for row in spelt)
    return f"\nstatic const {kind} {name}[{len(spelt)}][{len(spelt[0])}] = {{\n{text}\n}};\n"
