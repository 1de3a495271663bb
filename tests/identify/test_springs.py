"""The stiffness of springs is always estimated."""

from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.identify import LeastSquares, identified_system, select_parameters
from identify.records import clean


def test_the_stiffness_of_springs_is_estimated_with_the_bodies():
    sprung = {"joint2": ap.Actuator(stiffness=30.0, rest=0.4), "joint5": ap.Actuator(stiffness=2.0)}
    real = ap.load("puma").with_actuators(lambda name, _: sprung.get(name, ap.Actuator()))
    guess = real.with_actuators(lambda name, actuator: replace(actuator, stiffness=1.3 * actuator.stiffness))
    system = identified_system(LeastSquares(guess).fit(*clean(real)), consistent_bodies=True)
    assert system.drives["joint2"].stiffness == pytest.approx(30.0, rel=1e-6)
    assert system.drives["joint5"].stiffness == pytest.approx(2.0, rel=1e-6)
    assert system.drives["joint2"].rest == 0.4
    q = np.zeros(6)
    np.testing.assert_allclose(ap.Dynamics(system).gravity(q), ap.Dynamics(real).gravity(q), rtol=1e-6, atol=1e-6)


def test_a_spring_at_a_mimic_joint_is_rejected_by_name():
    arm = ap.Builder("r", root=None)
    arm.link("a", ap.Revolute(), mass=1.0, inertia=(1, 1, 1), joint_name="lead")
    drive = ap.Actuator(stiffness=1.0)
    arm.link("b", ap.Revolute(), parent="a", mass=1.0, inertia=(1, 1, 1), joint_name="j", mimic="lead", actuator=drive)
    with pytest.raises(ap.ModelError, match="joint 'j' of robot 'r' has a spring and mimics"):
        select_parameters(arm.build())
