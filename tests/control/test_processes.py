"""Cabinet and loop in separate processes, shared pages, clocks and latency."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from appell.errors import AppellError, ArgumentError
from appell.hardware.cabinet.server import serve
from appell.hardware.cabinet.shared import RemoteCabinet, SharedPage, default_path, monotonic
from appell.hardware.cabinet.simulated import SimulatedCabinet
from appell.hardware.cabinet.standard_wirings import puma_600
from appell.hardware.clock import MonotonicClock, VirtualClock, real_time
from appell.hardware.device import JointState
from appell.hardware.loop.supervisor import State
from appell.motion import Record
from appell_lab.bench.latency import Latency, measure_latency
from control_motion import START

HEARTBEAT_S = 0.5  # long, because busy test machines may delay the loop
TIMEOUT_S = 120.0


def wait_for(condition, what: str):
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        if result := condition():
            return result
        time.sleep(0.05)
    raise TimeoutError(what)


def start(*arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "appell", "control", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")
def test_killing_the_loop_switches_the_outputs_off_within_the_heartbeat_and_leaves_the_log(tmp_path):
    name = f"appell-test-{os.getpid()}"
    plant_log, loop_log = tmp_path / "plant.log", tmp_path / "loop.log"
    plant = start("cabinet", "puma", "--name", name, "--heartbeat", str(HEARTBEAT_S), "--log", str(plant_log))
    loop = None
    try:
        wait_for(lambda: plant_log.exists() and default_path(name).exists(), "the cabinet")
        patient = ("--misses", "500", "--lost", "500")  # do not stop on a busy machine
        files = ("--log", str(loop_log), "--plot", str(tmp_path / "no.png"))
        loop = start("run", "puma", "--attach", name, *patient, *files)
        wait_for(lambda: running_ticks(loop_log) > 1000, "the loop to move the arm")
        loop.kill()
        loop.wait()
        time.sleep(HEARTBEAT_S + 1.0)
        plant.send_signal(signal.SIGINT)
        plant.wait(TIMEOUT_S)
    finally:
        for process in (plant, loop):
            if process is not None:
                process.kill()
                process.wait()
                process.stdout.close()
    log, arm = Record.read(loop_log), Record.read(plant_log)
    assert log["state"][-1] == State.RUNNING
    assert log["fault"][-1] == 0
    enabled = arm["enabled"]
    off = int(np.flatnonzero((enabled[:-1] == 1) & (enabled[1:] == 0))[-1]) + 1
    # a row is written at the end of its step; the outputs were off from the end of the previous row
    assert arm["t"][off - 1] - arm["beat"][off] <= HEARTBEAT_S
    assert not enabled[off:].any()
    assert arm["watchdog"][-1] == 1
    assert abs(log["done"][-1] - arm["beat"][-1]) < 0.1  # the log ends when the loop was killed
    assert (arm["tau"][off + 1 :] == 0.0).all()
    assert np.abs(arm["v"][-1]).max() < 1e-6


def running_ticks(path: Path) -> int:
    try:
        log = Record.read(path)
        return int((log["state"] == State.RUNNING).sum())
    except AppellError:
        return 0


def test_a_missing_cabinet_is_reported(tmp_path, puma):
    with pytest.raises(ArgumentError, match="there is no cabinet for 6 actuators"):
        RemoteCabinet(puma_600(puma), tmp_path / "none")


def test_a_cabinet_with_another_wiring_is_rejected(tmp_path, puma):
    wiring = puma_600(puma)
    SharedPage(tmp_path / "page", wiring, create=True).close()
    other = replace(wiring, bits=16)
    with pytest.raises(ArgumentError, match="is wired differently"):
        RemoteCabinet(other, tmp_path / "page")


posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX")


@posix
def test_a_page_is_accessible_only_to_its_user(tmp_path, puma):
    page = SharedPage(tmp_path / "page", puma_600(puma), create=True)
    status = os.stat(tmp_path / "page")
    assert status.st_mode & 0o777 == 0o600
    assert page["pid"] == os.getpid()
    assert str(os.getuid()) in default_path("cabinet").name
    for name in ("", "../cabinet", "a/b"):
        with pytest.raises(ArgumentError, match="is not a valid name of a cabinet"):
            default_path(name)


@posix
def test_a_page_that_other_users_can_access_is_rejected(tmp_path, puma):
    wiring, path = puma_600(puma), tmp_path / "page"
    SharedPage(path, wiring, create=True).close()
    os.chmod(path, 0o666)
    for use in (lambda: RemoteCabinet(wiring, path), lambda: SharedPage(path, wiring, create=True)):
        with pytest.raises(ArgumentError, match=r"cannot be used: other users can access it \(mode 0666\)"):
            use()
    assert path.exists()


@posix
def test_a_page_of_another_user_is_rejected(tmp_path, puma, monkeypatch):
    wiring, path = puma_600(puma), tmp_path / "page"
    SharedPage(path, wiring, create=True).close()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    for create in (False, True):
        with pytest.raises(ArgumentError, match="cannot be used: it belongs to user"):
            SharedPage(path, wiring, create=create)


@posix
def test_symbolic_links_to_a_page_are_not_followed(tmp_path, puma):
    wiring, precious = puma_600(puma), tmp_path / "precious"
    precious.write_text("data")
    (tmp_path / "page").symlink_to(precious)
    for create in (False, True):
        with pytest.raises(ArgumentError, match="cannot be used: it is a symbolic link"):
            SharedPage(tmp_path / "page", wiring, create=create)
    assert precious.read_text() == "data"


def test_a_page_in_use_is_kept_and_an_abandoned_page_is_replaced(tmp_path, puma):
    wiring, path = puma_600(puma), tmp_path / "page"
    page = SharedPage(path, wiring, create=True)
    page["sequence"] = 42.0
    with pytest.raises(ArgumentError, match=f"is already served by process {os.getpid()}"):
        SharedPage(path, wiring, create=True)
    assert SharedPage(path, wiring)["sequence"] == 42.0
    page["served"] -= 60.0  # the process exists, but has not updated the page
    if os.name == "nt":  # a mapped file cannot be removed there
        with pytest.raises(ArgumentError, match="still uses its file"):
            SharedPage(path, wiring, create=True)
        page.close()
    fresh = SharedPage(path, wiring, create=True)
    assert fresh["sequence"] == 0.0
    if os.name != "nt":
        assert page["sequence"] == 42.0  # the old page stays mapped
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    fresh["pid"], fresh["served"], fresh["sequence"] = dead.pid, monotonic(), 7.0
    if os.name == "nt":
        fresh.close()
    assert SharedPage(path, wiring, create=True)["sequence"] == 0.0


def test_a_cabinet_removes_only_its_own_page(tmp_path, plant_model):
    path = tmp_path / "page"
    serve(lambda clock: SimulatedCabinet(plant_model, clock, START), path, seconds=0.05)
    assert not path.exists()
    other = SharedPage(path, plant_model.wiring, create=True)
    with pytest.raises(ArgumentError, match="is already served by process"):
        serve(lambda clock: SimulatedCabinet(plant_model, clock, START), path, seconds=0.05)
    assert path.exists()
    other.close()


def test_a_reading_is_fresh_only_once(tmp_path, puma):
    wiring = puma_600(puma)
    page = SharedPage(tmp_path / "page", wiring, create=True)
    remote = RemoteCabinet(wiring, tmp_path / "page")
    state = JointState(remote.info)
    page.publish(np.arange(page.layout.size, dtype=float))
    assert remote.read(state)
    np.testing.assert_array_equal(remote.converter.signals, np.arange(page.layout.size))
    assert not remote.read(state)
    page.numbers[2] += 1.0  # in the middle of writing
    assert not remote.read(state)


def test_the_virtual_clock_wakes_on_time_or_with_the_given_delay_and_never_goes_back():
    clock = VirtualClock(1.0, lambda t: 0.5 if t == 2.0 else 0.0)
    assert clock.wait_until(1.5) == 1.5
    assert clock.wait_until(2.0) == 2.5
    assert clock.wait_until(2.2) == 2.5


def test_the_monotonic_clock_never_wakes_early():
    clock = MonotonicClock()
    for k in range(20):
        deadline = clock.now() + 1e-4 * k
        assert clock.wait_until(deadline) >= deadline - 1e-9


absolute_sleep = pytest.mark.skipif(not hasattr(time, "CLOCK_MONOTONIC"), reason="clock_nanosleep is POSIX")


@absolute_sleep
@pytest.mark.parametrize("code", [errno.EINVAL, errno.EFAULT, errno.ENOTSUP])
def test_a_clock_falls_back_to_sleep_if_clock_nanosleep_fails(monkeypatch, code):
    clock, calls, slept = MonotonicClock(), [], []
    clock._sleep = lambda *arguments: calls.append(arguments) or code
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: (slept.append(seconds), sleep(seconds)))
    deadline = clock.now() + 0.02
    assert clock.wait_until(deadline) >= deadline - 1e-9
    assert len(calls) == len(slept) == 1


@absolute_sleep
def test_a_signal_does_not_end_a_sleep():
    clock, answers = MonotonicClock(), [errno.EINTR, errno.EINTR, 0]
    clock._sleep = lambda *arguments: answers.pop(0)
    clock.wait_until(clock.now())
    assert not answers


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="this system has no SCHED_FIFO")
def test_real_time_privileges_are_used_and_released():
    import gc

    before = os.sched_getscheduler(0)
    with real_time() as privileges:
        assert not gc.isenabled()
        granted = os.sched_getscheduler(0) == os.SCHED_FIFO
        assert granted == ("SCHED_FIFO, priority" in privileges.scheduling)
    assert gc.isenabled()
    assert os.sched_getscheduler(0) == before


def test_latency_is_measured_for_every_tick():
    latency = measure_latency(50, 1e-3)
    assert len(latency.late) == len(latency.step) == latency.histogram().sum() == 50
    assert (latency.late > -1e-6).all()
    done = latency.late + latency.step
    assert latency.misses == np.count_nonzero(done > 1e-3)
    known = Latency(1e-6 * np.array([5.0, 15.0, 950.0]), 1e-6 * np.array([1.0, 1.0, 60.0]), 1e-3, 1, latency.privileges)
    assert known.misses == 1  # woke in time, but finished 10 µs after the next scheduled tick
    assert known.histogram().tolist()[:7] == [1, 1, 0, 0, 0, 0, 1]
    assert known.percentile(100) == 950e-6
    with pytest.raises(ArgumentError, match="too few"):
        measure_latency(3)
