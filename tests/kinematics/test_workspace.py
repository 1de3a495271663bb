"""Maps of the workspace, compared with geometry."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.zoo.mechanisms import agile_wrist, five_bar, stewart_gough
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.kinematics.mechanisms import workspace

GRID = {"x": np.linspace(-0.701, 0.707, 81), "y": np.linspace(-0.703, 0.709, 71)}  # no point on a boundary


def test_a_five_bar_reaches_where_two_rings_meet():
    area = workspace(Dynamics(five_bar()), GRID)
    x, y = np.meshgrid(GRID["x"], GRID["y"], indexing="ij")
    rings = [np.hypot(x - motor, y) for motor in (-0.15, 0.15)]
    inside = np.logical_and(*[(ring >= 0.4 - 0.25) & (ring <= 0.65) for ring in rings])
    assert np.array_equal(area.reachable, inside)
    assert area.share == inside.mean()
    assert np.array_equal(area.margin >= 0.0, inside)


def test_the_condition_number_is_that_of_the_jacobian_at_every_reachable_pose():
    robot = Dynamics(five_bar())
    area = workspace(robot, GRID)
    for i, j in np.argwhere(area.reachable)[::97]:
        J = robot.actuator_jacobian([GRID["x"][i], GRID["y"][j]])
        assert np.isclose(area.condition[i, j], np.linalg.cond(J))


def test_a_stroke_limits_the_workspace_of_a_stewart_platform():
    free, bound = Dynamics(stewart_gough()), Dynamics(stewart_gough(stroke=(0.6, 0.8)))
    heights = {"z": np.linspace(0.3, 1.0, 141)}
    assert workspace(free, heights).share == 1.0
    area = workspace(bound, heights)
    lengths = free.actuator_positions([[0.0, 0.0, z, 0.0, 0.0, 0.0] for z in heights["z"]])
    assert np.array_equal(area.reachable, ((lengths >= 0.6) & (lengths <= 0.8)).all(axis=1))
    with np.errstate(invalid="ignore"):
        tau = bound.inverse_dynamics([0.0, 0.0, 0.9, 0.0, 0.0, 0.0], np.zeros(6), np.zeros(6))
    assert np.isnan(tau).all()


def test_a_map_is_plotted_over_two_coordinates(tmp_path):
    wrist = Dynamics(agile_wrist())
    area = workspace(
        wrist, {"pitch": np.linspace(-1.5, 1.5, 40), "roll": np.linspace(-1.5, 1.5, 30)}, at=[0.1, 0.0, 0.0]
    )
    assert area.condition.shape == (40, 30)
    area.plot().savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 5000
    with pytest.raises(ArgumentError, match="two coordinates"):
        workspace(wrist, {"yaw": [0.0, 0.1]}).plot()


def test_wrong_grids_are_named_errors():
    with pytest.raises(ArgumentError, match="no coordinate 'z'"):
        workspace(Dynamics(five_bar()), {"z": [0.0]})
    with pytest.raises(ArgumentError, match="values of 'x'"):
        workspace(Dynamics(five_bar()), {"x": [[0.0]]})
    with pytest.raises(ArgumentError, match="axes is empty"):
        workspace(Dynamics(five_bar()), {})
