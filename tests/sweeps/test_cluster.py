"""Sweeps on a Dask LocalCluster of processes: same results, jobs that kill workers, schedulers that do not respond."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass

import dask
import distributed
import numpy as np
import psutil
import pytest

import appell as ap
from appell.sweeps import pool, run
from appell_lab.campaigns.interrupted_sweep import differences
from studies import TABLE, picky

BLOCK, WORKERS, DEADLY = 4, 2, 25


@dataclass
class Swept:
    """One sweep in this process and on two workers, shared by several tests."""

    alone: ap.sweeps.SweepResults  # in this process
    there: ap.sweeps.SweepResults  # on workers
    processes: np.ndarray
    max_submitted: int  # pieces submitted at a time


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Every seventh job fails, and one kills its worker; Dask gives up a task after the first worker it kills."""
    here, folder = os.getpid(), tmp_path_factory.mktemp("swept")

    def study(x, start, seed):
        if x == DEADLY:
            if os.getpid() != here:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
            raise ValueError("this job kills workers")
        return picky(x, start, seed) | {"process": os.getpid(), "threads": int(os.environ["OMP_NUM_THREADS"])}

    submitted = []
    submit = pool.OnCluster._submit

    def counting(self, *arguments):
        future = submit(self, *arguments)
        submitted.append(len(self.client.futures))
        return future

    with pytest.MonkeyPatch.context() as patch, dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr(run, "block_size", lambda *_: BLOCK)
        patch.setattr(pool.OnCluster, "_submit", counting)
        alone = ap.sweep(study, TABLE, folder / "alone.zarr")
        there = ap.sweep(study, TABLE, folder / "there.zarr", workers=WORKERS)
    return Swept(alone, there, there["process"][there.done], max(submitted))


def test_workers_return_the_same_arrays_and_errors_as_this_process(swept):
    assert set(differences(swept.alone, swept.there)) == {"process", "errors"}  # the error of the job that kills
    for one, other in zip(swept.alone.failures, swept.there.failures, strict=True):
        assert one.number == other.number
        assert (one.error, one.traceback) == (other.error, other.traceback) or one.number == DEADLY


def test_of_a_block_with_a_job_that_kills_workers_only_this_job_fails(swept):
    failed = [failure.number for failure in swept.there.failures]
    assert failed == [3, 10, 17, 24, DEADLY]  # the other jobs of its block are done
    assert "every worker that ran this job died" in swept.there.failures[-1].error


def test_jobs_run_in_single_threaded_workers_that_are_stopped_afterwards(swept):
    assert set(swept.there["threads"][swept.there.done]) == {1}
    processes = set(swept.processes.tolist())
    assert os.getpid() not in processes
    assert len(processes) >= WORKERS
    assert not any(psutil.pid_exists(process) for process in processes)


def test_only_a_limited_number_of_blocks_is_submitted_at_a_time(swept):
    assert 1 <= swept.max_submitted <= pool.PIECES_PER_THREAD * WORKERS + 1


class LostFuture:
    """A future that finished, was lost with its worker, and finishes again after a while."""

    key, status = "piece", "lost"

    def add_done_callback(self, call):
        call(self)
        threading.Timer(0.2, setattr, [self, "status", "finished"]).start()


def test_a_result_lost_with_its_worker_is_waited_for(monkeypatch):
    there = pool.OnCluster.__new__(pool.OnCluster)
    monkeypatch.setattr(pool, "CHECK_INTERVAL_S", 0.05)
    monkeypatch.setattr(there, "timeout", 1.0, raising=False)
    for name, result in (("_threads", 1), ("_check_scheduler", None), ("_submit", LostFuture())):
        monkeypatch.setattr(pool.OnCluster, name, lambda self, *arguments, result=result: result)
    monkeypatch.setattr(pool.OnCluster, "_outcomes", lambda self, future: future.status)
    ((numbers, outcome),) = there.run([np.arange(3)], lambda: None)
    assert (numbers.tolist(), outcome) == ([0, 1, 2], "finished")


def test_a_study_that_cannot_be_sent_to_workers_is_an_error_of_the_sweep(tmp_path):
    lock = threading.Lock()

    def study(x):
        with lock:
            return {"y": x}

    with pytest.raises(ap.SweepError, match=r"the study 'study' cannot be sent to workers: TypeError: (.*)lock"):
        ap.sweep(study, {"x": [1]}, tmp_path / "s.zarr", workers=2, accept_study=True)
    assert not (tmp_path / "s.zarr").exists()


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_the_error_of_a_scheduler_that_does_not_respond_names_its_address(tmp_path):
    address = f"tcp://127.0.0.1:{closed_port()}"
    with pytest.raises(ap.SweepError, match=f"the Dask scheduler at '{address}' does not respond"):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", cluster=address, timeout=0.5)
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.parametrize("address", ["nonsense://x", "", "tcp://", 5])
def test_invalid_addresses_are_rejected(tmp_path, address):
    with pytest.raises(ap.SweepError, match="does not respond"):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", cluster=address, timeout=0.5)


def clients_left():
    return [item for item in gc.get_objects() if type(item) is distributed.Client and item.status != "closed"]


def test_a_client_whose_construction_failed_is_collected_at_once(tmp_path):
    """Closing it takes a lock that the construction of the next client holds: collected then, it would deadlock."""
    before = len(clients_left())
    gc.disable()
    try:
        with pytest.raises(ap.SweepError, match="does not respond"):
            ap.sweep(picky, TABLE, tmp_path / "s.zarr", cluster="nonsense://x", timeout=0.5)
        assert len(clients_left()) == before
    finally:
        gc.enable()


def test_a_scheduler_without_workers_is_an_error_and_stored_results_are_kept(tmp_path, blocks_of, monkeypatch):
    blocks_of(30)
    before = ap.sweep(picky, TABLE, tmp_path / "s.zarr")
    monkeypatch.setattr(pool, "COUNT_INTERVAL_S", 0.1)
    monkeypatch.setattr(pool, "NO_WORKERS_TIMEOUT_S", 0.5)
    arguments = (picky, TABLE, tmp_path / "s.zarr")
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as idle:
        with pytest.raises(ap.SweepError, match="has no workers after 1 s"):
            ap.sweep(*arguments, cluster=idle, timeout=1.0, retry_failed=True)
        with (  # the workers of an existing client are not waited for: they may have left since it connected
            distributed.Client(idle, set_as_default=False) as client,
            pytest.raises(ap.SweepError, match="has no workers left"),
        ):
            ap.sweep(*arguments, cluster=client, timeout=0.1, retry_failed=True)
    assert differences(ap.sweeps.open(tmp_path / "s.zarr"), before) == []


@pytest.mark.parametrize("package", ["distributed", "cloudpickle"])
def test_the_error_without_dask_names_the_package_to_install(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ap.ArgumentError, match=rf"needs the package {package}(.|\n)*pip install 'appell\[clusters\]'"):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", workers=2)


def test_a_sweep_without_main_guard_is_rejected_with_a_remedy(tmp_path, monkeypatch):
    """`multiprocessing` sets `_inheriting` in a new process while it imports the main module of its parent."""
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(ap.SweepError, match=r'under `if __name__ == "__main__":`'):
        ap.sweep(picky, TABLE, tmp_path / "s.zarr", workers=2)
