"""Sweeps on a real LocalCluster of processes: the same arrays, jobs that kill workers, and who does not answer."""

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
import pytest

import appell as ap
from appell.sweeps import pool, run
from appell_lab.campaigns.interrupted_sweep import differences
from studies import TABLE, picky

BLOCK, WORKERS, DEADLY = 4, 2, 25


@dataclass
class Swept:
    """One sweep on two workers of its own, looked at by several tests."""

    alone: ap.sweeps.SweepResults
    there: ap.sweeps.SweepResults
    processes: np.ndarray
    most: int  # pieces of work under way at a time


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Every seventh job fails, one kills its worker; a task is given up after the first worker that it kills."""
    here, folder = os.getpid(), tmp_path_factory.mktemp("swept")

    def study(x, start, seed):
        if x == DEADLY:
            if os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("it would have killed")
        return picky(x, start, seed) | {"process": os.getpid(), "threads": int(os.environ["OMP_NUM_THREADS"])}

    under_way = []
    submit = pool.OnCluster._submit

    def watched(self, *given):
        future = submit(self, *given)
        under_way.append(len(self.client.futures))
        return future

    with pytest.MonkeyPatch.context() as patch, dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr(run, "block_size", lambda *_: BLOCK)
        patch.setattr(pool.OnCluster, "_submit", watched)
        alone = ap.sweep(study, TABLE, folder / "alone.zarr")
        there = ap.sweep(study, TABLE, folder / "there.zarr", workers=WORKERS)
    return Swept(alone, there, there["process"][there.done], max(under_way))


def test_workers_give_the_same_arrays_and_errors_as_this_process(swept):
    assert set(differences(swept.alone, swept.there)) == {"process", "errors"}  # of the one that kills
    for one, other in zip(swept.alone.failures, swept.there.failures, strict=True):
        assert one.number == other.number
        assert (one.error, one.traceback) == (other.error, other.traceback) or one.number == DEADLY


def test_a_job_that_kills_its_workers_fails_alone(swept):
    failed = [failure.number for failure in swept.there.failures]
    assert failed == [3, 10, 17, 24, DEADLY]  # the others of its block are done
    assert "every worker that ran this job died" in swept.there.failures[-1].error


def test_jobs_run_in_workers_of_one_thread_that_are_gone_afterwards(swept):
    assert set(swept.there["threads"][swept.there.done]) == {1}
    processes = set(swept.processes.tolist())
    assert os.getpid() not in processes
    assert len(processes) >= WORKERS
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_only_a_window_of_all_blocks_is_under_way(swept):
    assert 1 <= swept.most <= pool.AHEAD * WORKERS + 1


class LostFuture:
    """Ready, then lost with its worker, and ready again after a while."""

    key, status = "piece", "lost"

    def add_done_callback(self, call):
        call(self)
        threading.Timer(0.2, setattr, [self, "status", "finished"]).start()


def test_a_result_that_died_with_its_worker_is_waited_for(monkeypatch):
    there = pool.OnCluster.__new__(pool.OnCluster)
    monkeypatch.setattr(pool, "LOOK", 0.05)
    monkeypatch.setattr(there, "timeout", 1.0, raising=False)
    for name, answer in (("_threads", 1), ("_look", None), ("_submit", LostFuture())):
        monkeypatch.setattr(pool.OnCluster, name, lambda self, *given, answer=answer: answer)
    monkeypatch.setattr(pool.OnCluster, "_outcomes", lambda self, future: future.status)
    ((numbers, outcome),) = there.run([np.arange(3)], lambda: None)
    assert (numbers.tolist(), outcome) == ([0, 1, 2], "finished")


def test_a_study_that_no_worker_can_have_is_an_error_and_no_failure_of_jobs(tmp_path):
    lock = threading.Lock()

    def study(x):
        with lock:
            return {"y": x}

    with pytest.raises(ap.SweepError, match=r"the study 'study' cannot be sent to workers: TypeError: (.*)lock"):
        ap.sweep(study, {"x": [1]}, tmp_path / "s.zarr", workers=2)
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


def clients_left():
    return [kept for kept in gc.get_objects() if type(kept) is distributed.Client and kept.status != "closed"]


def test_a_client_that_could_not_be_made_is_not_left_to_the_garbage_collector(tmp_path):
    """Its end takes a lock that the making of the next client holds: collected meanwhile, it would hang the sweep."""
    before = len(clients_left())
    gc.disable()
    try:
        with pytest.raises(ap.SweepError, match="no Dask scheduler answers"):
            ap.sweep(picky, TABLE, tmp_path / "s.zarr", cluster="nonsense://x", timeout=0.5)
        assert len(clients_left()) == before
    finally:
        gc.enable()


def test_a_scheduler_without_workers_is_an_error_and_what_was_stored_stays(tmp_path, blocks_of, monkeypatch):
    blocks_of(30)
    before = ap.sweep(picky, TABLE, tmp_path / "s.zarr")
    monkeypatch.setattr(pool, "COUNTED", 0.1)
    monkeypatch.setattr(pool, "DESERTED", 0.5)
    given = (picky, TABLE, tmp_path / "s.zarr")
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as idle:
        with pytest.raises(ap.SweepError, match="has no workers after 1 s"):
            ap.sweep(*given, cluster=idle, timeout=1.0, retry_failed=True)
        with (  # nobody waits for the workers of a client that was given: they may have left meanwhile
            distributed.Client(idle, set_as_default=False) as client,
            pytest.raises(ap.SweepError, match="has no workers any more"),
        ):
            ap.sweep(*given, cluster=client, timeout=0.1, retry_failed=True)
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
