"""The body of a program on one block of samples, in LLVM: one block of registers for inputs, results and all between.

    void @body(frame, frame, null, 1)     the stages one after the other
    void @stage3(frame)                   its turns; a stage of one turn is straight code

The frame is a register a slot, one sample a lane. What changes from turn to turn stands in a table (`turn_table`). With
one sample only, turns that do not meet go `abreast`.
"""

from __future__ import annotations

from appell.compile.emit.abreast import abreast_functions, go_abreast
from appell.compile.emit.body import careful_functions, has_angles
from appell.compile.emit.constants import Constants
from appell.compile.emit.emitter import Emitter, Index
from appell.compile.emit.form import Form
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.spoilt import poison, spoilt_samples
from appell.compile.emit.turns import stage_functions
from appell.compile.program import Program


def program_body(program: Program, lanes: Lanes, fused: bool, form: Form) -> str:
    """All functions and constants of the body of a program."""
    chunk, large = form.chunk, 0 < form.cache < program.size * lanes.bytes
    functions = []
    if any(has_angles(step.tape) for stage in program.stages for step in stage.steps):
        functions += careful_functions(lanes, fused)
    constants = Constants(lanes)
    emit = Emitter(lanes, fused, constants)
    spoilt = spoilt_samples(emit, program.input_size)
    for number, stage in enumerate(program.stages):
        name = f"stage{number}"
        if go_abreast(stage, lanes, chunk):
            functions += abreast_functions(name, stage, lanes, fused, chunk)
        else:
            functions += stage_functions(name, stage, lambda: Emitter(lanes, fused, constants), chunk, large)
        emit.do(f"call void @stage{number}(ptr %inputs)")
    results = list(dict.fromkeys(program.results))
    functions.append(_table(results))

    def place(number: Index) -> Index:
        return emit.value(f"load i64, ptr {emit.address('@results', emit.times(number, 8))}, align 8")

    poison(emit, spoilt, len(results), place)
    emit.do("ret void")
    header = "define internal void @body(ptr %inputs, ptr %outputs, ptr %near, i64 %blocks) noinline nounwind"
    return "\n".join([*constants.text(), *functions, emit.function(header)])


def _table(results: list[int]) -> str:
    entries = ", ".join(f"i64 {slot}" for slot in results)
    return f"@results = private unnamed_addr constant [{len(results)} x i64] [{entries}], align 8"
