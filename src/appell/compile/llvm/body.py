"""The body of a kernel: a tape on one block of samples, in LLVM.

    void @body(inputs, outputs, destinations)

`inputs` is a block of registers, one per scalar input, one sample per lane. `outputs` has one register per *distinct*
result: mirrored elements of a symmetric matrix are computed and stored once, and `slots` says which register holds
which result. `destinations` says where the results will be written, for prefetching (`transfer`). The chunks of a long
tape are functions that `@body` calls one after the other.

Values that are needed in later chunks, or do not fit into registers, are stored in a frame. On machines with wide
registers an address up to 128 registers away from a pointer takes one byte of an instruction, any other four, so
%frame points to the middle of the slots that are used most.

**Non-finite inputs.** A sample with an infinite or NaN input gets NaN for all its results, including those from which
simplification has removed that input. Infinity and NaN propagate through sums, products, roots, sines and numerators
(`PROPAGATING`): a result that depends on an input through such operations alone cannot be finite if the input is not.
So the *witnesses*, a few results that depend on nearly all inputs, are tested, and only those inputs on which none of
them depends: the first torque of an arm depends on all inputs but the first angle, and two tests replace eighteen. The
test reads exponents, which raises no floating-point flag. One kind of false alarm is possible: a result may overflow
although all inputs are finite. So a block that fails takes a rare path that reads all inputs. 0 x is zero for a finite
number and NaN for any other: the sum of these products over all inputs identifies the samples, whose results are
overwritten with NaN. Compared with that sum in every block, witnesses save 5 % of a single sample of a PUMA's inverse
dynamics, and 7 % (PUMA) to 31 % (Talos) of the batches of generated C code, which uses them too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from appell.compile.llvm.arithmetic import EMIT
from appell.compile.llvm.emitter import Constants, Emitter, Index, Value
from appell.compile.llvm.lanes import Form, Lanes
from appell.compile.llvm.schedule import Group, SpillPlan, Step, allocate, step_defines, step_uses
from appell.compile.llvm.transfer import LinePrefetch, prefetched_lines
from appell.compile.llvm.trigonometry import beyond_mask, reduce, reduce_huge, sincos_careful, sine_and_cosine
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Tape

FENCE = 'call void asm sideeffect "", "~{memory}"()'
FENCE_STEPS = 40  # steps of a long tape between two fences, which keep LLVM to the order of the schedule
PREFETCH_STEPS = 60  # steps by which the prefetch of a slot precedes its result
FRAME_MIDDLE = 128  # the slot at which %frame points
_LINES_PER_STEP = 1 / 3  # cache lines that can be prefetched per step
_CACHE_SHARE = 2 / 3  # of the L1 cache: what is prefetched must still be there when it is written
_WIDE_INPUTS = 8  # inputs of one sample that are tested at a time
_PARTIAL_SUMS = 3  # of products 0 x: several, so that no addition waits for the one before
PROPAGATING: dict[Op, tuple[int, ...]] = {  # the operands of which none can be infinite or NaN if the value is finite
    **dict.fromkeys((Op.NEG, Op.SQRT, Op.SIN, Op.COS, Op.ROUND, Op.DIV), (0,)),
    **dict.fromkeys((Op.ABS, Op.LOG, Op.ARCSIN, Op.ARCCOS), (0,)),
    **dict.fromkeys((Op.ADD, Op.SUB, Op.MUL), (0, 1)),
    **dict.fromkeys((Op.FMA, Op.FMS, Op.FNMA), (0, 1, 2)),
    **dict.fromkeys((Op.ATAN2, Op.SELECT, Op.LEVEL, Op.SIGN, Op.MINIMUM, Op.MAXIMUM), ()),
    **dict.fromkeys((Op.EXP, Op.POWER, Op.TANH, Op.ERF), ()),  # finite for an infinite operand
}
_BODY = "ptr noalias %inputs, ptr noalias %outputs, ptr noalias %destinations"
_CHUNK = f"{_BODY}, ptr noalias %frame"


def slots(tape: Tape) -> dict[int, int]:
    """Return the slot in the output block of each node that is a result."""
    return {node: slot for slot, node in enumerate(dict.fromkeys(tape.results))}


@dataclass(frozen=True)
class BodyCode:
    """The functions of a body."""

    text: str
    long: bool = False  # whether its code fills the L1 instruction cache
    prefetches: bool = False  # whether it prefetches the lines that its results will be written to


def tape_body(tape: Tape, form: Form, prefetch: bool = False) -> BodyCode:
    """Return the body of a fused tape.

    With `prefetch`, which states that the destinations of results are known, it may prefetch lines of the arrays that
    results are written to.
    """
    lanes, fused = form.lanes, form.fused
    (pieces, spills), outputs = allocate(tape, lanes, form), slots(tape)
    steps = sum(map(len, pieces))
    data = (2 * (tape.input_size + len(outputs)) + spills.size) * lanes.bytes  # with rows of the user's arrays
    lines = prefetched_lines(tape, lanes) if prefetch and data <= _CACHE_SHARE * form.cache else []
    if len(lines) > _LINES_PER_STEP * steps:  # mostly zeros: the body would end before the lines arrive
        lines = []
    line_prefetch = LinePrefetch(lines, steps)

    def read(emit: Emitter, number: int) -> Value:
        return emit.load("%inputs", number)

    def write(emit: Emitter, node: int, value: Value) -> None:
        emit.store(value, "%outputs", outputs[node])

    def reread(emit: Emitter, node: int) -> Value:
        return emit.load("%outputs", outputs[node])

    def prefetch_slot(emit: Emitter, node: int) -> None:
        emit.prefetch(emit.address("%outputs", outputs[node] * lanes.bytes))

    large = 0 < form.cache < len(outputs) * lanes.bytes
    writer = Writer(tape, spills, read, write, reread, line_prefetch.after_step, prefetch_slot if large else None)

    def write_piece(emit: Emitter, number: int) -> None:
        line_prefetch.enter()
        if number == 0:
            writer.leaves(emit)
        writer.chunk(emit, pieces[number], number)
        if number == len(pieces) - 1:
            results, inputs = witnesses(tape)
            tested = [reread(emit, node) for node in results] + [read(emit, k) for k in inputs]
            unless_finite(
                emit,
                tested,
                lambda: overwrite_nonfinite(emit, nonfinite_samples(emit, tape.input_size), len(outputs)),
            )
        emit.do("ret void")

    constants = Constants(lanes, tape.constants)
    functions = [reduce_huge(), sincos_careful(lanes, fused)] if has_angles(tape) else []
    functions += chunk_functions("body", len(pieces), spills, lambda: Emitter(lanes, fused, constants), write_piece)
    return BodyCode("\n".join([*constants.text(), *functions]), long=len(pieces) > 1, prefetches=bool(lines))


def chunk_functions(
    name: str,
    count: int,
    spills: SpillPlan,
    emitter: Callable[[], Emitter],
    write_piece: Callable[[Emitter, int], None],
) -> list[str]:
    """Return the function @name(inputs, outputs, destinations) that runs all pieces of a tape, and what it calls.

    A tape on iterations of a loop receives the frame of the loop instead of destinations.

    Parameters
    ----------
    name : name of the function
    count : number of pieces
    spills : values that are stored in a frame
    emitter : returns the emitter of a new function
    write_piece : writes a piece, by its number, and the end of a function
    """
    emit, functions = emitter(), []
    if count == 1:
        write_piece(emit, 0)
    else:
        frame = frame_on_stack(emit, spills)
        for number in range(count):
            part, chunk = emitter(), f"@{name}_chunk{number}"
            write_piece(part, number)
            functions.append(part.function(f"define internal void {chunk}({_CHUNK}) noinline nounwind"))
            emit.do(f"call void {chunk}(ptr %inputs, ptr %outputs, ptr %destinations, ptr {frame})")
        emit.do("ret void")
    return [*functions, emit.function(f"define internal void @{name}({_BODY}) noinline nounwind")]


def frame_on_stack(emit: Emitter, spills: SpillPlan) -> Value:
    """Allocate a frame on the stack and return the value of %frame."""
    return emit.address(emit.stack(spills.size), FRAME_MIDDLE * emit.lanes.bytes)


@dataclass(frozen=True)
class Writer:
    """Writes chunks of the schedule of a tape into functions; spilled values are stored at %frame."""

    tape: Tape
    spills: SpillPlan
    read: Callable[[Emitter, int], Value]  # a scalar input, by its number
    write: Callable[[Emitter, int, Value], None]  # the value of a node that is a result
    reread: Callable[[Emitter, int], Value] | None = None  # a result that has been written; for several chunks
    after_step: Callable[[Emitter], None] = lambda emit: None  # called after every step
    prefetch: Callable[[Emitter, int], None] | None = None  # fetches the memory that a result will be written to

    @cached_property
    def _outputs(self) -> frozenset[int]:
        return frozenset(self.tape.results)

    def chunk(self, emit: Emitter, steps: list[Step], number: int = 0) -> None:
        """Write the chunk `number` of the schedule."""
        values: dict[int, Value] = {}
        nodes, outputs = self.tape.nodes, self._outputs
        self._prefetch(emit, steps[:PREFETCH_STEPS])
        for count, step in enumerate(steps):
            self._prefetch(emit, steps[count + PREFETCH_STEPS : count + PREFETCH_STEPS + 1])
            self._evict(emit, values, number, count)
            for node in step_uses(self.tape, step):
                if node not in values:
                    values[node] = self._load(emit, node)
            if isinstance(step, Group):
                _sincos_group(emit, step, values)
            else:
                op, *reads = nodes[step]
                values[step] = EMIT[op](emit, *[values[k] for k in reads])
            for node in step_defines(step):
                if node in outputs:
                    self.write(emit, node, values[node])
            self.after_step(emit)
        self._evict(emit, values, number, len(steps))

    def leaves(self, emit: Emitter) -> None:
        """Write the results that are constants or inputs."""
        for node in dict.fromkeys(self.tape.results):
            if self.tape.nodes[node][0] in (Op.CONST, Op.INPUT):
                self.write(emit, node, self._load(emit, node))

    def _evict(self, emit: Emitter, values: dict[int, Value], number: int, count: int) -> None:
        """Release the registers of the values that are evicted before a step.

        Inputs and constants read before a fence are read again after it, so that no register has to hold them.
        """
        if not self.spills.evicted:
            return
        for node, is_stored in self.spills.evicted[number][count]:
            value = values.pop(node)
            if is_stored:
                emit.store(value, "%frame", self.spills.slots[node] - FRAME_MIDDLE)
        if count % FENCE_STEPS == 0:
            emit.do(FENCE)
            for node in [node for node in values if self.tape.nodes[node][0] <= Op.INPUT]:
                del values[node]

    def _prefetch(self, emit: Emitter, steps: list[Step]) -> None:
        if self.prefetch is not None:
            for node in [node for step in steps for node in step_defines(step)]:
                if node in self._outputs:
                    self.prefetch(emit, node)

    def _load(self, emit: Emitter, node: int) -> Value:
        """Load a value that is not in a register of this function."""
        op, *operands = self.tape.nodes[node]
        if op == Op.CONST:
            return emit.formula_number(operands[0])
        if op == Op.INPUT:
            return self.read(emit, operands[0])
        if self.reread is not None and node in self._outputs:
            return self.reread(emit, node)
        return emit.load("%frame", self.spills.slots[node] - FRAME_MIDDLE)


def _sincos_group(emit: Emitter, group: Group, values: dict[int, Value]) -> None:
    """Emit the sines and cosines of one level: one test, the fast algorithm inline, the careful one as a call."""
    count = len(group.angles)
    reduced = [reduce(emit, values[angle.node]) for angle in group.angles]
    gathered = reduced[0].beyond
    for each in reduced[1:]:
        gathered = emit.integer("or", gathered, each.beyond)
    outside = emit.integer("and", gathered, emit.pattern(beyond_mask(emit.lanes, emit.fused)))
    fast, careful, joined = (emit.label(name) for name in ("fast", "careful", "joined"))
    emit.branch(emit.any_bit(outside), careful, fast)

    emit.enter(fast)
    fast_pairs = [sine_and_cosine(emit, each.rest, each.quadrant) for each in reduced]
    emit.jump(joined)

    emit.enter(careful)
    angles, sines, cosines = (emit.stack(count) for _ in range(3))
    for k, angle in enumerate(group.angles):
        emit.store(values[angle.node], angles, k)
    function = f"@sincos_careful_{emit.lanes.width}"
    emit.do(f"call void {function}(ptr {angles}, ptr {sines}, ptr {cosines}, i64 {count})")
    careful_pairs = [(emit.load(sines, k), emit.load(cosines, k)) for k in range(count)]
    emit.jump(joined)

    emit.enter(joined)
    for angle, fast_pair, careful_pair in zip(group.angles, fast_pairs, careful_pairs, strict=True):
        for nodes, one, other in zip((angle.sines, angle.cosines), fast_pair, careful_pair, strict=True):
            if nodes:
                values |= dict.fromkeys(nodes, emit.phi(emit.lanes.real, (one, fast), (other, careful)))


def has_angles(tape: Tape) -> bool:
    """Return whether there are sines or cosines, which need functions for huge angles in their module."""
    return any(node[0] in (Op.SIN, Op.COS) for node in tape.nodes)


def witnesses(tape: Tape) -> tuple[list[int], list[int]]:
    """Return nodes among the results, and indices of inputs: if all of these are finite, all inputs are finite."""
    known: list[int] = []  # for every node the set of inputs that are finite if it is, as bits
    for op, *content in tape.nodes:
        if op == Op.INPUT:
            known.append(1 << content[0])
        elif op == Op.CONST:
            known.append(0)
        else:
            inputs = 0
            for k in PROPAGATING[Op(op)]:
                inputs |= known[content[k]]
            known.append(inputs)
    missing, chosen = (1 << tape.input_size) - 1, []
    results = list(dict.fromkeys(tape.results))
    while results:
        best = max(results, key=lambda node: (known[node] & missing).bit_count())
        if (known[best] & missing).bit_count() < 2:
            break
        chosen.append(best)
        missing &= ~known[best]
    return chosen, [number for number in range(tape.input_size) if missing >> number & 1]


def unless_finite(emit: Emitter, values: Iterable[Value], otherwise: Callable[[], None]) -> None:
    """Emit code that runs `otherwise` if a number in any of these registers is not finite."""
    lanes = emit.lanes
    exponent = emit.pattern(lanes.pattern_of(math.inf))
    tests = [emit.integer("icmp eq", emit.integer("and", emit.bits(value), exponent), exponent) for value in values]
    failed = tests[0]
    for test in tests[1:]:
        failed = emit.conditions("or", failed, test)
    emit.when(emit.any(failed), otherwise)


def nonfinite_samples(emit: Emitter, inputs: int) -> Value:
    """Return integers that are zero where the first `inputs` registers of %inputs are finite.

    The inputs of a kernel of one sample are read several at a time.
    """
    if emit.lanes.width == 1 and inputs >= _WIDE_INPUTS:
        scalar, wide = emit.lanes, Lanes(emit.lanes.format, _WIDE_INPUTS * emit.lanes.bytes)
        with emit.using(wide):
            total = _nonfinite(emit, inputs // wide.width, emit.lanes.itemsize)
            kind = f"v{wide.width}{wide.integer}"
            any_lane = emit.value(f"call {wide.integer} @llvm.vector.reduce.or.{kind}({wide.bits} {total})")
        lane = emit.value(f"insertelement {scalar.bits} poison, {scalar.integer} {any_lane}, i32 0")
        rest = inputs % wide.width
        if not rest:
            return lane
        return emit.integer("or", lane, _nonfinite(emit, rest, scalar.bytes, first=inputs - rest))
    return _nonfinite(emit, inputs, emit.lanes.bytes)


def _nonfinite(emit: Emitter, inputs: int, align: int, first: int = 0) -> Value:
    start = emit.address("%inputs", first * emit.lanes.bytes)

    def read(at: Value, k: int) -> Value:
        return emit.value(f"load {emit.lanes.real}, ptr {emit.address(at, k * emit.lanes.bytes)}, align {align}")

    rounds = inputs // _PARTIAL_SUMS

    def add(number: Index, partial: list[Value]) -> list[Value]:
        at = emit.address(start, emit.times(number, _PARTIAL_SUMS * emit.lanes.bytes))
        return [emit.fma(read(at, k), emit.constant(0.0), partial[k]) for k in range(_PARTIAL_SUMS)]

    sums = [emit.constant(0.0)] * _PARTIAL_SUMS
    if rounds:
        sums = emit.fold(rounds, sums, add)
    for number in range(rounds * _PARTIAL_SUMS, inputs):
        k = number % _PARTIAL_SUMS
        sums[k] = emit.fma(read(start, number), emit.constant(0.0), sums[k])
    total = emit.bits(sums[0])
    for other in sums[1:]:
        total = emit.integer("or", total, emit.bits(other))
    return total


def overwrite_nonfinite(
    emit: Emitter, nonfinite: Value, count: int, slot: Callable[[Index], Index] = lambda k: k
) -> None:
    """Overwrite all results of the samples of `nonfinite_samples` with NaN: `count` registers of %outputs.

    Parameters
    ----------
    emit : emitter of the function
    nonfinite : result of `nonfinite_samples`
    count : number of results
    slot : maps the index of a result to its register
    """

    def overwrite() -> None:
        mask = emit.integer("icmp ne", nonfinite, emit.pattern(0))

        def write(number: Index) -> None:
            at = slot(number)
            emit.store(emit.select(mask, emit.constant(math.nan), emit.load("%outputs", at)), "%outputs", at)

        emit.repeat(count, write, unroll=False)

    emit.when(emit.any_bit(nonfinite), overwrite)
