"""Stores survive a kill at any write, a full disk and a second client, and belong to one sweep."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import xarray
import zarr
from zarr.storage import _local

import appell as ap
from appell.sweeps.identity import FORMAT
from appell.sweeps.store import locked
from appell_lab.campaigns.interrupted_sweep import differences
from studies import TABLE, picky, smooth


class Killed(BaseException):
    """An exception that no code handles."""


def dying(at):
    """Return the write function of zarr that raises in call number `at`, with half of the file written."""
    put = _local._put

    def write(path, value, exclusive=False):
        write.count += 1
        if write.count == at:
            path.parent.mkdir(parents=True, exist_ok=True)
            content = bytes(value.as_buffer_like())
            path.with_suffix(".0123.partial").write_bytes(content[: len(content) // 2])
            raise Killed
        return put(path, value, exclusive)

    write.count = 0
    return write


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return ap.sweep(picky, TABLE, tmp_path_factory.mktemp("undisturbed") / "s.zarr")


def test_after_a_kill_at_any_write_the_same_command_completes_the_same_store(tmp_path, blocks_of, undisturbed):
    blocks_of(15)
    at, deaths = 0, 0
    while True:
        at += 1
        out = tmp_path / f"{at}.zarr"
        writer = dying(at)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_local, "_put", writer)
            try:
                ap.sweep(picky, TABLE, out)
            except Killed:
                deaths += 1
            else:
                break
        if out.exists():
            half = ap.sweeps.open(out)
            for name in half:
                np.testing.assert_array_equal(half[name][half.done], undisturbed[name][half.done])
        assert differences(ap.sweep(picky, TABLE, out), undisturbed) == []
        assert not list(out.rglob("*.partial"))
        assert "consolidated_metadata" in (out / "zarr.json").read_text()
        assert not out.with_name(f".{out.name}.part").exists()
    assert deaths > 25  # files of the store, files of its arrays, and two blocks with seven files each


def test_a_kill_at_any_write_of_a_retry_loses_neither_errors_nor_results(tmp_path, blocks_of, undisturbed):
    blocks_of(30)
    at = 0
    while True:
        at += 1
        out = tmp_path / f"{at}.zarr"
        ap.sweep(picky, TABLE, out)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_local, "_put", dying(at))
            try:
                ap.sweep(smooth, TABLE, out, retry_failed=True, accept_study=True)
            except Killed:
                pass
            else:
                break
        half = ap.sweeps.open(out)
        assert half.finished
        assert all(failure.error.startswith("ValueError") for failure in half.failures)
        for name in half:
            np.testing.assert_array_equal(half[name][undisturbed.done], undisturbed[name][undisturbed.done])
        assert ap.sweep(smooth, TABLE, out, retry_failed=True, accept_study=True).done.all()
    assert at > 8


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_a_named_error_and_stored_results_are_kept(tmp_path, blocks_of, undisturbed, number):
    blocks_of(10)
    put, out = _local._put, tmp_path / "s.zarr"

    def full(path, value, exclusive=False):
        if "status" in path.parts and path.name == "1":
            raise OSError(number, os.strerror(number), str(path))
        return put(path, value, exclusive)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_local, "_put", full)
        with pytest.raises(ap.SweepError, match=f"{os.strerror(number)}. 10 of 30 jobs are stored"):
            ap.sweep(picky, TABLE, out)
    assert ap.sweeps.open(out).done.sum() == 9  # one of ten failed
    assert differences(ap.sweep(picky, TABLE, out), undisturbed) == []


def test_a_limit_on_the_size_of_files_is_a_named_error_too(tmp_path, blocks_of):
    """This error is not simulated: the kernel rejects files larger than 50 kB, and a block has 80 kB."""

    def study(x):
        return {"y": np.random.default_rng(x).normal(size=2000)}

    blocks_of(5)
    resource = pytest.importorskip("resource", reason="needs limits of the size of files")
    out, (soft, hard) = tmp_path / "s.zarr", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(ap.SweepError, match=r"cannot be written: File too large\. 0 of 20 jobs are stored"):
            ap.sweep(study, {"x": range(20)}, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not ap.sweeps.open(out).done.any()
    assert ap.sweep(study, {"x": range(20)}, out).done.all()


def test_a_store_of_another_study_table_or_seed_is_rejected(tmp_path):
    out = tmp_path / "s.zarr"
    before = ap.sweep(smooth, TABLE, out)
    with pytest.raises(ap.ArgumentError, match="belongs to the study 'smooth', not 'picky'"):
        ap.sweep(picky, TABLE, out)
    with pytest.raises(ap.ArgumentError, match="another table"):
        ap.sweep(smooth, TABLE | {"x": np.arange(1.0, 31.0)}, out)
    with pytest.raises(ap.ArgumentError, match="another table"):
        ap.sweep(smooth, TABLE, out, seed=1)
    with pytest.raises(ap.ArgumentError, match="another table"):
        ap.sweep(smooth, TABLE | {"x": np.arange(1.0, 31.0)}, out, accept_study=True)
    assert differences(ap.sweeps.open(out), before) == []


def test_a_store_of_another_version_is_rejected(tmp_path, monkeypatch):
    out = tmp_path / "s.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("appell.sweeps.identity.Identity.__init__.__defaults__", ("0.0.1", FORMAT))
        ap.sweep(smooth, TABLE, out)
    with pytest.raises(ap.ArgumentError, match=r"was written by appell 0\.0\.1"):
        ap.sweep(smooth, TABLE, out)


def test_a_store_of_an_older_format_can_be_read_and_is_continued_only_if_the_study_is_accepted(tmp_path):
    out = tmp_path / "s.zarr"
    before = ap.sweep(smooth, TABLE, out)
    group = zarr.open_group(out, mode="r+")
    group.update_attributes({"appell": group.attrs["appell"] | {"format": 1}})
    assert differences(ap.sweeps.open(out), before) == []
    with pytest.raises(ap.ArgumentError, match="has format 1, which does not identify all code and values"):
        ap.sweep(smooth, TABLE, out)
    assert differences(ap.sweep(smooth, TABLE, out, accept_study=True), before) == []
    assert differences(ap.sweep(smooth, TABLE, out), before) == []
    group.update_attributes({"appell": group.attrs["appell"] | {"format": 4}})
    with pytest.raises(ap.ArgumentError, match="has format 4"):
        ap.sweeps.open(out)


def test_files_and_folders_that_are_not_stores_are_rejected_and_not_changed(tmp_path):
    file, folder, foreign = tmp_path / "file", tmp_path / "folder", tmp_path / "foreign.zarr"
    file.write_text("mine")
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    zarr.create_group(foreign).create_array("x", shape=(3,), dtype="f8")
    for path in (file, folder, foreign):
        with pytest.raises(ap.ArgumentError, match="is not a store of a sweep"):
            ap.sweep(smooth, TABLE, path)
        with pytest.raises(ap.ArgumentError, match="is not a store of a sweep"):
            ap.sweeps.open(path)
    assert file.read_text() == (folder / "mine.txt").read_text() == "mine"
    assert "x" in zarr.open_group(foreign)
    with pytest.raises(ap.ArgumentError, match=r"the store '.*nothing\.zarr' does not exist"):
        ap.sweeps.open(tmp_path / "nothing.zarr")
    with pytest.raises(ap.ArgumentError, match=r"the folder '.*no' does not exist"):
        ap.sweep(smooth, TABLE, tmp_path / "no" / "folder.zarr")


def test_a_store_with_corrupted_metadata_is_rejected(tmp_path):
    out = tmp_path / "s.zarr"
    ap.sweep(smooth, TABLE, out)
    (out / "zarr.json").write_text('{"zarr_format": 3')
    with pytest.raises(ap.ArgumentError, match="is not a store of a sweep"):
        ap.sweep(smooth, TABLE, out)


def test_two_clients_do_not_write_one_store(tmp_path):
    out = tmp_path / "s.zarr"
    with locked(out), pytest.raises(ap.SweepError, match=f"being written by process {os.getpid()} on "):
        ap.sweep(smooth, TABLE, out)
    assert ap.sweep(smooth, TABLE, out).finished
    assert list(tmp_path.iterdir()) == [out]


def test_the_lock_of_a_killed_client_is_released(tmp_path):
    program = "import os, signal, sys; from pathlib import Path; from appell.sweeps.store import locked\n"
    program += "with locked(Path(sys.argv[1])): os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "s.zarr")], check=False)
    assert done.returncode in (-9, 15)  # killed, on Windows too
    assert (tmp_path / ".s.zarr.lock").exists()
    with locked(tmp_path / "s.zarr"):
        pass


def test_a_store_whose_lock_cannot_be_opened_is_a_named_error(tmp_path):
    (tmp_path / ".s.zarr.lock").mkdir()
    with pytest.raises(ap.SweepError, match="cannot be created"):
        ap.sweep(smooth, TABLE, tmp_path / "s.zarr")


def test_the_error_without_zarr_names_the_package_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ap.ArgumentError, match=r"needs the package zarr(.|\n)*pip install 'appell\[clusters\]'"):
        ap.sweep(smooth, TABLE, tmp_path / "s.zarr")


def test_the_store_is_plain_zarr_that_xarray_opens_without_a_warning(tmp_path):
    results = ap.sweep(picky, TABLE, tmp_path / "s.zarr")
    group = zarr.open_group(tmp_path / "s.zarr", mode="r")
    np.testing.assert_array_equal(group["draws"][:], results["draws"])
    np.testing.assert_array_equal(group["table/start"][:], TABLE["start"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = xarray.open_zarr(tmp_path / "s.zarr", chunks=None)
        tree = xarray.open_datatree(tmp_path / "s.zarr", engine="zarr", chunks=None)
    np.testing.assert_array_equal(data["draws"], results["draws"])
    assert data["draws"].dims == ("job", "draws_1")
    assert tree["jobs"]["status"].values.tolist() == results.status.tolist()
