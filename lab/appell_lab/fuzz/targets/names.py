"""Hostile names of robots, frames, functions, arguments and results in every export.

Names contain quotes, ends of comments and docstrings, keywords, names that the generated code uses, format and LaTeX
commands, and Python, shell and C code that creates a canary file. Modules are imported in a separate process, which
ends at the first attempt to start a process or to write a file (`import_exports`). Their numbers are compared with the
tape of the same function with plain names, evaluated by the interpreter. A name may be rejected with a named error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from appell.compile.exchange.python_text import LIBRARIES, python_text
from appell.compile.exchange.to_sympy import sympy_text
from appell.compile.function import Function
from appell.compile.tape.evaluate import evaluate
from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell.errors import AppellError
from appell_lab.fuzz import import_exports
from appell_lab.fuzz.target import Case, Target, Verdict

BATCH = 100  # exports per process
BOUND = 1e-12  # relative to the largest entry
CANARY = "canary"
LANGUAGES = ("numpy", "numpy", "jax", "torch", "sympy", "casadi", "c", "c", "json", "latex")
KINDS = ("pose", "jacobian", "wrench", "own")
CODE = (
    "__import__('os').system('touch canary')",
    '__import__("pathlib").Path("canary").touch()',
    "open('canary', 'w')",
    "exec(open('canary', 'w').name)",
    'system("touch canary")',
    "`touch canary`",
    "$(touch canary)",
)
OPENINGS = ('"', "'", '"""', "'''", '\\"', "\\", "*/", "//", "/*", "):", "]", "}", "#", ";", ")", "@", "{", "%", "\\N{")
CLOSINGS = ('"', "'", '"""+"', "#", "/*", "*/", "(", "[", "{", "\\", ":", ";", ",", "")
WORDS = (
    "q", "v", "a", "tau", "M", "np", "jnp", "torch", "s0", "v2", "x0", "x1", "n_", "i", "k", "l", "class", "lambda",
    "None", "print", "import", "return", "pose", "common", "arguments", "results", "Symbol", "double", "int", "main",
    "sin", "cos", "sqrt", "static", "restrict", "inline", "float", "float64", "E", "I", "pi", "S", "N", "self",
    "__name__", "_", "__",
)  # fmt: skip
PARTS = (
    "left-foot", "arm/tool.0", "größe", "2nd", "ﬁ", "x²", "µ", "·", "ı", "a b", "??/", "%s%n", "{0}", "{q}", "{{",
    "$x$", "\\input{canary}", "\\write18{touch canary}", "^^5c", "&amp;", "<b>", "]]>", "--", "..", "#define q 3",
    "\u200b", "Ω", "é", "𝐪", "ｑ", "\u0301", "a" * 300,
)  # fmt: skip


def random_name(rng: np.random.Generator) -> str:
    """Return a hostile name."""
    kind = rng.random()
    if kind < 0.5:
        opening, code, closing = (str(rng.choice(x)) for x in (OPENINGS, CODE, CLOSINGS))
        return f"{rng.choice(['', 'tool', 'q'])}{opening}{rng.choice(['+', ';', ',', ' '])}{code}{closing}"
    if kind < 0.7:
        return str(rng.choice(WORDS))
    if kind < 0.9:
        return "".join(map(str, rng.choice(PARTS, rng.integers(1, 3))))
    return "".join(chr(x) for x in rng.integers(32, 0x250, rng.integers(1, 12)))


@cache
def exported(kind: str, name: str, other: str = "other") -> Function:
    """Return a function with hostile names: of a frame, with a wrench on it, or with names of its own."""
    if kind == "own":
        other += "_" * (other == name)
        return Function.of(name, {name: 2, other: ()}, lambda x, s: {name: [x[0] * s, x[1] + s], other: x[0] - s})
    robot = load_tree("planar-2r")
    robot = replace(robot, name=other).with_frames([replace(robot.frame("tool"), name=name)])
    if kind == "wrench":
        return Dynamics(robot, wrenches=[name]).inverse_dynamics
    return getattr(Dynamics(robot), kind)(name)


class Names(Target):
    """Hostile names in exports."""

    name = "names"
    about = f"hostile names in {BATCH} exports per case, imported in a separate process and compared"
    seconds = 60.0
    max_sleep_s = 600  # PyTorch is imported in a separate process, which takes a minute on a busy machine
    megabytes = 3000

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 32])
        names = [[str(rng.choice(KINDS)), random_name(rng), random_name(rng)] for _ in range(BATCH)]
        return {"language": str(rng.choice(LANGUAGES)), "names": names, "numbers": int(rng.integers(10**6))}

    def check(self, case: Case) -> Verdict:
        with tempfile.TemporaryDirectory() as directory:
            return Exports(case, Path(directory)).verdict()

    def smaller(self, case: Case) -> Iterator[Case]:
        names = case["names"]
        for size in (len(names) // 2, 1):
            for k in range(0, len(names) if size and len(names) > 1 else 0, max(size, 1)):
                yield case | {"names": names[k : k + size]}


class Exports:
    """The exports of a case in a directory."""

    def __init__(self, case: Case, directory: Path):
        self.language, self.directory, self.rejected = case["language"], directory, 0
        self.rng = np.random.default_rng(case["numbers"])
        self.names: list[tuple[str, str, str]] = []
        self.functions: list[dict[str, Any]] = []
        self.expected: list[list[np.ndarray]] = []
        for kind, name, other in case["names"]:
            try:
                self._add(kind, name, other)
            except AppellError:
                self.rejected += 1

    def _add(self, kind: str, name: str, other: str) -> None:
        function = exported(kind, name, other)
        arguments = [self.rng.normal(size=array.shape) for array in function.inputs]
        path = self.directory / f"export{len(self.names)}"
        job: dict[str, Any] = {"file": str(path), "arguments": [x.tolist() for x in arguments]}
        if self.language == "casadi":
            function.to_casadi().save(str(path))
        elif self.language == "c":
            source = function.to_c(path.name) if len(self.names) % 2 else function.to_c()
            job |= {"name": source.name, "sizes": [array.size for array in function.outputs]}
            if any(job["name"] == other["name"] for other in self.functions):
                return
            path.with_suffix(".c").write_text(source.header + source.source.replace(f'#include "{source.name}.h"', ""))
        else:
            path.write_text(_text(function, self.language), encoding="utf-8")
        self.names.append((kind, name, other))
        self.functions.append(job)
        self.expected.append([np.ravel(x) for x in evaluate(exported(kind, "plain").tape, *arguments)])

    def verdict(self) -> Verdict:
        """Import the exports, and compare their numbers."""
        counts = {f"{self.language}, imported": len(self.names), "names rejected": self.rejected}
        problem, error = "", 0.0
        if self.names and self.language in import_exports.RUNNERS:
            problem, results = self._run()
            for names, ours, theirs in zip(self.names, self.expected, results, strict=False):
                error = max(error, *(_error(x, y) for x, y in zip(ours, theirs, strict=True)))
                if not error <= BOUND:
                    return Verdict(f"{self.language}: {names} differs by {error:.3g}", f"differs, {self.language}")
        elif self.language == "json":
            problem = self._read_json()
        elif self.language == "latex":
            texts = [Path(function["file"]).read_text(encoding="utf-8") for function in self.functions]
            problem = next(
                (f"a command in {text[:200]}" for text in texts if "\\input" in text or "\\write" in text), ""
            )
        written = sorted(
            path.name for path in self.directory.iterdir() if not path.name.startswith(("export", "library"))
        )
        problem = problem or (f"files were created: {written}" if written != ["manifest"] * bool(written) else "")
        if problem:
            return Verdict(f"{self.language}: {problem}", f"{self.language}: {problem[:30]}")
        return Verdict(figures={f"error, {self.language}": error} if error else {}, counts=counts)

    def _run(self) -> tuple[str, list[Any]]:
        job: dict[str, Any] = {"language": self.language, "functions": self.functions}
        if self.language == "c":
            if shutil.which("gcc") is None:
                return "", []
            job["library"] = str(self.directory / "library.so")
            command = ["gcc", "-shared", "-fPIC", "-O0", "-ffp-contract=off", "-Wtrigraphs", "-o", job["library"]]
            done = self._call([*command, *map(str, sorted(self.directory.glob("*.c"))), "-lm"])
            if done.returncode:
                return done.stderr[:600], []
        (self.directory / "manifest").write_text(json.dumps(job), encoding="utf-8")
        done = self._call([sys.executable, "-B", import_exports.__file__, "manifest"])
        return (done.stderr[-600:], []) if done.returncode else ("", json.loads(done.stdout))

    def _call(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            command, cwd=self.directory, env=environment, capture_output=True, text=True, errors="replace", check=False
        )

    def _read_json(self) -> str:
        for (kind, name, other), function in zip(self.names, self.functions, strict=True):
            read = json.loads(Path(function["file"]).read_text(encoding="utf-8"))
            inputs = [array["name"] for array in read["inputs"]]
            if inputs != [array.name for array in exported(kind, name, other).inputs]:
                return f"names of arguments differ: {inputs}"
        return ""


def _text(function: Function, language: str) -> str:
    if language in LIBRARIES:
        return python_text(function, language)
    return {"sympy": sympy_text, "latex": Function.to_latex, "json": Function.to_json}[language](function)


def _error(expected: np.ndarray, results: Any) -> float:
    difference = np.abs(np.asarray(results, float) - expected).max() / max(1.0, np.abs(expected).max())
    return float(difference) if np.isfinite(difference) else np.inf
