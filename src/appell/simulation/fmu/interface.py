"""The functions of FMI 2 for co-simulation, in C around an exported step: `interface.c.in` with its @words@ filled in.

A communication step is cut into steps of the length of the parameter `step`, and a shorter one for what is left; a rest
below a millionth of a step is rounding of the tool's clock, and dropped. Memory for an instance comes from the tool,
as the standard asks. The declarations are those of the standard that the file needs, so that it compiles by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from appell.compile.c.statements import fill
from appell.compile.function import Function
from appell.simulation.fmu.description import Variable


def interface(prefix: str, title: str, guid: str, step: Function, row: Sequence[Variable]) -> str:
    """The file, around the exported function `prefix` of a rollout's step."""
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
    """The arguments of the step: state and inputs lie in the row in the order of its signature."""
    place, values, locals_ = 0, [], ""
    for array in step.inputs:
        if array.name in ("t", "dt"):
            values.append("time" if array.name == "t" else "step")
        else:
            values.append(f"x + {place}")
            place += array.size
    place = 0
    for array in step.outputs:
        if place < states:
            values.append(f"next + {place}")
            place += array.size
        else:
            locals_ += f"    double {array.name}_[{array.size}];\n"
            values.append(f"{array.name}_")
    return {"locals": locals_, "values": ", ".join(values)}
