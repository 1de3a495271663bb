"""A worker process that checks cases under limits: if it crashes, hangs or runs out of memory, the campaign continues.

Time is measured as processor time, so that a busy machine does not cause findings. A case that takes more than its
target allows is a finding; a case that takes far more is stopped by the operating system (RLIMIT_CPU); a case that only
sleeps is stopped after `max_sleep_s` of its target. Memory is limited relative to the size of the process before each
case (RLIMIT_AS); beyond the limit Python raises MemoryError.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

from appell.errors import AppellError
from appell_lab.fuzz.target import Case, Target, Verdict, unexpected_error

try:
    import resource
except ImportError:  # Windows: time is checked after the case, memory is not limited
    resource = None  # type: ignore[assignment]

MAX_CASES_PER_PROCESS = 5000  # a process is then replaced, so that slow leaks of many cases do not cause findings
NO_RESPONSE = "no response"


class Worker:
    """A process that checks cases of a target.

    with Worker(target) as worker:
        verdict, seconds = worker.check(seed)
    """

    def __init__(self, target: Target):
        self.target = target
        self._process: Any = None
        self._pipe: Connection | None = None
        self._checked = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def check(self, given: int | Case) -> tuple[Verdict, float]:
        """Return the verdict on a seed or a case, and its processor time in s."""
        if self._process is None or self._checked >= MAX_CASES_PER_PROCESS:
            self._end()
            self._start()
        assert self._pipe is not None
        self._checked += 1
        try:
            self._pipe.send(given)
            asleep = 0
            while asleep < self.target.max_sleep_s:
                if self._pipe.poll(1.0):
                    return self._pipe.recv()
                asleep += _sleeps(self._process.pid)
            return self._lost(NO_RESPONSE), float(asleep)
        except (EOFError, OSError):
            return self._lost("it ended"), 0.0

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.target), daemon=False)
        self._process.start()
        theirs.close()
        self._checked = 0
        try:
            problem = self._pipe.recv()
        except EOFError:
            problem = "its process ended"
        if problem:
            self._process.join()
            self._process = None
            raise (
                problem
                if isinstance(problem, AppellError)
                else AppellError(f"target '{self.target.name}' cannot be prepared: {problem}")
            )

    def _lost(self, what: str) -> Verdict:
        process, self._process = self._process, None
        if process.is_alive() and what == NO_RESPONSE:
            process.kill()
        process.join()
        if hasattr(signal, "SIGXCPU") and process.exitcode == -signal.SIGXCPU:
            return Verdict(f"the case hung: stopped after {_cpu_limit(self.target):.0f} s of processor time", "hang")
        problem = f"the process crashed: {what}, exit code {process.exitcode}"
        return Verdict(problem, "hang" if what == NO_RESPONSE else f"crash {process.exitcode}")

    def _end(self) -> None:
        if self._process is not None and self._pipe is not None:
            try:
                self._pipe.send(None)
                self._process.join(5.0)
            except OSError:
                pass
            if self._process.is_alive():
                self._process.kill()
            self._process.join()
        self._process = None


def _sleeps(pid: int) -> bool:
    """Return whether a process sleeps; one that waits for a processor, or was stopped, does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "SD"
    except OSError:  # no /proc on this system
        return True


def _cpu_limit(target: Target) -> float:
    return 2.0 * target.seconds + 2.0


def _serve(pipe: Connection, target: Target) -> None:
    """Check cases in the worker process until the pipe delivers None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the campaign
    unraisable: list[BaseException] = []  # errors that Python cannot raise, such as a warning about an unclosed file
    sys.unraisablehook = lambda what: unraisable.append(what.exc_value or RuntimeError(str(what.err_msg)))
    try:
        target.prepare()
    except Exception as error:
        pipe.send(error if isinstance(error, AppellError) else unexpected_error(error).problem)
        return
    pipe.send("")
    while (given := pipe.recv()) is not None:
        case = target.case(given) if isinstance(given, int) else given
        _limit(target)
        before = _processor_time()
        try:
            verdict = target.check(case)
        except Exception as error:
            verdict = unexpected_error(error)
        if unraisable and not verdict.problem:
            verdict = unexpected_error(unraisable[0])
        unraisable.clear()
        seconds = _processor_time() - before
        _limit(None)
        if seconds > target.seconds and not verdict.problem:
            verdict = Verdict(f"the case took {seconds:.1f} s of processor time", "slow", verdict.figures)
        pipe.send((verdict, seconds))


def _processor_time() -> float:
    """Return the processor time of this process and of the children it has waited for, in s."""
    if resource is None:
        return time.process_time()
    return sum(sum(resource.getrusage(scope)[:2]) for scope in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _limit(target: Target | None) -> None:
    """Set the limits of the operating system for one case, or remove them."""
    if resource is None:
        return
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    cpu = resource.RLIM_INFINITY if target is None else math.ceil(used + _cpu_limit(target))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    mapped = _address_space()
    if mapped:
        limit = resource.RLIM_INFINITY if target is None else mapped + target.megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _address_space() -> int:
    """Return the number of bytes that the process has mapped; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0
