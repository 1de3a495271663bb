"""The rule for writing files: check the target first, write complete files, do not overwrite by default."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

import appell as ap
from appell.files import check_target, is_closed_pipe, replacing, write_text
from appell.motion.record import Record

RECORD = Record.of([0.0, 0.02], {"q": np.zeros((2, 1))}, ["hinge"], units={"q_hinge": "rad"})
PENDULUM = ap.load("pendulum")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.txt", r"'a\.txt' cannot be written: its ending is not supported\.\n +expected +a name that ends in \.csv"),
        ("no/a.csv", "the folder '.*no' does not exist"),
        ("there.csv/x/a.csv", r"'.*there\.csv' is not a folder"),
        ("folder.csv", "it is a folder"),
        ("there.csv", r"there\.csv already exists\.\n +hint +Use another name, or pass overwrite=True"),
        ("n" * 300 + ".csv", "cannot be written: File ?name too long"),
        ("a\0b.csv", "cannot be written: .*null"),
    ],
)
def test_a_target_that_cannot_be_written_is_rejected_with_its_name(name, message, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.csv").write_text("kept")
    with pytest.raises(ap.ArgumentError, match=message):
        check_target(tmp_path / name, (".csv", ".npz"))


def test_endings_are_accepted_in_upper_case_and_files_are_replaced_on_request(tmp_path):
    target = tmp_path / "A.CSV"
    assert check_target(target, (".csv",)) == target
    target.write_text("old")
    assert check_target(str(target), (".csv",), overwrite=True) == target


def _fail_while_writing(target, error):
    with replacing(target, "the report") as part:
        part.write_text("half")
        raise error


def test_a_file_is_replaced_only_when_the_new_one_is_complete(tmp_path):
    target = tmp_path / "a.txt"
    write_text(target, "old")
    with pytest.raises(KeyboardInterrupt):
        _fail_while_writing(target, KeyboardInterrupt)
    with pytest.raises(ap.ArgumentError, match=r"the report cannot be written to .*No space left"):
        _fail_while_writing(target, OSError(28, "No space left on device"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", lambda path, **options: RECORD.write(path, **options)),
        ("a.csv", lambda path, **options: RECORD.to_csv(path, **options)),
        ("a.png", lambda path, **options: RECORD.plot(path, **options)),
        ("a.svg", lambda path, **options: ap.draw(PENDULUM, path=path, **options)),
        ("a.html", lambda path, **options: ap.to_html(PENDULUM, path, **options)),
        ("a.html", lambda path, **options: RECORD.to_html(path, robot=PENDULUM, **options)),
        ("a.gif", lambda path, **options: RECORD.movie(path, PENDULUM, slower=1.0, size=(120, 120), **options)),
    ],
)
def test_writers_do_not_overwrite_files_by_default(name, write, tmp_path):
    path = tmp_path / name
    path.write_text("kept")
    with pytest.raises(ap.ArgumentError, match="already exists"):
        write(path)
    assert path.read_text() == "kept"
    write(path, overwrite=True)
    assert path.read_bytes() != b"kept"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_windows_reports_a_closed_pipe_as_an_invalid_argument(monkeypatch):
    invalid, of_a_file = OSError(errno.EINVAL, "invalid"), OSError(errno.EINVAL, "invalid", "a.csv")
    for system, expected in (("posix", False), ("nt", True)):
        with monkeypatch.context() as patch:
            patch.setattr(os, "name", system)
            results = [is_closed_pipe(error) for error in (invalid, of_a_file, OSError(errno.EPIPE, "closed"))]
        assert results == [expected, False, True]
