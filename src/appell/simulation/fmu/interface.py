"""The C functions of FMI 2 for co-simulation around an exported step: `interface.c.in` with its @words@ filled in.

A communication step is divided into steps of the length of the parameter `step` and a shorter last one; a remainder
below a millionth of a step is a rounding error of the tool's clock and is dropped. The tool allocates the memory of an
instance, as the standard requires. The file contains the declarations of the standard that it needs, so that it
compiles without the headers of FMI.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from appell.compile.c.statements import fill
from appell.compile.function import Function
from appell.simulation.fmu.description import Variable


def interface(prefix: str, title: str, guid: str, step: Function, row: Sequence[Variable]) -> str:
    """Return the text of the C file.

    Parameters
    ----------
    prefix
        Name of the exported C function of the step.
    title
        Name of the system, for the comment in the first line.
    guid
        Identifier that an instance must be created with.
    step
        The step of the rollout.
    row
        The variables, in the order of their value references.
    """
    states = sum(variable.role == "output" for variable in row)
    words = {
        **_call(step, states),
        "title": title,
        "guid": guid,
        "count": str(len(row)),
        "state": str(states),
        "step": str(len(row) - 1),
        "start": ", ".join(variable.start.hex() for variable in row),
        "P": prefix,
    }
    return fill(files(__package__).joinpath("interface.c.in").read_text(encoding="utf-8"), words)


def _call(step: Function, states: int) -> dict[str, str]:
    """Return the C code of the call of the step; the row holds state and inputs in the order of its signature."""
    offset, values, locals_ = 0, [], ""
    for array in step.inputs:
        if array.name in ("t", "dt"):
            values.append("time" if array.name == "t" else "step")
        else:
            values.append(f"x + {offset}")
            offset += array.size
    offset = 0
    for array in step.outputs:
        if offset < states:
            values.append(f"next + {offset}")
            offset += array.size
        else:
            locals_ += f"    double {array.name}_[{array.size}];\n"
            values.append(f"{array.name}_")
    return {"locals": locals_, "values": ", ".join(values)}
