"""Stored traces are the tapes that tracing gives, and entries are never confused."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.compile import function as functions
from appell.compile.cache import object_cache as cache
from appell.compile.cache import source_hash as source_hashes
from appell.compile.cache import trace_cache
from appell.compile.cache.source_hash import source_hash
from appell.compile.cache.trace_cache import StoredProgram, StoredTape, cached_trace
from appell.compile.program.program import Program
from appell.compile.tape.evaluate import evaluate
from appell.compile.tape.formula import fused
from appell.compile.tape.passes import fuse
from appell.compile.tape.tape import Tape
from appell.dynamics import derivatives, dynamics
from compile.llvm.tapes import random_tape

SUBJECT = "a subject"
NAMES = ("inverse_dynamics", "generalized_forces")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    where = tmp_path / "cache"
    monkeypatch.setenv("APPELL_CACHE", str(where))
    monkeypatch.setattr(cache, "_warned", False)
    monkeypatch.setattr(trace_cache, "STORED_NODES", 100)
    return where


def tape(seed: int = 0, size: int = 400) -> Tape:
    """Return a tape as a graph makes it: its ops are plain integers."""
    drawn = random_tape(seed, size)
    return replace(drawn, nodes=tuple((int(op), *operands) for op, *operands in drawn.nodes))


class Making:
    """Makes a tape and counts the calls."""

    def __init__(self, seed: int = 0, size: int = 400):
        self.seed, self.size, self.times = seed, size, 0

    def __call__(self) -> Tape:
        self.times += 1
        return tape(self.seed, self.size)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.kernel"))


def assert_same(stored: Tape, want: Tape) -> None:
    assert (stored.name, stored.inputs, stored.outputs) == (want.name, want.inputs, want.outputs)
    assert (len(stored), stored.digest) == (len(want), want.digest)
    assert (stored.nodes, stored.results) == (want.nodes, want.results)


def test_a_tape_is_traced_once_and_then_loaded(folder):
    make = Making()
    for _ in range(3):
        assert_same(cached_trace(SUBJECT, make), tape())
    assert make.times == 1
    assert len(entries(folder)) == 1


def test_a_stored_tape_has_its_fused_tape(folder):
    for _ in range(2):
        stored = cached_trace(SUBJECT, Making())
        assert isinstance(stored, StoredTape)
        assert_same(stored.fused, fuse(tape()))


def test_nodes_are_unpickled_on_first_use(folder):
    cached_trace(SUBJECT, Making())
    stored = cached_trace(SUBJECT, Making())
    for each in (stored, stored.fused):
        _ = each.name, each.inputs, each.outputs, each.input_size, each.digest, len(each)
        assert "in_memory" not in vars(each)
    _ = stored.fused.nodes
    assert "in_memory" in vars(stored)


def test_a_stored_tape_can_be_pickled(folder):
    cached_trace(SUBJECT, Making())
    stored = pickle.loads(pickle.dumps(cached_trace(SUBJECT, Making())))
    assert "in_memory" not in vars(stored)
    again = pickle.loads(pickle.dumps(stored.fused))
    assert_same(again, fuse(tape()))
    assert_same(stored, tape())
    assert_same(stored.fused, fuse(tape()))


def test_a_stored_function_has_second_derivatives(folder):
    subject = "twice"
    for _ in range(2):  # traced, then loaded
        stored = functions.Function(cached_trace(subject, lambda: ap.Dynamics(ap.load("puma")).inverse_dynamics.tape))
        assert isinstance(stored.formula, StoredTape)
        second = stored.hessian("a")
    x = np.random.default_rng(0).normal(size=(4, 6))
    np.testing.assert_allclose(second(*x), 0.0, atol=1e-12)  # forces are linear in a


def test_short_tapes_and_tapes_without_a_subject_are_not_stored(folder):
    short, unknown = Making(size=40), Making()
    for _ in range(2):
        assert_same(cached_trace(SUBJECT, short), tape(size=40))
        assert_same(cached_trace(None, unknown), tape())
    assert (short.times, unknown.times) == (2, 2)
    assert entries(folder) == []


DAMAGE = {
    "empty": lambda content: b"",
    "cut": lambda content: content[:-1],
    "head only": lambda content: content[:48],
    "longer": lambda content: content + b"\0",
    "a flipped bit": lambda content: content[:300] + bytes([content[300] ^ 1]) + content[301:],
    "text": lambda content: b"this is not a tape\n" * 400,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_rebuilt_and_replaced(folder, damage):
    make = Making()
    cached_trace(SUBJECT, make)
    (path,) = entries(folder)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    for _ in range(2):
        assert_same(cached_trace(SUBJECT, make), tape())
        assert make.times == 2


def test_an_entry_under_the_name_of_another_is_not_used(folder):
    cached_trace("another", Making(1))
    (other,) = entries(folder)
    make = Making()
    cached_trace(SUBJECT, make)
    (mine,) = set(entries(folder)) - {other}
    mine.write_bytes(other.read_bytes())
    assert_same(cached_trace(SUBJECT, make), tape())
    assert make.times == 2


def test_machine_code_and_tapes_are_never_confused(folder):
    make = Making()
    cached_trace(SUBJECT, make)
    (mine,) = entries(folder)
    content = mine.read_bytes()
    function = ap.Function(tape(3))
    want = evaluate(function.fused, *(np.ones(array.shape) for array in function.inputs))
    function.compile()
    for path in set(entries(folder)) - {mine}:
        mine.write_bytes(path.read_bytes())
        assert_same(cached_trace(SUBJECT, make), tape())
        path.write_bytes(content)
    assert make.times > 1
    again = ap.Function(tape(3))
    with np.errstate(all="ignore"):
        stored = again(*(np.ones(array.shape) for array in again.inputs))
    np.testing.assert_allclose(stored[0], want[0], rtol=1e-12)


@pytest.mark.parametrize("word", ["off", "0"])
def test_without_a_cache_nothing_is_stored(folder, monkeypatch, word):
    monkeypatch.setenv("APPELL_CACHE", word)
    make = Making()
    for _ in range(2):
        assert_same(cached_trace(SUBJECT, make), tape())
    assert make.times == 2
    assert not folder.exists()


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Path:
    """A separate package with the folders that the hash covers."""
    package = tmp_path / "package"
    for name in ("algebra", "model", "formulate/school", "compile", "dynamics", "kinematics", "control", "describe"):
        (package / name).mkdir(parents=True)
        (package / name / "one.py").write_text("x = 1\n")
    (package / "catalogue.py").write_text("y = 1\n")
    monkeypatch.setattr(source_hashes, "_PACKAGE", package)
    monkeypatch.setattr(source_hashes, "_LOADED", source_hashes.time() + 1000.0)
    return package


@pytest.mark.parametrize(
    "path",
    ["algebra/one.py", "formulate/school/one.py", "dynamics/one.py", "control/one.py", "catalogue.py", "model/two.py"],
)
def test_a_changed_source_changes_the_hash(sources, path):
    before = source_hash.__wrapped__()
    (sources / path).write_text("x = 2\n")
    assert source_hash.__wrapped__() != before


def test_the_sources_of_this_package_have_a_hash():
    assert (source_hashes._PACKAGE / "__init__.py").samefile(ap.__file__)
    assert all((source_hashes._PACKAGE / name).is_dir() for name in source_hashes._FOLDERS)


def test_sources_outside_the_traced_folders_do_not_matter(sources):
    before = source_hash.__wrapped__()
    (sources / "describe" / "one.py").write_text("x = 2\n")
    assert source_hash.__wrapped__() == before


def test_sources_that_changed_after_loading_have_no_hash(sources):
    assert source_hash.__wrapped__() is not None
    later = source_hashes.time() + 2000.0
    os.utime(sources / "model" / "one.py", (later, later))
    assert source_hash.__wrapped__() is None


def test_without_readable_sources_nothing_is_stored(sources, folder, monkeypatch):
    (sources / "model" / "one.py").unlink()
    (sources / "model").rmdir()
    monkeypatch.setattr(trace_cache, "source_hash", source_hash.__wrapped__)
    make = Making()
    assert_same(cached_trace(SUBJECT, make), tape())
    assert not folder.exists()


@pytest.fixture
def always(folder, monkeypatch) -> list[str]:
    """Look up small robots as well; the list holds the names of functions that are traced or differentiated."""
    monkeypatch.setattr(dynamics, "MAX_UNCACHED_NV", 0)
    monkeypatch.setattr(functions, "MIN_CACHED_WORK", 0)
    names: list[str] = []
    for module, name in ((dynamics, "trace"), (functions, "trace"), (functions, "jacobian")):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, real=real: remember(names, real(*given)))
    return names


def remember(names: list[str], made: Tape) -> Tape:
    names.append(made.name)
    return made


def test_the_functions_of_a_robot_are_traced_once_for_several_dynamics(always):
    x = np.random.default_rng(0).uniform(-2, 2, (3, 4, 6))
    stored, traced = [], []
    for _ in range(2):
        dyn = ap.Dynamics(ap.load("puma"))
        stored.append([dyn.inverse_dynamics(*x), *dyn.inverse_dynamics.jacobian("q", "v")(*x)])
        stored[-1].append(dyn.mass_matrix.jacobian("q")(x[0]))
        traced.append(list(always))
    assert {"inverse_dynamics", "inverse_dynamics_dq_dv", "mass_matrix", "mass_matrix_dq"} <= set(traced[0])
    assert traced[1] == traced[0]
    for one, other in zip(*stored, strict=True):
        np.testing.assert_array_equal(one, other)


def test_derived_functions_of_a_stored_function_are_the_same(always):
    first, second = (ap.Dynamics(ap.load("puma")).inverse_dynamics for _ in range(2))
    assert always == ["inverse_dynamics"]
    assert_same(second.tape, first.tape)
    assert second.count() == first.count()
    assert_same(second.columns([0, 2]).tape, first.columns([0, 2]).tape)
    assert_same(second.pullback("q").tape, first.pullback("q").tape)
    assert str(second.tape) == str(first.tape)
    assert_same(pickle.loads(pickle.dumps(second)).tape, first.tape)
    x = np.random.default_rng(0).uniform(-2, 2, (3, 6))
    alone = second.bind()
    alone.q, alone.v, alone.a = x
    alone()
    np.testing.assert_array_equal(alone.tau, first(*x))


def test_different_robots_options_and_functions_have_different_entries(always):
    puma = ap.load("puma")
    cases = [
        (puma, {}),
        (puma.with_gravity([0.0, 0.0, -1.6]), {}),
        (puma.with_payload(0.1), {}),
        (puma.with_free("link6"), {}),
        (puma, {"formulation": "newton-euler"}),
        (puma, {"friction": True}),
        (puma, {"rotors": True}),
        (puma, {"wrenches": ["tool"]}),
        (puma, {"wrenches": ["link3"]}),
        (puma, {"wrenches": ["tool"], "reference": "WORLD"}),
    ]
    traced = [[getattr(ap.Dynamics(robot, **choice), name).tape for robot, choice in cases for name in NAMES]]
    assert len(always) == 2 * len(cases)
    traced += [[getattr(ap.Dynamics(robot, **choice), name).tape for robot, choice in cases for name in NAMES]]
    assert len(always) == 2 * len(cases)
    for one, other in zip(*traced, strict=True):
        assert_same(other, one)


def test_a_custom_formula_is_not_stored(always):
    def mixed_up(equations, q, v, a):
        return {"tau": equations.forces(a, v, q, {})}

    for _ in range(2):
        ap.Dynamics(ap.load("puma")).function("inverse_dynamics", mixed_up)
    assert always == ["inverse_dynamics"] * 2


def test_a_mechanism_of_python_functions_is_not_stored(always):
    for _ in range(2):
        _ = ap.Dynamics(ap.load("five-bar")).inverse_dynamics
    assert always.count("inverse_dynamics") == 2


SCRIPT = """
import appell as ap
from appell.dynamics import dynamics
from appell.compile.cache import trace_cache
dynamics.MAX_UNCACHED_NV, trace_cache.STORED_NODES = 0, 100
function = ap.Dynamics(ap.load("panda")).forward_dynamics
print(function.tape.digest, function.fused.digest, function.count().total)
"""


def test_processes_that_trace_the_same_thing_at_once_all_succeed(folder):
    command = [sys.executable, "-W", "error", "-c", SCRIPT]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(set(printed)) == 1
    assert len(entries(folder)) == 1
    assert len(list(folder.iterdir())) == 2  # the secret among them
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == printed[0]


def test_a_stored_program_is_the_same_as_a_traced_one(always, monkeypatch):
    monkeypatch.setattr(derivatives, "MAX_STRAIGHT_ENTRIES", 0)
    x = np.random.default_rng(0).uniform(-2, 2, (3, 4, 6))
    first, second = (ap.Dynamics(ap.load("puma")).forward_dynamics.jacobian("q", "v") for _ in range(2))
    assert isinstance(first.formula, StoredProgram)
    assert isinstance(second.formula, StoredProgram)
    assert "in_memory" not in vars(second.formula)
    assert second.formula.digest == first.formula.digest
    assert second.fused.digest == fused(first.formula.in_memory).digest
    for one, other in zip(first(*x), second(*x), strict=True):
        np.testing.assert_array_equal(one, other)
    assert "in_memory" not in vars(second.formula)
    assert second.count() == first.count()
    alone = second.bind()
    alone.q, alone.v, alone.tau = x[:, 0]
    alone()
    np.testing.assert_array_equal(alone.da_dq, first(*x)[0][0])
    again = pickle.loads(pickle.dumps(second))
    assert isinstance(again.formula, Program)
    assert "in_memory" not in vars(again.formula)
    np.testing.assert_array_equal(again(*x)[0], first(*x)[0])
