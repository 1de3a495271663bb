"""A tape as a Python module that needs only an array library: neither appell nor a compiler.

    python_text(dyn.inverse_dynamics, "jax")

The module has one function with the same arguments; leading axes are the batch and broadcast, as for the compiled
function. It is much slower than that, and runs wherever the library does: on a GPU, in a browser, under `jax.jit`.
Powers of two that only prevent squares from overflowing (LEVEL) are replaced by 1. Names that Python does not
accept, such as that of a function of the frame `left-foot`, are replaced by identifiers, as in C.
"""

from __future__ import annotations

import keyword
import unicodedata
from dataclasses import dataclass, replace

from appell.compile.c.signature import identifiers
from appell.compile.function import Function
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape
from appell.errors import ArgumentError, unknown_name


@dataclass(frozen=True)
class Library:
    """Python expressions of an array library, as format strings."""

    importing: str
    array: str  # an argument as an array
    broadcast: str
    stack: str  # scalars along a last axis
    module: str
    power: str = "power"
    erf: tuple[str, str] = ("", "{m}.erf({})")  # line that imports it, and its use


_NUMPY_LIKE = {"broadcast": "{}.broadcast_arrays({})", "stack": "{}.stack([{}], axis=-1)"}
_NUMPY_ERF = ("import math", "np.vectorize(math.erf, otypes=[float])({})")
_JAX_ERF = ("import jax", "jax.lax.erf({})")
LIBRARIES = {
    "numpy": Library("import numpy as np", "np.asarray({}, float)", **_NUMPY_LIKE, module="np", erf=_NUMPY_ERF),
    "jax": Library("import jax.numpy as jnp", "jnp.asarray({})", **_NUMPY_LIKE, module="jnp", erf=_JAX_ERF),
    "torch": Library(
        "import torch", "torch.as_tensor({})", "{}.broadcast_tensors({})", "{}.stack([{}], dim=-1)", "torch", "pow"
    ),
}
_FORMATS = {
    Op.ADD: "{} + {}",
    Op.SUB: "{} - {}",
    Op.MUL: "{} * {}",
    Op.DIV: "{} / {}",
    Op.NEG: "-{}",
    Op.SQRT: "{m}.sqrt({})",
    Op.SIN: "{m}.sin({})",
    Op.COS: "{m}.cos({})",
    Op.ATAN2: "{m}.arctan2({}, {})",
    Op.SELECT: "{m}.where({} > 0, {}, {})",
    Op.ROUND: "{m}.round({})",
    Op.LEVEL: "{m}.ones_like({})",
    Op.POWER: "{m}.{power}({}, {})",
    **{op: f"{{m}}.{op.name.lower()}({{}})" for op in (Op.ABS, Op.SIGN, Op.EXP, Op.LOG, Op.TANH, Op.ARCSIN, Op.ARCCOS)},
    **{op: f"{{m}}.{op.name.lower()}({{}}, {{}})" for op in (Op.MINIMUM, Op.MAXIMUM)},
}
_OF_ARRAYS = (Op.MINIMUM, Op.MAXIMUM, Op.POWER)  # functions that do not accept numbers in PyTorch


def python_text(function: Function, library: str) -> str:
    """Return the Python module of a function for numpy, jax or torch."""
    if library not in LIBRARIES:
        raise ArgumentError(unknown_name("library", library, LIBRARIES, "a Python module"))
    of = LIBRARIES[library]
    tape = _with_python_names(function.tape, of)
    inputs, outputs = (", ".join(map(str, arrays)) for arrays in (tape.inputs, tape.outputs))
    owner = f" of {function.owner}" if function.owner else ""
    title = docstring(f"{tape.name}{owner}: ({inputs}) -> ({outputs}), written by appell.")
    arguments = ", ".join(array.name for array in tape.inputs)
    body = [*_arguments(tape, of), *_nodes(tape, of), f"return {_returned(tape, of)}"]
    imports = [of.erf[0]] if of.erf[0] and any(node[0] == Op.ERF for node in tape.nodes) else []
    lines = [f'"""{title}"""', "", *imports, of.importing, "", "", f"def {tape.name}({arguments}):"]
    lines += [f'    """{_sentence(function)}"""', *(f"    {line}" for line in body)]
    return "\n".join(lines) + "\n"


def _sentence(function: Function) -> str:
    return docstring((function.__doc__ or "Leading axes are batch.").splitlines()[0])


def docstring(text: str) -> str:
    """Return a text without characters that would end a docstring."""
    return "".join(x for x in text if x.isprintable() and x != "\\").replace('"', "'")


def is_python_name(name: str) -> bool:
    """Return whether Python accepts a name for a variable, and does not replace it by another one, as 𝐪 by q."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def _with_python_names(tape: Tape, of: Library) -> Tape:
    """Return the tape with names of function and arguments that Python accepts and that the text does not use."""

    def is_valid(name: str) -> bool:
        return is_python_name(name) and name not in (of.module, "float")

    names = identifiers([array.name for array in tape.inputs], is_valid)
    inputs = tuple(Array(name, array.shape) for name, array in zip(names, tape.inputs, strict=True))
    return replace(tape, name=identifiers([tape.name], is_valid)[0], inputs=inputs)


def _arguments(tape: Tape, of: Library) -> list[str]:
    """Return the lines that convert the arguments to arrays and split them into scalars of the shape of the batch."""
    lines = [f"{array.name} = {of.array.format(array.name)}" for array in tape.inputs]
    scalars = [f"{array.name}[..., {_index(array, k)}]" if array.shape else array.name for array, k in _elements(tape)]
    names = [f"s{k}" for k in range(len(scalars))]
    broadcast = of.broadcast.format(of.module, ", ".join(scalars))
    return [*lines, f"{', '.join(names)}{',' * (len(names) == 1)} = {broadcast}"]


def _elements(tape: Tape) -> list[tuple[Array, int]]:
    return [(array, k) for array in tape.inputs for k in range(array.size)]


def _index(array: Array, flat: int) -> str:
    return array.element(flat)[len(array.name) + 1 : -1]


def _nodes(tape: Tape, of: Library) -> list[str]:
    lines = []
    for number, (op, *operands) in enumerate(tape.nodes):
        if op > Op.INPUT:
            name = _full if op in _OF_ARRAYS else _name
            form = of.erf[1] if op == Op.ERF else _FORMATS[Op(op)]
            text = form.format(*(name(tape, k, of) for k in operands), m=of.module, power=of.power)
            lines.append(f"v{number} = {text}")
    return lines


def _name(tape: Tape, number: int, of: Library) -> str:
    op, *operands = tape.nodes[number]
    if op == Op.INPUT:
        return f"s{operands[0]}"
    if op == Op.CONST:
        return f"({operands[0]!r})" if operands[0] < 0.0 else repr(operands[0])
    return f"v{number}"


def _returned(tape: Tape, of: Library) -> str:
    """Return the expression of the results, stacked from their scalars; constants get the shape of the batch."""
    nodes = iter(tape.results)
    parts = []
    for array in tape.outputs:
        names = [_full(tape, next(nodes), of) for _ in range(array.size)]
        if not array.shape:
            parts.append(names[0])
            continue
        stacked = of.stack.format(of.module, ", ".join(names))
        parts.append(f"{stacked}.reshape((*s0.shape, {', '.join(map(str, array.shape))}))")
    return ", ".join(parts)


def _full(tape: Tape, number: int, of: Library) -> str:
    name = _name(tape, number, of)
    return f"{of.module}.full_like(s0, {name})" if tape.nodes[number][0] == Op.CONST else name
