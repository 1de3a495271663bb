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
        (lambda: PENDULUM.locked({"hinge": "x"}), "joint 'hinge' of robot 'pendulum' cannot be at 'x'"),
        (
            lambda: TURNING.locked({"root_joint": [0.0] * 7}),
            "'root_joint' of .* cannot be at a quaternion of zeros",
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


def pendulum(**joint):
    """Return the pendulum with other fields of its joint."""
    (link,) = PENDULUM.links
    return replace(PENDULUM, links=(replace(link, joint=replace(link.joint, **joint)),))


@pytest.mark.parametrize("digits", [400, 5000])  # Python does not write integers with more than 4300 digits
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda huge: ap.simulate(PENDULUM, until=huge), "until, in s, is beyond the range of floats"),
        (lambda huge: ap.simulate(PENDULUM, [huge]), "q0"),
        (lambda huge: ap.simulate(PENDULUM, t_eval=[huge]), "t_eval"),
        (lambda huge: ap.simulate(PENDULUM, torque=[huge]), "torque"),
        (lambda huge: ap.rollout(PENDULUM, [0.1], steps=2, dt=huge), "dt, .* is beyond the range of floats"),
        (lambda huge: ap.rollout(PENDULUM, [0.1], steps=huge), "steps is beyond the range of floats"),
        (lambda huge: ap.rollout(PENDULUM, [huge]), "q0"),
        (lambda huge: ap.Solver(rtol=huge), "rtol is beyond the range of floats"),
        (lambda huge: ap.Solver(max_step=huge), "max_step is beyond the range of floats"),
        (lambda huge: ap.Plane((0, 0, huge)), "the normal of a plane"),
        (lambda huge: ap.Plane((0, 0, 1), huge), "the offset of a plane is beyond the range of floats"),
        (lambda huge: ap.Sphere(huge), "the radius of a sphere is beyond the range of floats"),
        (lambda huge: ap.Contact("tip", ap.Plane(), friction=huge), "friction beyond the range of floats"),
        (lambda huge: PENDULUM.with_gravity((0, 0, huge)), "the gravity of robot 'pendulum'"),
        (lambda huge: PENDULUM.with_payload(huge), "the payload is beyond the range of floats"),
        (lambda huge: ap.Body(huge), "mass beyond the range of floats"),
        (lambda huge: ap.Revolute((0, 0, huge)), "a joint has axis"),
        (lambda huge: PENDULUM.with_loops(ap.Distance("tip", None, huge)), "length beyond the range of floats"),
        (lambda huge: PENDULUM.with_loops(ap.Gear({"hinge": huge})), "the ratio beyond the range of floats"),
        (lambda huge: pendulum(limits=ap.Limits(-1.0, huge)), "upper limit beyond the range of floats"),
        (lambda huge: pendulum(actuator=ap.Actuator(torque=huge)), "torque beyond the range of floats"),
        (lambda huge: ap.shapes.rod(huge, 1.0), "a rod has mass beyond the range of floats"),
    ],
)
def test_integers_beyond_the_range_of_floats_are_refused_by_name(call, message, digits):
    with pytest.raises(ap.AppellError, match=message):
        call(10**digits)


def test_imaginary_parts_are_not_dropped():
    with pytest.raises(ap.DescriptionError, match="the centre of mass"):
        ap.from_dh([ap.DH(mass=1.0, com=np.array([1.0 + 1.0j, 0.0, 0.0]), inertia=(1.0, 1.0, 1.0))])
    with pytest.raises(ap.ModelError, match="has upper limit"):
        pendulum(limits=ap.Limits(-1.0, np.complex128(1.0 + 1.0j)))
