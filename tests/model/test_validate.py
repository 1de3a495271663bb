"""Invalid robots: each error names the part that causes it."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import UNITS, Vec3
from appell.errors import ModelError, ModelWarning
from appell.model.actuator import Actuator, Friction
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.joints import Continuous, Floating, Planar, Revolute
from appell.model.limits import Limits
from appell.model.robot import Joint, Link, Mimic, Robot
from robots import random_body

BODY = random_body(np.random.default_rng(0))
ARM = Link("arm", None, Joint("shoulder", Revolute()), BODY)
HAND = Link("hand", "arm", Joint("wrist", Revolute()), BODY)
NAN = float("nan")


def robot(*links: Link, **settings) -> Robot:
    return Robot("r", links or (ARM, HAND), source="r.urdf", **settings)


def wrist(**changes) -> Robot:
    return robot(ARM, replace(HAND, joint=replace(HAND.joint, **changes)))


def driven(**drive) -> Robot:
    return wrist(actuator=Actuator(**drive))


def placed(rows) -> Robot:
    return wrist(placement=Pose(Mat3.of(rows)))


def heavy(mass: float = 1.0, com: Vec3 = UNITS[0], inertia: Mat3 = IDENTITY, **settings) -> Robot:
    return robot(replace(ARM, body=Body(mass, com, inertia)), HAND, **settings)


FOLLOWER = replace(HAND, joint=replace(HAND.joint, mimic=Mimic("shoulder")))
BAD = {
    "no links": (lambda: Robot("r", ()), "robot 'r' has no moving joint"),
    "two links of one name": (lambda: robot(ARM, replace(HAND, name="arm")), "two links named 'arm'"),
    "two joints of one name": (lambda: wrist(name="shoulder"), "two joints named 'shoulder'"),
    "two frames of one name": (lambda: robot(frames=(Frame("f", "arm"), Frame("f", None))), "two frames .* 'f'"),
    "a frame with a link's name": (lambda: robot(frames=(Frame("arm", "hand"),)), "two frames .* 'arm'"),
    "an empty name": (lambda: robot(replace(ARM, name=""), HAND), "has a link named ''"),
    "a name with blanks around it": (lambda: wrist(name=" wrist"), "has a joint named ' wrist'"),
    "a name of another kind": (lambda: robot(frames=(Frame(3, "arm"),)), "has a frame named 3"),
    "a robot without a name": (lambda: Robot("", (ARM,)), "a robot is named ''"),
    "an unknown parent": (lambda: robot(ARM, replace(HAND, parent="amr")), "parent 'amr'.*Did you mean 'arm'"),
    "a parent after its child": (lambda: robot(HAND, ARM), "parent 'arm', which does not come before it"),
    "a link on itself": (lambda: robot(replace(ARM, parent="arm")), "parent 'arm', which does not come before it"),
    "a placement that is not finite": (
        lambda: wrist(placement=Pose(translation=Vec3(0.0, NAN, 0.0))),
        "the placement of joint 'wrist' of robot 'r' is .*nan",
    ),
    "a placement that is not orthonormal": (
        lambda: placed([[1, 0, 0], [0, 1, 0], [0, 0.1, 1]]),
        "joint 'wrist'.* not orthonormal",
    ),
    "a placement that mirrors": (lambda: placed([[1, 0, 0], [0, 1, 0], [0, 0, -1]]), "joint 'wrist'.* is a reflection"),
    "a frame that mirrors": (
        lambda: robot(frames=(Frame("f", "arm", Pose(Mat3.of([[-1, 0, 0], [0, 1, 0], [0, 0, 1]]))),)),
        "frame 'f' of robot 'r' is a reflection",
    ),
    "a frame on an unknown link": (lambda: robot(frames=(Frame("f", "hnad"),)), "fixed to 'hnad'.*Did you mean 'hand'"),
    "a lower limit above the upper limit": (
        lambda: wrist(limits=Limits(1.0, -1.0)),
        "lower limit 1 above its upper limit -1",
    ),
    "a limit that is nan": (lambda: wrist(limits=Limits(NAN)), "joint 'wrist' of robot 'r' has lower limit nan"),
    "a limit that is infinite": (
        lambda: wrist(limits=Limits(upper=math.inf)),
        "upper limit inf.*\n.*None for no limit",
    ),
    "a negative speed": (lambda: driven(speed=-1.0), "joint 'wrist' of robot 'r' has speed -1"),
    "a negative torque": (lambda: driven(torque=-1.0), "joint 'wrist' of robot 'r' has torque -1"),
    "a current that is nan": (lambda: driven(current=NAN), "joint 'wrist' of robot 'r' has current nan"),
    "an infinite torque constant": (lambda: driven(torque_constant=math.inf), "has torque constant inf"),
    "a gear ratio of zero": (lambda: driven(gear=0.0), "joint 'wrist' of robot 'r' has gear ratio 0"),
    "a negative rotor": (lambda: driven(rotor_inertia=-1e-4), "joint 'wrist' of robot 'r' has rotor inertia -0.0001"),
    "an offset that is nan": (lambda: driven(offset=NAN), "joint 'wrist' of robot 'r' has offset nan"),
    "static below Coulomb friction": (
        lambda: driven(friction=Friction(coulomb=2.0, static=1.0)),
        "joint 'wrist' of robot 'r' has static friction 1 below its Coulomb friction 2",
    ),
    "no Stribeck velocity": (lambda: driven(friction=Friction(stribeck=0.0)), "has Stribeck velocity 0"),
    "a rotor on three axes": (
        lambda: wrist(motion=Planar(), actuator=Actuator(rotor_inertia=1.0)),
        "joint 'wrist' of robot 'r' is planar, but has a rotor",
    ),
    "a limit of a continuous joint": (
        lambda: wrist(motion=Continuous(), limits=Limits(upper=1.0)),
        "is continuous, but has a limit",
    ),
    "a limit of three axes": (lambda: wrist(motion=Planar(), limits=Limits(upper=1.0)), "is planar, but has a limit"),
    "a torque of three axes": (
        lambda: wrist(motion=Planar(), actuator=Actuator(torque=1.0)),
        "is planar, but its actuator has limits",
    ),
    "a negative damping": (
        lambda: driven(friction=Friction(viscous=-1.0)),
        "joint 'wrist' of robot 'r' has viscous friction -1",
    ),
    "a friction that is nan": (
        lambda: driven(friction=Friction(coulomb=NAN)),
        "joint 'wrist' of robot 'r' has coulomb friction nan",
    ),
    "a mimic of an unknown joint": (lambda: wrist(mimic=Mimic("elbow")), "mimics 'elbow'"),
    "a mimic of itself": (lambda: wrist(mimic=Mimic("wrist")), "joint 'wrist' of robot 'r' mimics itself"),
    "a mimic of a mimic": (
        lambda: robot(ARM, FOLLOWER, Link("tip", "hand", Joint("tip", Revolute(), mimic=Mimic("wrist")), BODY)),
        "mimics 'wrist', which is a mimic itself",
    ),
    "a mimic of six axes": (
        lambda: robot(replace(ARM, joint=Joint("shoulder", Floating())), FOLLOWER),
        "mimics 'shoulder', but 'shoulder' is floating",
    ),
    "a mimic with three axes": (lambda: wrist(motion=Planar(), mimic=Mimic("shoulder")), "but 'wrist' is planar"),
    "a mimic that is not finite": (lambda: wrist(mimic=Mimic("shoulder", NAN)), "the mimic of joint 'wrist'"),
    "gravity that is nan": (lambda: robot(gravity=Vec3(0.0, 0.0, NAN)), "the gravity of robot 'r'"),
    "a home of the wrong size": (lambda: robot(home=(1.0,)), "a home of 1 numbers.*\n.*nq = 2"),
    "a home that is nan": (lambda: robot(home=(1.0, NAN)), "the home of robot 'r' is"),
    "free parameters of an unknown link": (lambda: robot(free=frozenset({"hnad"})), "no link 'hnad'.* listed as free"),
    "missing parameters of an unknown link": (lambda: robot(missing=("hnad",)), "no link 'hnad'.* listed as missing"),
    "no mass": (lambda: heavy(mass=0.0), "link 'arm' of robot 'r' has mass 0 kg"),
    "a mass that is nan": (lambda: heavy(mass=NAN, physical=False), "that is not finite"),
    "a negative moment": (lambda: heavy(inertia=Mat3.symmetric(1, 0, 0, 1, 0, -1)), "the smallest is negative"),
    "a violated triangle inequality": (
        lambda: heavy(inertia=Mat3.symmetric(1, 0, 0, 1, 0, 2.1)),
        "the largest exceeds the sum",
    ),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_an_invalid_robot_is_rejected_and_the_part_is_named(make, message):
    with pytest.raises(ModelError, match=message) as refused:
        make()
    assert isinstance(refused.value, ValueError)


def test_an_error_states_the_file_of_the_robot():
    with pytest.raises(ModelError, match="read from r"):
        wrist(name="shoulder")


def test_impossible_bodies_are_accepted_on_request_with_one_warning():
    with pytest.warns(ModelWarning) as warned:
        heavy(mass=-1.0, physical=False, missing=("hand",))
    assert len(warned) == 1
    assert "'arm' has mass -1 kg" in str(warned[0].message)
    assert "'hand' has no inertia and is treated as massless" in str(warned[0].message)


def test_a_valid_robot_gives_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for physical in (True, False):
            robot(ARM, FOLLOWER, frames=(Frame("tip", "hand"), Frame("ground", None)), home=(0.1,), physical=physical)


@pytest.mark.parametrize("axis", [(0, 0, 0), (1, 2), (NAN, 0, 1), (math.inf, 0, 0), "z", None, (0, 0, "z")])
def test_an_axis_without_a_direction_is_rejected(axis):
    with pytest.raises(ModelError, match="a joint has axis"):
        Revolute(axis)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 7.0, 1e300])
def test_axes_are_normalised(scale):
    assert Revolute((0, 0, scale)).axis == UNITS[2]
    assert math.isclose(math.hypot(*Revolute((scale, 2 * scale, -scale)).axis), 1.0, rel_tol=4e-16)
    axis = Revolute((scale, 2 * scale, -scale)).axis
    assert Revolute(axis).axis == axis


def test_an_inertia_with_an_excess_due_to_rounding_gives_one_warning_with_the_excess():
    plate = Mat3.symmetric(2.24907e-4, 0.0, 0.0, 2.24907e-4, 0.0, 4.5e-4)
    with pytest.warns(ModelWarning, match=r"link 'arm' has principal moments .* by 0\.041 %") as warned:
        heavy(inertia=plate)
    assert len(warned) == 1


def test_all_flaws_of_a_robot_are_reported_at_once():
    arm = replace(ARM, body=Body(-1.0, UNITS[0], IDENTITY), joint=replace(ARM.joint, limits=Limits(1.0, -1.0)))
    hand = replace(HAND, body=Body(1.0, UNITS[0], Mat3.symmetric(1.0, 0.0, 0.0, 1.0, 0.0, 3.0)))
    with pytest.raises(ModelError) as refused:
        robot(arm, hand, home=(0.0,))
    message = str(refused.value)
    assert message.startswith("r.urdf has 4 errors.")
    for part in ("lower limit 1 above", "a home of 1 numbers", "link 'arm' of robot 'r' has mass -1", "link 'hand'"):
        assert part in message


def test_at_most_twenty_flaws_are_listed():
    links = [replace(ARM, name=f"l{i}", joint=replace(ARM.joint, name=f"j{i}")) for i in range(25)]
    with pytest.raises(ModelError, match=r"(?s)has 25 errors.*\n  and 5 more"):
        robot(*(replace(link, body=Body(-1.0, UNITS[0], IDENTITY)) for link in links))
