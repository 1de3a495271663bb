"""The output of `appell info` for a mechanism."""

from __future__ import annotations

import json

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.cli.info import facts, shown
from appell.cli.output import Printer
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.mechanism import LegJoint, Mechanism, MovingBody

CART = Mechanism(
    "cart",
    ("x",),
    (MovingBody("box", lambda q: Pose(translation=Vec3(q[0], 0.0, 0.0)), Body(2.5, Vec3(0.0, 0.0, 0.0), IDENTITY)),),
    (LegJoint("push", lambda q: q[0], "m", Actuator(gear=3.5, torque=7.25)),),
    home=(0.5,),
    units=("m",),
    ranges=((-1.0, float("inf")),),
    frames=(Frame("hook", "box"),),
)


def test_a_mechanism_has_coordinates_actuators_bodies_frames_and_counts():
    printer, data = Printer(), facts(CART, [], counts=True)
    with printer.console.capture() as captured:
        printer.answer(data, *shown(data))
    for part in ("cart", "bodies: 1, 2.5 kg", "Coordinates", "-1 … ∞", "push", "3.5", "7.25", "box", "hook on box"):
        assert part in captured.get()
    assert "inverse dynamics" in captured.get()
    assert "Joints" not in captured.get()


def test_the_data_are_valid_json():
    sheet = json.loads(json.dumps(facts(CART, [], counts=False), allow_nan=False))
    assert sheet["kind"] == "mechanism"
    assert sheet["coordinates"] == [{"name": "x", "unit": "m", "lower": -1.0, "upper": None}]
    assert (sheet["links"], sheet["home"]) == ([], [0.5])
    assert sheet["actuators"][0]["gear"] == 3.5
