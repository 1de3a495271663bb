"""Invalid arguments of frequently used functions raise errors that name the argument."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell as ap

PENDULUM = ap.load("pendulum")
BALL = ap.Builder("ball", base="floating", root="ball").root_body(1.0, (0, 0, 0), (0.1, 0.1, 0.1)).build()

with pytest.warns(ap.ModelWarning, match="massless"):
    TURNING = ap.load("puma", base="floating")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ap.simulate(PENDULUM, contacts=5), "contacts is 5"),
        (lambda: ap.simulate(PENDULUM, until="soon"), "until, in s, is 'soon'"),
        (lambda: ap.simulate(PENDULUM, until=np.nan), "until, in s, is nan"),
        (lambda: ap.simulate(BALL, [0, 0, 1, 0, 0, 0, 0]), "contains a zero quaternion"),
        (lambda: ap.Pin("crank", (0, 1)), "the point of a pin on body 'crank'"),
        (lambda: ap.Pin("crank", (0, 1, 0), "rod", "here"), "the other point of a pin"),
        (lambda: PENDULUM.locked({"hinge": "x"}), "joint 'hinge' of robot 'pendulum' cannot be locked at x"),
        (
            lambda: TURNING.locked({"root_joint": [0.0] * 7}),
            "'root_joint' of .* cannot be locked at a quaternion of zeros",
        ),
        (lambda: replace(BALL, home=(0.0,) * 7), "the home of robot 'ball' contains a quaternion of zeros"),
        (lambda: PENDULUM.random_configuration("x"), "rng is 'x'"),
        (lambda: ap.load("delta").random_configuration(-1), "rng is -1"),
        (lambda: ap.control.linearize(PENDULUM, [np.nan]), r"q is \[nan\]"),
        (lambda: ap.shapes.rod(1.0, None), "a rod has length None"),
        (lambda: ap.shapes.rod(True, 1.0), "a rod has mass True"),
    ],
)
def test_an_invalid_argument_is_named(call, message):
    with pytest.raises(ap.AppellError, match=message):
        call()
