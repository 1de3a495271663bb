"""Records of many motions: blocks, members, files, pictures, tables of other libraries."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError, DescriptionError
from appell.motion import Record, Records

T = np.linspace(0.0, 0.4, 5)
NAMES = {"q": ("shoulder", "elbow"), "v": ("shoulder", "elbow")}


@pytest.fixture
def records() -> Records:
    rng = np.random.default_rng(0)
    blocks = {"q": rng.normal(size=(6, 5, 2)), "v": rng.normal(size=(6, 5, 2)), "energy": rng.normal(size=(6, 5))}
    units = {"q_shoulder": "rad", "q_elbow": "m"}
    return Records(T, blocks, NAMES, units, {"robot": "arm", "method": "rk4"}, rng.normal(size=6))


def test_blocks_and_columns_have_the_names_of_a_record(records):
    assert records["q"].shape == (6, 5, 2)
    assert np.array_equal(records["q_elbow"], records.q[..., 1])
    assert records["energy"].shape == (6, 5)
    assert np.array_equal(records["t"], T)
    assert records.columns == ("t", "q_shoulder", "q_elbow", "v_shoulder", "v_elbow", "energy")
    assert records.columns == records[0].columns
    assert [records.unit(title) for title in records.columns] == [records[0].unit(title) for title in records.columns]
    assert records.names("q") == ("shoulder", "elbow")
    assert "q_elbow" in records
    assert "q_hand" not in records
    assert repr(records) == "<Records of 'arm': 6 members, 0 to 0.4 s, 5 rows>"


def test_a_member_is_a_record_and_some_members_are_records(records):
    assert isinstance(records[2], Record)
    assert np.array_equal(records[2].q, records.q[2])
    assert np.array_equal(records[-1].energy, records.energy[5])
    assert records[2].about["member"] == 2
    assert np.array_equal(records[1:4].q, records.q[1:4])
    assert np.array_equal(records[records.cost > 0.0].cost, records.cost[records.cost > 0.0])
    assert np.array_equal(records[[4, 0]].v, records.v[[4, 0]])
    assert len(records[[]]) == 0
    assert [len(record) for record in records] == [5] * 6
    assert len(records.part(slice(None, None, 2)).t) == 3


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("q_hand", "the records has no column 'q_hand'"),
        (6, "the records have no member 6"),
        ([0, 6], "the index of members is"),
        ([True, False], "the index of members is"),
        ([0.5], "the index of members is"),
    ],
)
def test_missing_columns_and_members_are_named(records, key, message):
    with pytest.raises(ArgumentError, match=message):
        records[key]


def test_members_that_diverged_are_marked(records):
    records.q[1, 3:] = np.inf
    records.v[4] = np.nan
    assert records.finished.tolist() == [True, False, True, True, False, True]
    assert records.lost.tolist() == [1, 4]
    assert records.lasted[[0, 1]].tolist() == [0.4, T[2]]
    assert np.isnan(records.lasted[4])
    assert (records[1].status, records[0].status) == ("LOST", "FINISHED")
    assert "at the start" in records[4].message
    assert "2 diverged" in repr(records)


@pytest.mark.parametrize("ending", [".npz", ".zarr"])
def test_a_file_returns_what_was_written(records, tmp_path, ending):
    if ending == ".zarr":
        pytest.importorskip("zarr")
    path = tmp_path / f"many{ending}"
    records.write(path)
    again = Records.read(path)
    assert all(np.array_equal(again[name], records[name]) for name in ("t", "q", "v", "energy"))
    assert np.array_equal(again.cost, records.cost)
    assert (again.about, again.units, again.titles) == (records.about, records.units, records.titles)
    with pytest.raises(ArgumentError, match="already exists"):
        records.write(path)
    records[:2].write(path, overwrite=True)
    assert len(Records.read(path)) == 2
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [path.name]


def test_files_that_are_not_records_are_named(records, tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match="ending is not supported"):
        records.write(tmp_path / "many.csv")
    with pytest.raises(DescriptionError, match="cannot be read"):
        Records.read(tmp_path / "nowhere.npz")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(DescriptionError, match="cannot be read"):
        Records.read(tmp_path / "broken.npz")
    records[0].write(tmp_path / "one.npz")
    with pytest.raises(DescriptionError, match="does not contain records of many motions"):
        Records.read(tmp_path / "one.npz")
    with pytest.raises(DescriptionError, match="cannot be read as records"):
        Records.read(tmp_path / "many.csv")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ArgumentError, match="pip install zarr"):
        records.write(tmp_path / "many.zarr")


def test_a_dataset_has_an_axis_of_members(records):
    pytest.importorskip("xarray")
    data = records.to_xarray()
    assert data["q"].dims == ("member", "time", "coordinate")
    assert np.array_equal(data["q"].sel(coordinate="elbow"), records["q_elbow"])
    assert np.array_equal(data["total_cost"], records.cost)
    assert data.attrs["robot"] == "arm"


def test_a_figure_shows_the_spread_or_some_members(records, tmp_path):
    records.q[1, 3:] = np.nan
    figure = records.plot(tmp_path / "spread.png", "q")
    assert (tmp_path / "spread.png").stat().st_size > 1000
    [first, second] = figure.axes  # an angle and a length
    assert np.allclose(first.lines[0].get_ydata(), np.nanmedian(records["q_shoulder"], axis=0))
    assert len(second.collections) == 2
    lines = records.plot(quantities="q_elbow", members=[0, 2, 5]).axes[0].lines
    assert np.array_equal([line.get_ydata() for line in lines], records["q_elbow"][[0, 2, 5]])
    with pytest.raises(ArgumentError, match="members has 11 entries"):
        records.plot(members=range(11))
    with pytest.raises(ArgumentError, match="to plot"):
        records[[]].plot()


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({}, "the records have no block"),
        ({"q": np.zeros((3, 4, 2))}, r"block 'q' has shape \(3, 4, 2\)"),
        ({"q": np.zeros((3, 5, 2)), "energy": np.zeros((2, 5))}, "block 'energy'"),
        ({"q": np.zeros((3, 5, 2), complex)}, "type complex128"),
    ],
)
def test_blocks_of_mismatched_shape_are_named(blocks, message):
    with pytest.raises(DescriptionError, match=message):
        Records(T, blocks, NAMES)


def test_decreasing_times_are_refused():
    with pytest.raises(DescriptionError, match="times of the records decrease"):
        Records(T[::-1], {"q": np.zeros((1, 5, 2))}, NAMES)


def test_records_of_a_rollout_have_names_and_units_of_its_system():
    records = ap.rollout(ap.load("planar-2r"), steps=2)
    one = ap.simulate(ap.load("planar-2r"), until=1e-3)
    assert records.columns == tuple(title for title in one.columns if title != "energy")
    assert [records.unit(title) for title in records.columns] == [one.unit(title) for title in records.columns]
    assert {key: records.about[key] for key in ("robot", "method", "dt", "every", "friction")} == {
        "robot": "planar-2r",
        "method": "rk4",
        "dt": 1e-3,
        "every": 1,
        "friction": True,
    }
