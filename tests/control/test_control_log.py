"""The journal: committed rows can be read whatever happens to the writer, and corrupted files are rejected."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from appell.cli.main import app
from appell.errors import ArgumentError, DescriptionError
from appell.hardware.loop.summary import summarize
from appell.hardware.loop.supervisor import State
from appell.motion import JournalWriter, Record, journal
from appell.motion.journal import MAGIC, PAGE_BYTES


def write(path, rows: int, close: bool = True) -> JournalWriter:
    writer = JournalWriter(path, ("t", "q_one", "q_two", "tau_one"), {"robot": "puma"})
    for k in range(rows):
        writer.row[:] = (k, 0.1 * k, np.nan if k == 3 else -k, 1e300)
        writer.commit()
    if close:
        writer.close()
    return writer


@pytest.mark.parametrize("rows", [0, 1, 511, 512, 513, 2000])
def test_rows_are_read_back_unchanged(tmp_path, rows):
    write(tmp_path / "a.log", rows)
    log = Record.read(tmp_path / "a.log")
    assert len(log) == rows
    np.testing.assert_array_equal(log["t"], np.arange(rows))
    assert log["q"].shape == (rows, 2)
    assert log.about == {"robot": "puma"}
    with pytest.raises(ArgumentError, match=r"the record has no column 'taus'\. Did you mean 'tau'"):
        log["taus"]


def test_a_log_that_was_never_closed_has_all_its_rows(tmp_path):
    write(tmp_path / "a.log", 700, close=False)
    assert len(Record.read(tmp_path / "a.log")) == 700


def test_a_writer_that_is_killed_leaves_every_committed_row(tmp_path):
    code = (
        "import sys, time; from appell.motion import JournalWriter\n"
        "w = JournalWriter(sys.argv[1], ('t',), {})\n"
        "for k in range(3000): w.row[0] = k; w.commit()\n"
        "w.row[0] = -1.0\n"  # an incomplete row: written, not committed
        "print('ready', flush=True); time.sleep(60)"
    )
    path = tmp_path / "killed.log"
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"
    process.kill()
    process.wait()
    process.stdout.close()
    np.testing.assert_array_equal(Record.read(path)["t"], np.arange(3000))


@settings(max_examples=60, deadline=None)
@given(position=st.integers(0, 4 * 5 * 8 * 30 - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_ends_the_log_at_the_row_before_it(tmp_path_factory, position, bit):
    path = tmp_path_factory.mktemp("flip") / "a.log"
    write(path, 120)
    content = bytearray(path.read_bytes())
    start = len(content) - 120 * 5 * 8
    content[start + position] ^= 1 << bit
    path.write_bytes(content)
    assert len(Record.read(path)) == position // (5 * 8)


@pytest.mark.parametrize("length", [0, 5, 40, 3000])
def test_a_file_with_a_truncated_header_is_rejected(tmp_path, length):
    write(tmp_path / "a.log", 5)
    short = tmp_path / "short.log"
    short.write_bytes((tmp_path / "a.log").read_bytes()[: min(length, 60)])
    with pytest.raises(DescriptionError, match="not a log of this version of appell"):
        Record.read(short)


def test_a_file_with_a_truncated_row_gives_the_rows_before_it(tmp_path):
    write(tmp_path / "a.log", 50)
    content = (tmp_path / "a.log").read_bytes()
    (tmp_path / "b.log").write_bytes(content[: len(content) - 3 * 40 - 7])
    assert len(Record.read(tmp_path / "b.log")) == 46


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DescriptionError, match="cannot be read"):
        Record.read(tmp_path / "nothing.log")


def test_a_log_can_be_written_as_csv(tmp_path):
    write(tmp_path / "a.log", 3)
    Record.read(tmp_path / "a.log").write(tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == "t,q_one,q_two,tau_one"
    assert [float(x) for x in lines[3].split(",")] == [1.0, 0.1, -1.0, 1e300]


def test_a_journal_is_not_overwritten(tmp_path):
    write(tmp_path / "a.log", 3)
    with pytest.raises(ArgumentError, match=r"a\.log already exists"):
        write(tmp_path / "a.log", 1)
    assert len(Record.read(tmp_path / "a.log")) == 3


def test_changes_of_state_and_fault_are_events(tmp_path):
    words = {"state": {"0": "IDLE", "2": "RUNNING"}, "fault": {"1": "too far", "4": "too hot"}}
    writer = JournalWriter(tmp_path / "a.log", ("t", "state", "fault"), {"words": words})
    for row in ((0.0, 0, 0), (0.1, 2, 0), (0.2, 2, 5), (0.3, 2, 0)):
        writer.row[:] = row
        writer.commit()
    writer.close()
    events = [(event.time, event.kind, event.note) for event in Record.read(tmp_path / "a.log").events]
    assert events == [(0.1, "state", "RUNNING"), (0.2, "fault", "too far; too hot"), (0.3, "fault", "none")]


def test_rows_missing_in_the_middle_of_a_log_are_reported_and_the_rest_is_ignored(tmp_path):
    write(tmp_path / "a.log", 100)
    content = (tmp_path / "a.log").read_bytes()
    start = len(content) - 100 * 40
    (tmp_path / "b.log").write_bytes(content[: start + 30 * 40] + content[start + 45 * 40 :])
    log = Record.read(tmp_path / "b.log")
    np.testing.assert_array_equal(log["t"], np.arange(30))
    assert log.about["remarks"] == ["The log is damaged at row 30; the following rows are left out."]


def crafted(header: object) -> bytes:
    text = json.dumps(header).encode()
    return (MAGIC + f"{len(text)} {zlib.crc32(text)}\n".encode() + text).ljust(PAGE_BYTES, b"\0")


@pytest.mark.parametrize(
    "header",
    [
        [],
        {},
        {"columns": []},
        {"columns": ["checksum"]},
        {"columns": "t checksum"},
        {"columns": [1, 2]},
        {"columns": ["t", "q_a", "q_a", "checksum"]},
        {"columns": ["t", "checksum"], "words": 3},
        {"columns": ["t", "checksum"], "words": {"state": ["a"]}},
        {"columns": ["t", "checksum"], "words": {"state": {"x": "y"}}},
        {"columns": ["t", "checksum"], "words": {"state": {"1": 2}}},
        {"columns": ["t", "checksum"], "words": {"t": {"1" * 5000: "more digits than Python reads"}}},
    ],
)
def test_a_crafted_header_is_rejected(tmp_path, header):
    (tmp_path / "a.log").write_bytes(crafted(header))
    with pytest.raises(DescriptionError, match="not a log of this version of appell"):
        Record.read(tmp_path / "a.log")


@settings(max_examples=200, deadline=None)
@given(length=st.integers(0, 90), junk=st.binary(max_size=40))
def test_every_truncated_log_raises_a_description_error(tmp_path_factory, length, junk):
    path = tmp_path_factory.mktemp("cut") / "a.log"
    write(path, 3)
    path.write_bytes(path.read_bytes()[:length] + junk)
    with pytest.raises(DescriptionError):
        Record.read(path)


def test_texts_for_the_checksum_cause_no_events(tmp_path):
    write(tmp_path / "whole.log", 3)
    rows = (tmp_path / "whole.log").read_bytes()[PAGE_BYTES:]
    columns = [*Record.read(tmp_path / "whole.log").columns, "checksum"]
    (tmp_path / "a.log").write_bytes(crafted({"columns": columns, "words": {"checksum": {}}}) + rows)
    log = Record.read(tmp_path / "a.log")
    assert len(log) == 3
    assert log.events == ()


def test_a_state_that_is_not_finite_causes_no_event(tmp_path):
    writer = JournalWriter(tmp_path / "a.log", ("t", "state"), {"words": {"state": {"1": "ARMED"}}})
    for k, state in enumerate((0.0, np.nan, 1.0, np.inf)):
        writer.row[:] = (k, state)
        writer.commit()
    writer.close()
    assert [event.note for event in Record.read(tmp_path / "a.log").events] == ["ARMED"]


def full(file, where, size):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_ends_the_log_but_not_the_loop(tmp_path, monkeypatch):
    writer = write(tmp_path / "a.log", 500, close=False)
    monkeypatch.setattr(journal, "_allocate", full)
    count = journal.BLOCK_ROWS + 500
    for k in range(500, count):
        writer.row[:] = (k, 0.0, 0.0, 0.0)
        writer.commit()
    writer.close()
    kept = count - writer.lost
    assert kept == journal.BLOCK_ROWS
    np.testing.assert_array_equal(Record.read(tmp_path / "a.log")["t"], np.arange(kept))


def test_a_log_is_the_same_where_disk_space_is_reserved_by_writing(tmp_path, monkeypatch):
    write(tmp_path / "a.log", journal.BLOCK_ROWS + 10)
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    write(tmp_path / "b.log", journal.BLOCK_ROWS + 10)
    assert (tmp_path / "a.log").read_bytes() == (tmp_path / "b.log").read_bytes()


def test_a_disk_that_is_full_from_the_start_is_reported_and_no_file_remains(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "_allocate", full)
    with pytest.raises(ArgumentError, match="No space left"):
        write(tmp_path / "a.log", 1)
    assert not (tmp_path / "a.log").exists()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="only where posix_fallocate reserves disk space")
def test_disk_space_of_a_block_is_reserved_before_it_is_mapped(tmp_path):
    writer = write(tmp_path / "a.log", 1, close=False)
    reserved = 512 * (tmp_path / "a.log").stat().st_blocks
    assert reserved >= journal.BLOCK_ROWS * 8 * 5
    writer.close()


def test_a_log_cut_at_any_byte_is_summarised_or_refused_by_name(tmp_path):
    """A log whose loop ran for six ticks, cut in the header, before its first row and within rows."""
    columns = ("t", "tick", "woke", "state", "fault", "q_a", "qd_a", "tau_a")
    with_rows, path = tmp_path / "run.log", tmp_path / "cut.log"
    writer = JournalWriter(with_rows, columns, {"robot": "arm", "law": "pid"})
    for k in range(6):
        writer.row[:] = (k, k, k, State.RUNNING, 0, 0.1, 0.2, 3.0)
        writer.commit()
    writer.close()
    content, width = with_rows.read_bytes(), 8 * (len(columns) + 1)
    codes = []
    for end in (*range(0, PAGE_BYTES, 301), *range(PAGE_BYTES - 2, len(content) + 1)):
        path.write_bytes(content[:end])
        if end % 37 and PAGE_BYTES + width < end < len(content):
            assert summarize(Record.read(path)).ticks == (end - PAGE_BYTES) // width
            continue
        result = CliRunner().invoke(app, ["control", "show", str(path)])
        codes.append(result.exit_code)
        assert result.exit_code == (0 if end >= PAGE_BYTES + width else 1), result.output
        if result.exit_code:
            assert isinstance(result.exception, SystemExit)
            assert "DescriptionError: the " in result.output
    assert set(codes) == {0, 1}
