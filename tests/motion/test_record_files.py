"""Records in CSV, NPZ and Parquet: what is written is read, bit by bit, and invalid files are refused by name."""

from __future__ import annotations

import gc
import json
import re
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell import ArgumentError, DescriptionError
from appell.motion import Event, Record, Records, record_files
from appell.motion.curve import Curve, Piece

SUFFIXES = ("csv", "npz", "parquet")
printable = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.sampled_from(" ,;\"'#_%"), min_size=1, max_size=8
).filter(lambda name: name == name.strip() and name.isprintable())
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
floats = st.floats(allow_nan=True, allow_infinity=True, width=64)


@st.composite
def events(draw) -> Event:
    K = draw(st.integers(0, 2))
    numbers = [np.array(draw(st.lists(floats, min_size=K, max_size=K))) for _ in range(3)]
    return Event(
        draw(st.floats(0, 10)),
        draw(st.sampled_from(["impact", "rest", "state"])),
        draw(st.text(max_size=6)),
        tuple(draw(st.lists(printable, min_size=K, max_size=K))),
        tuple(range(K)),
        *numbers[:2],
        np.ones((K, 3)) * 0.1,
        numbers[2],
    )


@st.composite
def records(draw) -> Record:
    names = draw(st.lists(printable, unique=True, max_size=3))
    alone = [f"x{name}" for name in draw(st.lists(printable, unique=True, max_size=2))]
    columns = ("t", *(f"{kind}_{name}" for kind in ("q", "tau") for name in names), *alone)
    t = sorted(draw(st.lists(st.floats(-1e6, 1e6), max_size=5)))
    data = np.array([[x, *draw(st.lists(floats, min_size=len(columns) - 1, max_size=len(columns) - 1))] for x in t])
    units = {title: draw(printable) for title in columns if draw(st.booleans())}
    about = draw(st.dictionaries(st.text(max_size=6), plain, max_size=3))
    record_events = tuple(draw(st.lists(events(), max_size=2)))
    return Record(columns, data.reshape(-1, len(columns)), units, about, record_events)


@settings(max_examples=60, deadline=None)
@given(record=records(), suffix=st.sampled_from(SUFFIXES))
def test_records_are_read_as_written(tmp_path_factory, record, suffix):
    path = tmp_path_factory.mktemp("record") / f"a.{suffix}"
    record.write(path)
    again = Record.read(path)
    assert again.columns == record.columns
    np.testing.assert_array_equal(again.data, record.data)
    assert (np.signbit(again.data) == np.signbit(record.data))[~np.isnan(record.data)].all()
    assert again.units == record.units
    assert again.about == record.about
    for one, other in zip(again.events, record.events, strict=True):
        assert str(one.plain()) == str(other.plain())  # as texts: nan is nan
        assert one.frictions.shape[1:] == (3,)


def small(**parts) -> Record:
    return Record.of([0.0, 0.1, 0.3], {"q": [[1.0, 2.0], [np.nan, 0.1], [1e-300, -0.0]]}, ("a", "b"), **parts)


def test_the_motion_between_samples_is_kept_by_npz(tmp_path):
    piece = Piece.of(lambda t: np.stack([t, t**2, 1.0 + t, t]), 0.0, 0.3, 3)
    curve = Curve.of([piece], ((0, 2),))
    record = Record.of([0.0, 0.3], {"q": np.ones((2, 2)), "v": np.ones((2, 2))}, between=curve)
    record.write(tmp_path / "a.npz")
    for one, other in zip(Record.read(tmp_path / "a.npz")([0.1, 0.2]), record([0.1, 0.2]), strict=True):
        np.testing.assert_array_equal(one, other)
    record.write(tmp_path / "a.csv")
    assert Record.read(tmp_path / "a.csv").between is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_stores_how_a_record_was_made(tmp_path, suffix):
    made_by = {
        "robot": "puma",
        "robot_hash": "9f86d081884c7d65",
        "friction": True,
        "rotors": False,
        "method": "DOP853",
        "tolerances": {"rtol": 1e-9, "atol": 1e-12},
        "formulation": "gibbs-appell",
        "version": "1.0",
        "message": "reached the end, \u00bd s",
        "limits": [None, 0.1, [1, 2]],
    }
    small(about=made_by).write(tmp_path / f"a.{suffix}")
    assert Record.read(tmp_path / f"a.{suffix}").about == made_by


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_overwritten_without_request(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    small().write(path)
    with pytest.raises(ArgumentError, match="already exists"):
        small(about={"x": 1}).write(path)
    assert Record.read(path).about == {}
    small(about={"x": 1}).write(path, overwrite=True)
    assert Record.read(path).about == {"x": 1}


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    small().write(tmp_path / "a.csv")

    def breaks(record, file):
        file.write(b"t,q_a\n0.0,")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(record_files.WRITERS, ".csv", breaks)
    with pytest.raises(ArgumentError, match="No space left"):
        small().write(tmp_path / "a.csv", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert len(Record.read(tmp_path / "a.csv")) == 3


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=re.escape(str(tmp_path / "none" / "a.csv"))):
        small().write(tmp_path / "none" / "a.csv")
    with pytest.raises(ArgumentError, match=r"'a\.txt' cannot be written(.|\n)*\.csv, \.npz, \.parquet"):
        small().write(tmp_path / "a.txt")
    with pytest.raises(ArgumentError, match=r"'a\.log' cannot be written"):
        small().write(tmp_path / "a.log")


def test_csv_may_contain_comments_a_byte_order_mark_and_empty_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeff# a comment, "open\n\nt, q_a\n#another\n0,1\n\n0.5,\n1, 2 \n'.encode())
    record = Record.read(path)
    assert record.columns == ("t", "q_a")
    np.testing.assert_array_equal(record.data, [[0, 1], [0.5, np.nan], [1, 2]])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "file is empty"),
        ("# nothing but a comment\n", "file is empty"),
        ("x,q_a\n0,1\n", r"no column 't'(.|\n)*first line"),
        ("0,1\n1,2\n", "no column 't'"),
        ("t,q_a,q_a\n0,1,2\n", "two columns are called 'q_a'"),
        ("t,time,t\n0,1,2\n", "two columns are called 't'"),
        ("# c\nt,q_a\n0,1\n# c\n1,2,3\n", r"row has 3 cells, the heading 2(.|\n)*line 5"),
        ("t,q_a\n0,1\n1,one\n", r"column 'q_a' contains 'one'(.|\n)*line 3"),
        ("t,q_a\n,1\n", "t is not finite in row 0"),
        ('t,"q_a\n0,1\n', "cannot be read"),
        ("t,q_a\n# about {\n0,1\n", "is damaged"),
        ('t,q_a\n# events [{"when": 1}]\n0,1\n', "is damaged"),
        (f't,q_a\n# events [{{"impulses": [{"9" * 400}]}}]\n0,1\n', "is damaged"),
    ],
)
def test_an_invalid_text_is_refused_with_file_and_line(tmp_path, text, problem):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(DescriptionError, match=problem) as caught:
        Record.read(tmp_path / "bad.csv")
    assert "bad.csv" in str(caught.value)


@pytest.mark.parametrize("suffix", [*SUFFIXES, "log", "xlsx"])
def test_a_missing_file_is_named(tmp_path, suffix):
    with pytest.raises(DescriptionError, match=rf"a\.{suffix}"):
        Record.read(tmp_path / f"a.{suffix}")


@settings(max_examples=40, deadline=None)
@given(part=st.floats(0.0, 0.999), suffix=st.sampled_from(["npz", "parquet"]))
def test_a_truncated_file_is_refused(tmp_path_factory, part, suffix):
    path = tmp_path_factory.mktemp("cut") / f"a.{suffix}"
    small(about={"robot": "arm"}).write(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    with pytest.raises(DescriptionError, match="cannot be read"):
        Record.read(path)


def test_foreign_archives_are_read_by_column_or_refused(tmp_path):
    np.savez(tmp_path / "good.npz", time=[0.0, 1.0], q=np.ones((2, 3)), energy=[1.0, 2.0])
    record = Record.read(tmp_path / "good.npz")
    assert record.columns == ("t", "q_1", "q_2", "q_3", "energy")
    cases = {
        "uneven": ({"t": [0.0, 1.0], "q_a": [1.0]}, "cannot be read"),
        "deep": ({"t": [0.0], "x": np.ones((1, 2, 2))}, "'x' has shape"),
        "words": ({"t": [0.0], "x": ["one"]}, "cannot be read"),
        "objects": ({"t": [0.0], "x": np.array([{}])}, "cannot be read"),
        "timeless": ({"q_a": [1.0]}, "no column 't'"),
        "pretender": ({"record": [1.0]}, "cannot be read"),
        "none": ({}, "no column 't'"),
    }
    for name, (arrays, problem) in cases.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(DescriptionError, match=problem):
            Record.read(tmp_path / f"{name}.npz")


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    small().write(tmp_path / "a.csv")
    monkeypatch.setattr(record_files, "MAX_TEXT_BYTES", 10)
    with pytest.raises(DescriptionError, match="larger than"):
        Record.read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "metadata",
    [
        "[" * 3000,
        json.dumps({"columns": ["t"], "about": "[" * 3000}),
        json.dumps({"columns": ["t", "a", "b", "c"]}),
        json.dumps({"columns": ["t", 3]}),
        json.dumps({"columns": "tq"}),
    ],
    ids=["too deep", "too deep inside", "too many columns", "no name", "no list"],
)
def test_an_archive_with_invalid_metadata_is_refused_by_name(tmp_path, metadata):
    np.savez(tmp_path / "x.npz", record=np.array(metadata), data=np.zeros((3, 2)))
    with pytest.raises(DescriptionError, match=r"x\.npz"):
        Record.read(tmp_path / "x.npz")


def test_an_encrypted_archive_is_refused_by_name_and_a_broken_one_is_closed(tmp_path, recwarn):
    path = tmp_path / "x.npz"
    Record.of([0.0, 1.0], {"q": [[1.0], [2.0]]}).write(path)
    content = path.read_bytes()
    offset = content.rindex(b"PK\x01\x02") + 8  # the flags of the last file in the directory
    path.write_bytes(content[:offset] + bytes([content[offset] | 1]) + content[offset + 1 :])
    with pytest.raises(DescriptionError, match="encrypted"):
        Record.read(path)
    path.write_bytes(content[:-20])
    with pytest.raises(DescriptionError, match="cannot be read"):
        Record.read(path)
    gc.collect()
    assert [str(warning.message) for warning in recwarn if warning.category is ResourceWarning] == []


def test_metadata_that_is_not_utf_8_is_refused(tmp_path):
    """One bit of a Parquet file's description turned: its text is no longer valid UTF-8."""
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table({"t": [0.0, 1.0], "q_a": [0.0, 1.0]}).replace_schema_metadata({b"appell robot": b"\xf2("})
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    with pytest.raises(DescriptionError, match=r"the record cannot be read: .*utf-8"):
        Record.read(tmp_path / "r.parquet")


@pytest.mark.parametrize("kind", [Record, Records])
def test_an_archive_that_is_too_large_when_unpacked_is_not_read(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(record_files, "MAX_FILE_BYTES", 20_000_000)
    path = tmp_path / "bomb.npz"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive, archive.open("t.npy", "w") as part:
        header = {"descr": "<f8", "fortran_order": False, "shape": (2_600_000,)}
        np.lib.format.write_array_header_1_0(part, header)
        part.write(bytes(20_800_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(DescriptionError, match=r"21 MB when unpacked(.|\n)*at most 20 MB(.|\n)*bomb\.npz"):
        kind.read(path)


@pytest.mark.parametrize("kind", [Record, Records])
def test_a_header_that_states_more_rows_than_the_file_has_is_refused(tmp_path, kind):
    path = tmp_path / "long.npz"
    with ZipFile(path, "w") as archive, archive.open("t.npy", "w") as part:
        np.lib.format.write_array_header_1_0(part, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
        part.write(bytes(800))
    with pytest.raises(DescriptionError, match=r"states the shape \(1000000000000,\)"):
        kind.read(path)


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"time": 0.0, "kind": [1]}, r"the kind of an event is \[1\]"),
        ({"time": 0.0, "kind": "impact", "note": 3}, "the note of an event is 3"),
        ({"time": "now", "kind": "impact"}, "the time of an event is 'now'"),
        ({"kind": "impact"}, "the time of an event is None"),
    ],
)
def test_an_event_with_a_value_of_the_wrong_type_is_refused(tmp_path, event, problem):
    (tmp_path / "a.csv").write_text(f"t,q_a\n# events {json.dumps([event])}\n0,1\n1,2\n")
    with pytest.raises(DescriptionError, match=problem):
        Record.read(tmp_path / "a.csv")
