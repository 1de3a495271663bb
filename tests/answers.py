"""How the laws ask a function for its value.

Small tapes are compiled and run. Compiling the derivative of a thirty-link tree takes many seconds and shows nothing
that tests/compile/native does not show, namely that compiled code does what the tape says; so longer tapes are
interpreted. (`appell fuzz --only robots` compiles whatever it meets.)
"""

from __future__ import annotations

from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate

LONG = 300  # nodes


def answer(function: Function, *arguments):
    """The results at one sample; a tuple where there are several."""
    return function(*arguments) if len(function.tape) < LONG else interpreted(function, *arguments)


def interpreted(function: Function, *arguments):
    """The same by the tape alone, where compiled code is shown elsewhere to be right."""
    results = evaluate(function.tape, *arguments)
    return results if len(results) > 1 else results[0]
