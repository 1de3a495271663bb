"""Errors about the arguments of a scan name the argument."""

import numpy as np
import pytest

from appell.errors import ArgumentError
from compile.scan.steps import pendulums

SCAN = pendulums()
Q, P, T, U = np.zeros((4, 3)), np.zeros(2), np.zeros(6), np.zeros((4, 6, 3))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((Q[:, :2], Q, P, T, U), {}, r"argument q has shape \(4, 2\).*a last axis of 3, after any batch axes"),
        ((Q, Q, 1.0, T, U), {}, r"argument p has shape \(\)"),
        ((Q, Q, P, 0.1, U), {}, r"argument t has shape \(\).*an axis of steps, after any batch axes"),
        ((Q, Q, P, T, U[..., :1]), {}, r"argument u has shape .*an axis of steps, a last axis of 3"),
        ((Q, Q, P, T[:5], U), {}, "different numbers of steps: t 5, u 6"),
        ((Q, Q[:3], P, T, U), {}, r"do not broadcast: q \(4,\), v \(3,\), u \(4,\)"),
        ((Q, Q, P, T, U), {"every": 4}, "6 steps cannot be stored every 4 steps"),
        ((Q, Q, P, T, U), {"every": 0}, "every is 0"),
        ((Q, Q, P, T, U), {"every": 2.0}, "every is 2.0"),
        ((Q, Q, P, T, U), {"every": True}, "every is True"),
        ((Q, Q, P, T), {}, r"missing argument u.*q\[3\], v\[3\], p\[2\], t\[steps\], u\[steps, 3\]"),
        ((Q, Q, P, T, U, U), {}, "got 6 arguments"),
        ((Q, Q, P, T, U), {"q": Q}, "got argument q twice"),
        ((Q, Q, P, T, U), {"dt": 0.1}, "has no argument 'dt'.*every, threads or out"),
        ((Q, Q, P, T, U + 1j), {}, "argument u holds complex128 values"),
        ((Q, Q, P, ["a"] * 6, U), {}, "argument t holds <U1 values"),
        (([[0.0], [1.0, 2.0]], Q, P, T, U), {}, "argument q is nested unevenly"),
        ((np.ma.masked_array(Q, Q == 0), Q, P, T, U), {}, "argument q has masked entries"),
        ((Q, Q, P, T, U), {"out": np.zeros(3)}, "pendulums: .*out"),
    ],
)
def test_a_bad_argument_is_named(arguments, options, message):
    with pytest.raises(ArgumentError, match=f"(?s){message}"):
        SCAN(*arguments, **options)


def test_driven_arrays_are_viewed_without_a_copy():
    for u in (U, np.broadcast_to(U[:1], U.shape), np.asfortranarray(U), U[:, ::-1]):
        viewed = SCAN.arguments.in_rows([Q, Q, P, T, u], 2)[-1]
        assert viewed.shape == (4, 3, 2, 3)
        assert np.shares_memory(viewed, u)
