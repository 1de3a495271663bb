"""Records: blocks by quantity, names, units, parts, other forms, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from appell import ArgumentError, DescriptionError, Dynamics, load, simulate
from appell.motion import Event, Interpolated, Record, Spline
from appell.motion.titles import parse, titles

T = np.linspace(0.0, 1.0, 11)
NAMES = ("shoulder", "elbow_2")


def arm(**parts) -> Record:
    q = np.column_stack([np.sin(T), np.cos(T)])
    v = np.column_stack([np.cos(T), -np.sin(T)])
    return Record.of(T, {"q": q, "v": v, "a": -q, "energy": T}, NAMES, **parts)


def test_blocks_columns_and_names_are_found_by_quantity():
    record = arm()
    assert record.columns[:4] == ("t", "q_shoulder", "q_elbow_2", "v_shoulder")
    assert record.names("v") == NAMES
    assert record.quantities == ("t", "q", "v", "a", "energy")
    np.testing.assert_array_equal(record["q"][:, 1], record["q_elbow_2"])
    np.testing.assert_array_equal(record.energy, T)
    assert "a" in record
    assert "tau" not in record
    assert record.period == pytest.approx(0.1)
    with pytest.raises(ArgumentError, match="no column 'tau'"):
        record.tau  # noqa: B018 - the access is the test
    with pytest.raises(ValueError, match="read-only"):
        record.data[0, 0] = 1.0


@pytest.mark.parametrize(
    ("title", "meant"),
    [
        ("q_elbow", ("q", "elbow")),
        ("faults_a_b", ("faults", "a_b")),
        ("hardware_fault", ("hardware_fault", "")),
        ("q_", ("q_", "")),
        ("energy", ("energy", "")),
    ],
)
def test_a_title_is_a_quantity_with_or_without_a_name(title, meant):
    assert parse(title) == meant
    assert not meant[1] or titles(meant[0], [meant[1]]) == (title,)


def test_units_are_those_of_the_quantity_unless_given():
    record = arm(units={"q_elbow_2": "deg", "v_elbow_2": "deg/s"})
    assert [record.unit(x) for x in ("t", "energy", "q_elbow_2", "q_shoulder", "x")] == [
        "s",
        "J",
        "deg",
        "rad or m",
        "",
    ]
    si = record.in_si()
    np.testing.assert_allclose(si["q_elbow_2"], np.radians(record["q_elbow_2"]))
    np.testing.assert_array_equal(si["q_shoulder"], record["q_shoulder"])
    assert (si.unit("q_elbow_2"), si.unit("v_elbow_2")) == ("rad", "rad/s")
    np.testing.assert_array_equal(si.in_si().data, si.data)


def test_a_part_has_the_events_of_its_time():
    record = arm(events=[Event(x, "state", note=f"{x}") for x in (0.05, 0.3, 0.9)])
    part = record.part(slice(2, 6))
    assert len(part) == 4
    assert [event.time for event in part.events] == [0.3]
    assert len(record.part(T < -1.0)) == 0


def test_a_record_is_a_path_and_a_path_a_record():
    path = arm().path()
    assert isinstance(path, Interpolated)
    np.testing.assert_allclose(path(0.55)[0], [np.sin(0.55), np.cos(0.55)], atol=1e-9)
    again = path.record(21)
    assert again.names("a") == NAMES
    np.testing.assert_allclose(path.record(period=0.05).data, again.data, atol=1e-12)
    assert isinstance(Record.of(T, {"q": arm().q}, NAMES).path(), Spline)
    turned = arm().path(NAMES[::-1])
    np.testing.assert_array_equal(turned(0.5)[0], path(0.5)[0][::-1])
    with pytest.raises(DescriptionError, match="moves 2 coordinates: shoulder, elbow_2"):
        arm().path(("shoulder", "elbow"))


def test_pandas_and_xarray_have_every_column():
    record = arm(about={"robot": "arm"})
    table = record.to_pandas()
    assert list(table.columns) == list(record.columns[1:])
    np.testing.assert_array_equal(table["q_elbow_2"].to_numpy(), record["q_elbow_2"])
    assert table.attrs["robot"] == "arm"
    data = record.to_xarray()
    np.testing.assert_array_equal(data["q"].sel(coordinate="elbow_2"), record["q_elbow_2"])
    assert data["energy"].dims == ("time",)


def test_to_csv_writes_the_same_file_as_write(tmp_path):
    arm().to_csv(tmp_path / "a.csv")
    np.testing.assert_array_equal(Record.read(tmp_path / "a.csv").data, arm().data)
    with pytest.raises(ArgumentError, match="already exists"):
        arm().to_csv(tmp_path / "a.csv")
    arm().part(slice(0, 3)).to_csv(tmp_path / "a.csv", overwrite=True)
    assert len(Record.read(tmp_path / "a.csv")) == 3
    with pytest.raises(ArgumentError, match=r"'a\.txt'(.|\n)*\.csv"):
        arm().to_csv(tmp_path / "a.txt")


def test_a_plot_shows_references_dotted_and_the_requested_quantities():
    record = Record.of(T, {"q": arm().q, "qd": arm().q, "tau": arm().v}, NAMES)
    positions, torques = record.plot().axes
    assert [line.get_linestyle() for line in positions.lines] == ["-", "-", ":", ":"]
    assert torques.get_ylabel() == "force tau [N m or N]"
    assert len(record.plot(quantities=["tau"]).axes) == 1


def test_a_record_of_samples_has_no_motion_between_them():
    with pytest.raises(ArgumentError, match=r"samples only(.|\n)*record\.path\(\)"):
        arm()(0.5)
    fall = simulate(Dynamics(load("planar-2r")), until=0.1)
    with pytest.raises(ArgumentError, match=r"no state at t = 0\.2"):
        fall(0.2)


def test_a_simulated_record_of_any_base_has_a_name_for_every_column():
    fall = simulate(Dynamics(load("planar-2r")), until=0.1)
    assert fall.names("q") == fall.names("tau") == ("shoulder", "elbow")
    assert fall.about["robot"] == "planar-2r"


@pytest.mark.parametrize(
    ("columns", "rows", "problem"),
    [
        (("t", "q_a", "q_a"), [[0, 1, 2]], "two columns are called 'q_a'"),
        (("q_a", "t"), [[0, 1]], "first column is not t"),
        (("t", "a\nb"), [[0, 1]], r"column 2 is called 'a\\nb'"),
        (("t", " x"), [[0, 1]], "column 2 is called ' x'"),
        (("t", ""), [[0, 1]], "column 2 is called ''"),
        (("t", "x"), [[0, 1, 2]], r"data have shape \(1, 3\)"),
        (("t",), [[0], [np.nan], [2]], "t is not finite in row 1"),
        (("t",), [[0], [2], [1], [0]], r"t decreases at rows 2-3 \(t = 2, then 1\)"),
    ],
)
def test_invalid_records_are_refused(columns, rows, problem):
    with pytest.raises(DescriptionError, match=problem):
        Record(columns, np.array(rows, float))


def test_columns_of_unequal_length_and_metadata_that_is_not_plain_are_refused():
    with pytest.raises(ArgumentError, match="t has 11, q has 3"):
        Record.of(T, {"q": np.zeros((3, 2))})
    with pytest.raises(ArgumentError, match="q has 2 columns and 3 names"):
        Record.of(T, {"q": arm().q}, ("a", "b", "c"))
    with pytest.raises(ArgumentError, match="cannot be stored as JSON"):
        arm(about={"robot": load("puma")})
