"""What `appell info` says of a mechanism."""

from __future__ import annotations

import json

from rich.console import Console

from appell.algebra.matrix import IDENTITY
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.cli.facts import facts
from appell.cli.sheet import show
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.mechanism import Mechanism
from appell.model.mechanism_parts import LegJoint, MovingBody

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
    console = Console(width=150)
    with console.capture() as shown:
        show(facts(CART, [], counts=True), console)
    for part in ("cart", "bodies: 1, 2.5 kg", "Coordinates", "-1 … ∞", "push", "3.5", "7.25", "box", "hook on box"):
        assert part in shown.get()
    assert "inverse dynamics" in shown.get()
    assert "Joints" not in shown.get()


def test_the_facts_are_json():
    sheet = json.loads(json.dumps(facts(CART, [], counts=False), allow_nan=False))
    assert sheet["kind"] == "mechanism"
    assert sheet["coordinates"] == [{"name": "x", "unit": "m", "lower": -1.0, "upper": None}]
    assert (sheet["links"], sheet["home"]) == ([], [0.5])
    assert sheet["actuators"][0]["gear"] == 3.5
