"""The functions of `scalar` that users call, `ap.sin` and the like: of scalars, and of arrays element by element.

Algorithms use the functions of `scalar` itself, which do not look for arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from appell.algebra import scalar


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of scalars as one of scalars and arrays, which broadcast."""
    parameters = signature(function)
    each = np.frompyfunc(function, len(parameters.parameters), 1)

    @wraps(function)
    def apply(*operands: Any, **named: Any) -> Any:
        operands = parameters.bind(*operands, **named).args if named else operands
        if not any(isinstance(x, np.ndarray) for x in operands):
            return function(*operands)
        result = each(*operands)
        return result.astype(float) if all(map(scalar.is_number, result.flat)) else result

    apply.__module__ = __name__
    return apply


abs = elementwise(scalar.abs)
arccos = elementwise(scalar.arccos)
arcsin = elementwise(scalar.arcsin)
atan2 = elementwise(scalar.atan2)
cos = elementwise(scalar.cos)
erf = elementwise(scalar.erf)
exp = elementwise(scalar.exp)
log = elementwise(scalar.log)
maximum = elementwise(scalar.maximum)
minimum = elementwise(scalar.minimum)
power = elementwise(scalar.power)
select = elementwise(scalar.select)
sign = elementwise(scalar.sign)
sin = elementwise(scalar.sin)
sqrt = elementwise(scalar.sqrt)
tanh = elementwise(scalar.tanh)
