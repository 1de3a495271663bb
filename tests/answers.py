"""Evaluation of functions in the tests of laws.

Functions with short tapes are compiled; longer ones are interpreted, because compiling the derivative of a thirty-link
tree takes many seconds. tests/compile/native shows that compiled code agrees with the tape, and `appell fuzz --only
robots` compiles functions of any length.
"""

from __future__ import annotations

from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate

MAX_COMPILED_NODES = 60


def answer(function: Function, *arguments):
    """Return the results at one sample; a tuple if there are several."""
    return function(*arguments) if len(function.tape) < MAX_COMPILED_NODES else interpreted(function, *arguments)


def interpreted(function: Function, *arguments):
    """Return the results of the interpreter."""
    results = evaluate(function.tape, *arguments)
    return results if len(results) > 1 else results[0]
