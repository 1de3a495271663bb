"""Columns of foreign files: matched by names, numbers or a pattern, or refused with the columns that exist."""

import numpy as np
import pytest

import appell as ap
from appell.motion import Record, measured

NAMES = [f"joint_{k}" for k in range(1, 4)]
T = np.arange(0.0, 1.0, 0.01)
BLOCKS = {
    "q": np.column_stack([np.sin((k + 1) * T) for k in range(3)]),
    "tau": np.random.default_rng(0).normal(size=(100, 3)),
}


def record(q, tau, order=(0, 1, 2), **more):
    """A record with these titles, columns in any order."""
    columns = {q[k]: BLOCKS["q"][:, k] for k in order} | {tau[k]: BLOCKS["tau"][:, k] for k in order} | more
    return Record.of(T, columns)


def numbered(pattern, first=1):
    return [pattern.format(k) for k in range(first, first + 3)]


@pytest.mark.parametrize(
    ("q", "tau"),
    [
        (numbered("q{}"), numbered("tau{}")),
        (numbered("q_{}"), numbered("tau_{}")),
        (numbered("q[{}]", 0), numbered("tau[{}]", 0)),
        (numbered("Joint_Position_{}"), numbered("Joint Torque {}")),
        (numbered("joint{}_pos"), numbered("joint{}_effort")),
        (numbered("measured_position.{}", 0), numbered("effort.{}", 0)),
        ([f"position/{name}" for name in NAMES], [f"effort/{name}" for name in NAMES]),
        ([f"{name}_pos" for name in NAMES], [f"{name}_torque" for name in NAMES]),
    ],
)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_columns_are_matched_by_their_names(q, tau, order):
    matched = measured(record(q, tau, order), NAMES, NAMES)
    np.testing.assert_array_equal(matched.q, BLOCKS["q"])
    np.testing.assert_array_equal(matched.tau, BLOCKS["tau"])


def test_velocities_are_matched_and_desired_ones_are_not_mistaken_for_them():
    v = np.column_stack([(k + 1) * np.cos((k + 1) * T) for k in range(3)])
    columns = {f"dq{k + 1}": v[:, k] for k in range(3)} | {f"qd_{k + 1}": 9.0 + v[:, k] for k in range(3)}
    matched = measured(record(numbered("q{}"), numbered("tau{}"), **columns), NAMES, NAMES)
    np.testing.assert_array_equal(matched.v, v)


def test_two_sets_that_could_be_one_quantity_are_refused_and_a_pattern_decides():
    other = {f"position_{k}": BLOCKS["q"][:, 0] for k in range(1, 4)}
    both = record(numbered("q{}"), numbered("tau{}"), **other)
    with pytest.raises(ap.DescriptionError, match=r"could be q: q1 ... q3 and position_1 ... position_3"):
        measured(both, NAMES, NAMES)
    matched = measured(both, NAMES, NAMES, patterns={"q": "q{}"})
    np.testing.assert_array_equal(matched.q, BLOCKS["q"])


def test_a_pattern_matches_numbers_or_names_and_missing_columns_are_listed():
    strange = record([f"enc{k}x" for k in range(3)], [f"i {name}" for name in NAMES])
    matched = measured(strange, NAMES, NAMES, patterns={"q": "enc{}x", "tau": "i {}"})
    np.testing.assert_array_equal(matched.tau, BLOCKS["tau"])
    with pytest.raises(ap.DescriptionError, match=r"no complete set that starts with enk1x, enk0x, enkjoint_1x"):
        measured(strange, NAMES, NAMES, patterns={"q": "enk{}x"})
    with pytest.raises(ap.DescriptionError, match="does not contain one"):
        measured(strange, NAMES, NAMES, patterns={"q": "enc"})
    with pytest.raises(ap.DescriptionError, match="a pattern is given for 'x'"):
        measured(strange, NAMES, NAMES, patterns={"x": "enc{}"})
    with pytest.raises(ap.DescriptionError, match=r"no column 'q_joint_1'(.|\n)*patterns=\{'q': '<name>\{\}'\}"):
        measured(strange, NAMES, NAMES)


def test_six_columns_are_not_matched_to_seven_joints():
    with pytest.raises(ap.DescriptionError, match="no column 'q_joint_1'"):
        measured(record(numbered("q{}"), numbered("tau{}")), [*NAMES, "joint_4"], [*NAMES, "joint_4"])


def test_units_refer_to_columns_under_the_names_of_the_system():
    degrees = {f"q{k + 1}": np.degrees(BLOCKS["q"][:, k]) for k in range(3)}
    torque = {f"tau{k + 1}": BLOCKS["tau"][:, k] for k in range(3)}
    matched = measured(Record.of(T, degrees | torque), NAMES, NAMES, units={"q": "deg"})
    np.testing.assert_allclose(matched.q, BLOCKS["q"], atol=1e-15)


def test_two_columns_of_one_name_are_refused_by_name(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,q1,q2,q1\n" + "".join(f"{t},1,2,3\n" for t in T), encoding="utf-8")
    with pytest.raises(ap.DescriptionError, match="two columns are called 'q1'"):
        Record.read(path)


@pytest.mark.parametrize("title", ["time", "Time", "timestamp", "t [s]", "time_s"])
def test_the_time_is_matched_by_its_name(title, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(f"q1,{title}\n" + "".join(f"1,{t}\n" for t in T), encoding="utf-8")
    np.testing.assert_array_equal(Record.read(path).t, T)


def test_arrays_of_unequal_length_are_named(tmp_path):
    np.savez(tmp_path / "log.npz", t=T, q1=T, tau1=T[:50])
    with pytest.raises(ap.DescriptionError, match="tau1"):
        Record.read(tmp_path / "log.npz")
