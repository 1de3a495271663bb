"""Robots keep their dynamics through URDF, MJCF, TOML and URDF again, or a format refuses them by name."""

from __future__ import annotations

import re
import warnings
from importlib.metadata import files

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelWarning
from conversion_chains import chain, change

FORMATS = ("mjcf", "toml", "urdf")
NOT_A_TREE = "urdf: constrained robot .* cannot be written as URDF"  # a mimic joint is a constraint in MJCF
CHAINS = {  # file -> base, and what ends the chain
    "ur5_gripper.urdf": ("fixed", ""),
    "so100.urdf": ("fixed", ""),
    "anymal-kinova.urdf": ("floating", ""),
    "double_pendulum_simple.urdf": ("floating", ""),
    "panda.urdf": ("floating", NOT_A_TREE),
    "icub.urdf": ("fixed", "mjcf: link 'neck_1' .* smallest moment 0 kg m²; MuJoCo does not accept"),
    "romeo_small.urdf": ("fixed", "mjcf: link 'RShoulderYawLink' .* exceeds the sum .*; MuJoCo does not accept"),
}


def example(name: str, base: str = "fixed"):
    path = next(file.locate() for file in files("example-robot-data") or () if file.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return ap.load(path, base=base, physical=name != "romeo_small.urdf")


@pytest.mark.parametrize("name", CHAINS)
def test_dynamics_survive_three_conversions_or_a_format_refuses_by_name(name):
    base, refusal = CHAINS[name]
    worst, end = chain(example(name, base), FORMATS)
    assert worst < 1e-12
    assert (not end) == (not refusal)
    assert re.match(refusal, end), end


def test_a_changed_body_is_noticed():
    robot = example("ur5_gripper.urdf")
    name, body = next((name, body) for name, body in reversed(robot.bodies.items()) if body is not None)
    heavier = robot.with_bodies({name: ap.Body(body.mass * (1 + 1e-9), body.com, body.inertia)})
    assert change(robot, heavier) > 1e-12


def test_a_rotated_plate_is_written_so_that_mujoco_accepts_it():
    """Rounding makes the largest moment of a plate exceed the sum of the others, which MuJoCo rejects."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        low, middle = rng.uniform(0.1, 1.0, 2)
        turned = ap.Body(1.0, (0, 0, 0), (low, middle, low + middle)).moved(ap.Pose.from_rpy(rng.normal(size=3)))
        robot = ap.Builder("plate").link("plate", ap.Revolute(), body=turned).build()
        assert change(robot, ap.load(ap.to_mjcf(robot))) < 1e-12
