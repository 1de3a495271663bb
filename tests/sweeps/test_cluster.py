"""Sweeps on a real LocalCluster of processes: the same arrays, jobs that kill workers, and who does not answer."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import threading

import dask
import distributed
import numpy as np
import pytest

import appell as ap
from appell.lab.campaigns.siege import differences
from studies import TABLE, deadly, picky


@pytest.fixture(scope="module")
def cluster():
    """Two processes of one thread; a task is given up after the first worker that it kills."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as started,
    ):
        yield started


def test_a_cluster_gives_the_same_arrays_and_errors_as_this_process(tmp_path, cluster, blocks_of):
    alone = ap.sweep(picky, TABLE, tmp_path / "alone.zarr")
    blocks_of(4)
    there = ap.sweep(picky, TABLE, tmp_path / "there.zarr", cluster=cluster.scheduler_address)
    assert differences(alone, there) == []
    assert [failure.traceback for failure in alone.failures] == [failure.traceback for failure in there.failures]


def test_workers_of_its_own_give_the_same_arrays_and_are_gone_afterwards(tmp_path):
    def study(x):
        return {"y": np.sin(x), "process": os.getpid(), "threads": int(os.environ["OMP_NUM_THREADS"])}

    results = ap.sweep(study, {"x": TABLE["x"]}, tmp_path / "s.zarr", workers=2)
    np.testing.assert_array_equal(results["y"], np.sin(TABLE["x"]))
    assert results["threads"].tolist() == [1] * 30
    processes = set(results["process"].tolist())
    assert os.getpid() not in processes
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_jobs_run_in_the_workers_and_only_a_window_of_them_is_under_way(tmp_path, cluster, blocks_of):
    blocks_of(2)
    most = 0

    def watch(client):
        nonlocal most
        while not over.wait(0.01):
            most = max(most, len(client.futures))

    with distributed.Client(cluster, set_as_default=False) as client:
        over = threading.Event()
        watcher = threading.Thread(target=watch, args=(client,))
        watcher.start()
        results = ap.sweep(lambda x: {"process": os.getpid()}, {"x": range(400)}, tmp_path / "s.zarr", cluster=client)
        over.set()
        watcher.join()
        assert client.status == "running"  # a client that was given is not ours to close
        assert not client.futures
    processes = set(results["process"].tolist())
    assert os.getpid() not in processes
    assert len(processes) == 2
    assert 1 <= most <= 3 * 2 + 1  # of 200 blocks


def test_a_job_that_kills_its_workers_fails_alone(tmp_path, cluster, blocks_of):
    blocks_of(16)
    results = ap.sweep(deadly, {"x": np.arange(1, 33)}, tmp_path / "s.zarr", cluster=cluster)
    assert [failure.parameters["x"] for failure in results.failures] == [11]
    assert "every worker that ran this job died" in results.failures[0].error
    np.testing.assert_array_equal(results["y"][results.done], 2.0 * np.delete(np.arange(1, 33), 10))


def test_a_study_that_no_worker_can_have_is_an_error_and_no_failure_of_jobs(tmp_path, cluster):
    lock = threading.Lock()

    def study(x):
        with lock:
            return {"y": x}

    with pytest.raises(ap.SweepError, match=r"the study 'study' cannot be sent to workers: TypeError: (.*)lock"):
        ap.sweep(study, {"x": [1]}, tmp_path / "s.zarr", cluster=cluster)
    assert not (tmp_path / "s.zarr").exists()


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_a_scheduler_that_does_not_answer_is_an_error_by_address(tmp_path):
    address = f"tcp://127.0.0.1:{closed_port()}"
    with pytest.raises(ap.SweepError, match=f"no Dask scheduler answers at '{address}'"):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", cluster=address, timeout=0.5)
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.parametrize("address", ["nonsense://x", "", "tcp://", 5])
def test_what_is_no_address_is_refused(tmp_path, address):
    with pytest.raises(ap.SweepError, match="no Dask scheduler answers"):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", cluster=address, timeout=0.5)


def test_a_scheduler_without_workers_is_an_error_and_what_was_stored_stays(tmp_path, blocks_of):
    blocks_of(30)
    before = ap.sweep(picky, TABLE, tmp_path / "s.zarr")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as idle,
        pytest.raises(ap.SweepError, match="has no workers after 1 s"),
    ):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", cluster=idle, timeout=1.0, retry_failed=True)
    assert differences(ap.sweeps.open(tmp_path / "s.zarr"), before) == []


@pytest.mark.parametrize("package", ["distributed", "cloudpickle"])
def test_without_dask_the_error_says_what_to_install(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ap.ArgumentError, match=rf"needs the package {package}(.|\n)*pip install 'appell\[clusters\]'"):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", workers=2)


def test_a_program_that_would_start_itself_again_in_its_workers_is_told_how_not_to(tmp_path, monkeypatch):
    """What `multiprocessing` says of a process that is being started, and reads the program of its parent to do so."""
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ap.SweepError, match=r'under `if __name__ == "__main__":`'):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", workers=2)
