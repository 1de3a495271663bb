"""A tape as JSON, for programs in any language.

    {"format": "appell tape", "version": 1, "name": "area",
     "inputs": [{"name": "r", "shape": []}], "outputs": [{"name": "area", "shape": []}],
     "nodes": [["input", 0], ["const", 3.0], ["mul", 1, 0], ["mul", 0, 2]],
     "results": [3]}

A node is an instruction and the indices of its operands, which precede it; the operand of `const` is its value, that of
`input` the index of a scalar input. Numbers have enough digits to restore the same double. `tape.schema.json` in this
folder defines the format and the meaning of the instructions. The version changes when a reader of the previous version
would misinterpret the text.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from appell.compile.function import Function
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array

FORMAT, VERSION = "appell tape", 1


def tape_json(function: Function) -> str:
    """Return the tape of a function as JSON text, one node per line."""
    tape = function.tape
    nodes = [json.dumps([Op(op).name.lower(), *operands]) for op, *operands in tape.nodes]
    head = {
        "format": FORMAT,
        "version": VERSION,
        "name": tape.name,
        "owner": function.owner,
        "doc": function.summary,
        "inputs": [_described(array) for array in tape.inputs],
        "outputs": [_described(array) for array in tape.outputs],
    }
    lines = ["{", *(f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()), ' "nodes": [']
    lines += [f"  {node}{',' * (k + 1 < len(nodes))}" for k, node in enumerate(nodes)]
    return "\n".join([*lines, " ],", f' "results": {json.dumps(list(tape.results))}', "}", ""])


def schema() -> dict[str, Any]:
    """Return the JSON schema of the format."""
    return json.loads(files("appell.compile.exchange").joinpath("tape.schema.json").read_text(encoding="utf-8"))


def _described(array: Array) -> dict[str, Any]:
    return {"name": array.name, "shape": list(array.shape)}
