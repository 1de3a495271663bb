"""The cabinet in one process and the loop in another: what happens when the loop is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from appell.control.cabinet.puma600 import puma_600
from appell.control.cabinet.shared import RemoteCabinet, SharedPage, default_path
from appell.control.loop.clock import MonotonicClock, VirtualClock, real_time
from appell.control.loop.latency import measure_latency
from appell.control.loop.states import State
from appell.errors import AppellError, ArgumentError
from appell.motion import Record

HEARTBEAT = 0.5  # s; long, because test machines are busy and may hold a living loop up
PATIENCE = 120.0


def wait_for(condition, what: str):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise TimeoutError(what)


def start(*arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "appell", "control", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")
def test_killing_the_loop_switches_the_outputs_off_within_the_heartbeat_and_leaves_the_log(tmp_path):
    name = f"appell-test-{os.getpid()}"
    plant_log, loop_log = tmp_path / "plant.log", tmp_path / "loop.log"
    plant = start("cabinet", "puma", "--name", name, "--heartbeat", str(HEARTBEAT), "--log", str(plant_log))
    loop = None
    try:
        wait_for(lambda: plant_log.exists() and default_path(name).exists(), "the cabinet")
        patient = ("--misses", "500", "--lost", "500")  # a busy machine is no reason to stop
        files = ("--log", str(loop_log), "--plot", str(tmp_path / "no.png"))
        loop = start("run", "puma", "--attach", name, *patient, *files)
        wait_for(lambda: running_ticks(loop_log) > 1000, "the loop to move the arm")
        os.kill(loop.pid, signal.SIGKILL)
        loop.wait()
        time.sleep(HEARTBEAT + 1.0)
        plant.send_signal(signal.SIGINT)
        plant.wait(PATIENCE)
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
    # a row stands at the end of its step; the outputs were off from the end of the row before
    assert arm["t"][off - 1] - arm["beat"][off] <= HEARTBEAT
    assert not enabled[off:].any()
    assert arm["watchdog"][-1] == 1
    assert abs(log["done"][-1] - arm["beat"][-1]) < 0.1  # the log ends where the loop's life ended
    assert (arm["tau"][off + 1 :] == 0.0).all()
    assert np.abs(arm["v"][-1]).max() < 1e-6


def running_ticks(path: Path) -> int:
    try:
        log = Record.read(path)
        return int((log["state"] == State.RUNNING).sum())
    except AppellError:
        return 0


def test_a_cabinet_that_is_not_there_is_named(tmp_path, puma):
    with pytest.raises(ArgumentError, match="no cabinet for 6 actuators is found"):
        RemoteCabinet(puma_600(puma), tmp_path / "none")


def test_a_cabinet_that_is_wired_differently_is_refused(tmp_path, puma):
    wiring = puma_600(puma)
    SharedPage(tmp_path / "page", wiring, create=True).close()
    other = replace(wiring, bits=16)
    with pytest.raises(ArgumentError, match="is wired differently"):
        RemoteCabinet(other, tmp_path / "page")


def test_a_reading_is_fresh_once(tmp_path, puma):
    wiring = puma_600(puma)
    page = SharedPage(tmp_path / "page", wiring, create=True)
    remote, into = RemoteCabinet(wiring, tmp_path / "page"), np.zeros(page.layout.size)
    page.publish(np.arange(page.layout.size, dtype=float))
    assert remote.read(into)
    np.testing.assert_array_equal(into, np.arange(page.layout.size))
    assert not remote.read(into)
    page.numbers[2] += 1.0  # in the middle of writing
    assert not remote.read(into)


def test_the_virtual_clock_wakes_on_time_or_late_as_told_and_never_goes_back():
    clock = VirtualClock(1.0, lambda t: 0.5 if t == 2.0 else 0.0)
    assert clock.wait_until(1.5) == 1.5
    assert clock.wait_until(2.0) == 2.5
    assert clock.wait_until(2.2) == 2.5


def test_the_machines_clock_never_wakes_early():
    clock = MonotonicClock()
    for k in range(20):
        deadline = clock.now() + 1e-4 * k
        assert clock.wait_until(deadline) >= deadline - 1e-9


def test_privileges_are_taken_when_granted_and_given_back():
    import gc

    before = os.sched_getscheduler(0)
    with real_time() as privileges:
        assert not gc.isenabled()
        granted = os.sched_getscheduler(0) == os.SCHED_FIFO
        assert granted == ("SCHED_FIFO, priority" in privileges.scheduling)
    assert gc.isenabled()
    assert os.sched_getscheduler(0) == before


def test_latency_is_measured_tick_by_tick():
    found = measure_latency(50, 1e-3)
    assert len(found.late) == len(found.step) == found.histogram().sum() == 50
    assert (found.late > -1e-6).all()
    assert found.misses <= 50
    with pytest.raises(ArgumentError, match="too few"):
        measure_latency(3)
