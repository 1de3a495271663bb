"""Fuzz targets that fail on purpose in every possible way; a campaign must survive and report each."""

from __future__ import annotations

import ctypes
import os
import time
import warnings

from appell.errors import ArgumentError
from appell_lab.fuzz.target import Target, Verdict


class Breaking(Target):
    """Every fifth case fails in the way `way`; a case with fewer letters is smaller."""

    name = "breaking"
    about = "fails on purpose"
    seconds = 0.5
    max_sleep_s = 1
    megabytes = 300

    def __init__(self, way: str):
        self.way = way

    def case(self, seed):
        return {"seed": seed, "breaks": seed % 5 == 3, "letters": "abcdefgh" * 3 + "!" + "ijkl" * 3}

    def check(self, case):
        if case["breaks"] and "!" in case["letters"]:
            getattr(self, self.way)()
        return Verdict(figures={"size": float(case["seed"])}, counts={"sound": 1})

    def smaller(self, case):
        from appell_lab.fuzz.minimise import shorter

        for letters in shorter(case["letters"]):
            yield case | {"letters": letters}

    def raises(self):
        raise ZeroDivisionError("on purpose")

    def crashes(self):
        ctypes.string_at(0)

    def exits(self):
        os._exit(7)

    def sleeps(self):
        time.sleep(1000.0)

    def spins(self):
        while True:
            pass

    def lingers(self):
        until = time.process_time() + 0.75
        while time.process_time() < until:
            pass

    def eats(self):
        _ = [bytearray(10**8) for _ in range(10)]

    def leaves_a_file_open(self):
        warnings.simplefilter("error")
        open(__file__)  # noqa: SIM115


class Unprepared(Breaking):
    """A target that cannot be prepared."""

    def prepare(self):
        if self.way == "named":
            raise ArgumentError("the reference is not installed.", hint="install it")
        raise KeyError("reference")
