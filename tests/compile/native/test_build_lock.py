"""Threads and forks: a function is built once, and a forked child never waits for a lock that is not released."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import appell as ap
from appell.compile.native import kernels
from compile.llvm.tapes import arm_like, arm_looped


@pytest.fixture
def assembled(monkeypatch) -> list[str]:
    """LLVM texts that are assembled."""
    texts = []
    real = kernels.assemble
    monkeypatch.setenv("APPELL_CACHE", "off")

    def assemble(text, target, name):
        if name not in ("direct call", "entry"):  # compiled once per process, for all functions
            texts.append(text)
        return real(text, target, name)

    monkeypatch.setattr(kernels, "assemble", assemble)
    return texts


def together(work, count: int = 16) -> list:
    results, gate = [None] * count, threading.Barrier(count)

    def one(k: int) -> None:
        gate.wait()
        results[k] = work()

    threads = [threading.Thread(target=one, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("like", [arm_like, arm_looped])
def test_threads_that_call_one_function_at_once_compile_it_once(assembled, like):
    function, x = ap.Function(like()), np.linspace(-1.0, 1.0, 6)
    results = together(lambda: function(x, x, x))
    assert len(assembled) == len(set(assembled)) <= 2  # the loop of batches, and the code for one sample
    assert all((result == results[0]).all() for result in results)


def test_threads_that_access_a_function_of_dynamics_at_once_get_the_same_object(assembled):
    dyn = ap.Dynamics(ap.load("planar-2r"))
    functions = together(lambda: dyn.inverse_dynamics)
    assert all(function is functions[0] for function in functions)


FORKING = """
import os, sys, threading, time
import numpy as np
import appell as ap

robots = [ap.load(name) for name in ("puma", "panda", "stanford")]
stop = threading.Event()

def compile_on():
    while not stop.is_set():
        for robot in robots:
            ap.Dynamics(robot).forward_dynamics.compile()

thread = threading.Thread(target=compile_on)
thread.start()
lost = 0
for k in range(8):
    time.sleep(0.15)
    child = os.fork()
    if child == 0:
        q = np.zeros(2)
        ap.Dynamics(ap.load("planar-2r")).inverse_dynamics(q, q, q)
        os._exit(0)
    until = time.monotonic() + 20.0
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > until:
            os.kill(child, 9)
            os.waitpid(child, 0)
            lost += 1
            break
        time.sleep(0.01)
stop.set()
thread.join()
print("lost", lost)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_a_thread_compiles_can_compile_itself():
    environment = os.environ | {"APPELL_CACHE": "off", "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING], stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    try:
        printed = process.communicate(timeout=240)[0]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert printed.strip() == "lost 0"
