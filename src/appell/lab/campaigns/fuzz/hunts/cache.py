"""The cache of machine code under attack: what an attacker left there never runs, and results are always right.

A case keeps two kernels in a folder of its own, spoils the folder in one or two of the ways of `cache_attacks`, and asks
for the kernel again, as the next process would: what comes back must be the right object, byte for byte, or be made
anew. It is linked and called. In some cases three processes ask at once. What stands outside the folder is not touched.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from appell.compile.emit.kernel import single_kernel
from appell.compile.emit.lanes import DOUBLES
from appell.compile.function import Function
from appell.compile.native import cache as disk
from appell.compile.native.bound import bind
from appell.compile.native.machine import Code, assemble
from appell.compile.native.target import host
from appell.errors import ArgumentError, CacheWarning
from appell.lab.campaigns.fuzz.cache_attacks import ATTACKS, Scene
from appell.lab.campaigns.fuzz.hunt import Case, Hunt, Outcome

RIGHT, EVIL = 2.0, 666.0
ASKED = 4  # times that the kernel is asked for after an attack
RACED = 40  # times while another process is at work


@cache
def compiled(factor: float) -> tuple[Function, bytes]:
    """A function of one number, and its object."""
    function = Function.of("double", {"x": 1}, lambda x: {"y": [factor * x[0]]})
    text = single_kernel(function.fused, DOUBLES, host().has_fma)
    return function, assemble(text, host(), "double")


class Cache(Hunt):
    """Attacks on the cache folder."""

    name = "cache"
    about = "cache folders corrupted, forged, replayed, linked, owned by others, swapped and written to meanwhile"
    seconds = 20.0
    share = 0.5

    def prepare(self) -> None:
        if not hasattr(os, "fork"):
            raise ArgumentError("this hunt needs processes that fork.", hint="appell fuzz --only robots,files,arrays")
        compiled(RIGHT), compiled(EVIL)
        warnings.simplefilter("ignore", CacheWarning)

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 6])
        attacks = [str(rng.choice(list(ATTACKS))) for _ in range(int(rng.choice([1, 1, 2])))]
        attacks = ["no plain file"] if "no plain file" in attacks else attacks  # nothing can be written to a pipe
        return {"attacks": attacks, "crowd": bool(rng.random() < 0.1), "seed": seed}

    def check(self, case: Case) -> Outcome:
        rng = np.random.default_rng([case["seed"], 7])
        with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as place:
            scene = Scene(Path(place) / "cache", "a" * 64, compiled(RIGHT)[1], compiled(EVIL)[1], "b" * 64)
            precious = Path(place) / "precious"
            precious.write_text("data")
            os.environ["APPELL_CACHE"] = str(scene.folder)
            disk.fetch(scene.key, lambda: scene.right)
            disk.fetch(scene.other_key, lambda: scene.evil)
            stops = []
            try:
                for name in case["attacks"]:
                    try:
                        stops.append(ATTACKS[name](rng, scene))
                    except OSError:  # the first attack has left nothing that the second could spoil
                        continue
                raced = any(stops)
                problem = _crowd(scene) if case["crowd"] else ""
                for _ in range(RACED if raced else ASKED):
                    problem = problem or _ask(scene)
            finally:
                for stop in stops:
                    if stop:
                        stop()
            if precious.read_text() != "data":
                problem = problem or "a file outside the cache was changed"
        counts = {name: 1 for name in case["attacks"]} | {"fetches": RACED if raced else ASKED}
        return Outcome(
            problem, f"{problem.split(':')[0]} after {'+'.join(case['attacks'])}" if problem else "", {}, counts
        )

    def smaller(self, case: Case) -> Iterator[Case]:
        if len(case["attacks"]) > 1:
            for name in case["attacks"]:
                yield case | {"attacks": [name]}
        if case["crowd"]:
            yield case | {"crowd": False}


def _ask(scene: Scene) -> str:
    """What is wrong with the answer, if anything."""
    image = disk.fetch(scene.key, lambda: scene.right)
    if image == scene.evil:
        return "the attacker's object came back"
    if image != scene.right:
        return f"an object came back that nobody made: {len(image)} bytes"
    call = bind(compiled(RIGHT)[0].fused, np.float64, Code(image, "single"))
    call.x[:] = 21.0  # type: ignore[attr-defined]
    call()
    result = float(call.y[0])  # type: ignore[attr-defined]
    return "" if result == RIGHT * 21.0 else f"a wrong result: {result}"


def _crowd(scene: Scene) -> str:
    """Three processes that ask at once."""
    children = []
    for _ in range(3):
        child = os.fork()
        if not child:
            code = 1
            try:
                code = 2 if any(_ask(scene) for _ in range(5)) else 0
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return "" if codes == [0, 0, 0] else f"one of three at once failed: exit codes {codes}"
