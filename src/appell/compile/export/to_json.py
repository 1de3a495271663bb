"""A tape as JSON, for programs in any language, and back.

    {"format": "appell tape", "version": 1, "name": "area",
     "inputs": [{"name": "r", "shape": []}], "outputs": [{"name": "area", "shape": []}],
     "nodes": [["input", 0], ["const", 3.0], ["mul", 1, 0], ["mul", 0, 2]],
     "results": [3]}

A node is an instruction and the numbers of the nodes that it reads, which stand before it; `const` has its value,
`input` the number of a scalar input. Numbers have as many digits as it takes to read the same double again. What the
instructions mean is said in `tape.schema.json` beside this file, which every such text obeys. The version changes when
a reader of the last one could be misled.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from typing import Any

from appell.compile.ops import ARITY, Op
from appell.compile.readings import Readings
from appell.compile.tape import Array, Tape, verify
from appell.errors import CompileError, DescriptionError, unknown_name

FORMAT, VERSION = "appell tape", 1
LARGEST = 100_000_000  # characters that are read
_NAMES = {op.name.lower(): op for op in Op}


def tape_json(function: Readings) -> str:
    """The tape of a function as text, a node a line."""
    tape = function.tape
    nodes = [json.dumps([Op(op).name.lower(), *operands]) for op, *operands in tape.nodes]
    head = {
        "format": FORMAT,
        "version": VERSION,
        "name": tape.name,
        "owner": function.owner,
        "doc": function.__doc__ or "",
        "inputs": [_described(array) for array in tape.inputs],
        "outputs": [_described(array) for array in tape.outputs],
    }
    lines = ["{", *(f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()), ' "nodes": [']
    lines += [f"  {node}{',' * (k + 1 < len(nodes))}" for k, node in enumerate(nodes)]
    return "\n".join([*lines, " ],", f' "results": {json.dumps(list(tape.results))}', "}", ""])


def schema() -> dict[str, Any]:
    """The JSON schema of such a text."""
    return json.loads(files("appell.compile.export").joinpath("tape.schema.json").read_text(encoding="utf-8"))


def read_tape(text: str) -> Tape:
    """The tape of a text, checked node by node; no text makes anything run."""
    if len(text) > LARGEST:
        raise DescriptionError(f"the tape has {len(text)} characters.", expected=f"at most {LARGEST}")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"the text is no JSON: {error}.") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DescriptionError("the text is no tape.", expected=f'{{"format": "{FORMAT}", ...}}')
    if content.get("version") != VERSION:
        raise DescriptionError(f"the tape has version {content.get('version')!r}.", expected=f"{VERSION}")
    try:
        name, results = content["name"], content["results"]
        inputs, outputs = ([_array(each) for each in content[key]] for key in ("inputs", "outputs"))
        nodes = [_node(k, node) for k, node in enumerate(content["nodes"])]
    except (KeyError, TypeError) as error:
        raise DescriptionError(f"the tape lacks a part, or has another in its place: {error}.") from None
    if not isinstance(name, str) or not name.isidentifier() or not all(_is_index(k) for k in results):
        raise DescriptionError(f"the tape '{name}' has no name or no results.", expected="a name, and numbers of nodes")
    try:
        return verify(Tape(name, tuple(inputs), tuple(outputs), tuple(nodes), tuple(results)))
    except CompileError as error:
        raise DescriptionError(error.problem) from None


def _described(array: Array) -> dict[str, Any]:
    return {"name": array.name, "shape": list(array.shape)}


def _array(described: Any) -> Array:
    name, shape = described["name"], described["shape"]
    if not isinstance(name, str) or not name.isidentifier() or not all(_is_index(size) for size in shape):
        raise DescriptionError(f"{described} is no array.", expected='{"name": "q", "shape": [6]}')
    return Array(name, tuple(shape))


def _node(number: int, node: Any) -> tuple[Any, ...]:
    name, *operands = node
    if name not in _NAMES:
        raise DescriptionError(unknown_name("instruction", str(name), _NAMES, f"node {number}: a tape"))
    op = _NAMES[name]
    if op == Op.CONST:
        fine = len(operands) == 1 and type(operands[0]) in (int, float) and abs(operands[0]) <= sys.float_info.max
        operands = [float(x) for x in operands] if fine else operands
    else:
        fine = len(operands) == max(ARITY[op], 1) and all(_is_index(k) for k in operands)
    if not fine:
        raise DescriptionError(f"node {number} is {node}.", expected=f"{_operands(op)} after '{name}'")
    return (int(op), *operands)


def _operands(op: Op) -> str:
    return "a finite number" if op == Op.CONST else f"{max(ARITY[op], 1)} whole numbers"


def _is_index(value: Any) -> bool:
    return type(value) is int and value >= 0
