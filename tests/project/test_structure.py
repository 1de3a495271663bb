"""What holds the project together: exported names exist, tables are complete, imports are cheap, no stray paths."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import appell
from appell.compile.count import COST
from appell.compile.differentiate import DERIVATIVE
from appell.compile.emit.arithmetic import EMIT
from appell.compile.emit.spoilt import CARRIED
from appell.compile.evaluate import MEANING
from appell.compile.export.c.statements import OPERATIONS
from appell.compile.graph import CONSTRUCTORS
from appell.compile.ops import ARITY, Op

ROOT = Path(__file__).resolve().parents[2]
LEAVES = {Op.CONST, Op.INPUT}
FUSED = {Op.FMA, Op.FMS, Op.FNMA}  # made by `fuse`, the last pass: nothing builds or differentiates them
GROUPED = {Op.SIN, Op.COS}  # emitted in groups behind one guard, by `emit.body`


@pytest.mark.parametrize("name", appell.__all__)
def test_a_public_name_exists(name):
    assert getattr(appell, name) is not None


def test_public_names_are_sorted_and_listed_once():
    capitals_first = sorted(appell.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert appell.__all__ == capitals_first
    assert set(appell._LATER) <= set(appell.__all__)


@pytest.mark.parametrize("name", appell._LATER)
def test_a_name_that_is_imported_later_exists(name):
    module, attribute = appell._LATER[name]
    found = importlib.import_module(module)
    assert getattr(appell, name) is (found if attribute is None else getattr(found, attribute))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'no_such_thing'"):
        _ = appell.no_such_thing


@pytest.mark.parametrize(
    ("table", "apart"),
    [
        (ARITY, set()),
        (COST, set()),
        (MEANING, LEAVES),
        (CONSTRUCTORS, LEAVES | FUSED),
        (DERIVATIVE, LEAVES | FUSED),
        (EMIT, LEAVES | GROUPED),
        (CARRIED, LEAVES),
        (OPERATIONS, LEAVES | GROUPED),
    ],
    ids=["ARITY", "COST", "MEANING", "CONSTRUCTORS", "DERIVATIVE", "EMIT", "CARRIED", "OPERATIONS"],
)
def test_every_op_is_in_every_table(table, apart):
    assert set(table) == set(Op) - apart


def test_every_derivative_has_a_row_for_each_operand():
    assert {op: len(rules) for op, rules in DERIVATIVE.items()} == {op: ARITY[op] for op in DERIVATIVE}


def test_nobody_outside_compile_touches_a_node():
    """Tapes are spliced, cut and differentiated by name; instructions and graphs are the compiler's own."""
    inside = re.compile(r"appell\.compile\.(graph|ops|passes\.fold)\b|\bimport (Graph|Op)\b|\btape\.nodes\b")
    outside = [path for path in (ROOT / "src" / "appell").rglob("*.py") if "compile" not in path.parts]
    assert len(outside) > 100
    assert [path.name for path in outside if inside.search(path.read_text(encoding="utf-8"))] == []


def test_importing_appell_imports_nothing_heavy():
    program = "import appell, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"scipy", "matplotlib", "pinocchio", "typer", "rich", "pandas", "cvxpy"}
    assert heavy.isdisjoint(json.loads(done.stdout))


def test_appell_runs_without_pinocchio():
    program = (
        "import sys; sys.modules['pinocchio'] = None\n"
        "import appell as ap; print(ap.Dynamics(ap.load('pendulum')).gravity([0.0]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[0.]"


def test_no_file_names_a_place_on_somebodys_machine():
    """Paths that only exist on one computer; a reader elsewhere cannot follow them."""
    place = re.compile(rb"(?<![\w.])/(?:home|root|Users|work|tmp)/\w")
    found = []
    for path in tracked_files():
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            if place.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}")
    assert found == []


def test_there_is_no_unfinished_work_in_the_code():
    unfinished = re.compile(r"\b(TODO|FIXME|XXX)\b")
    sources = [path for path in tracked_files() if path.suffix == ".py" and "src" in path.parts]
    assert [path.name for path in sources if unfinished.search(path.read_text(encoding="utf-8"))] == []


def tracked_files() -> list[Path]:
    """The text files of the project, by git where there is git."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        paths = [ROOT / line for line in listed.stdout.splitlines()]
    else:
        folders = ("src", "tests", "docs", "examples", "benchmarks")
        paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
    return [path for path in paths if path.is_file() and path.suffix not in (".png", ".jpg", ".gz")]


SOURCES = sorted((ROOT / "src" / "appell").rglob("*.py"))


def public_classes(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def test_no_two_public_classes_share_a_name():
    owners: dict[str, list[str]] = {}
    for path in SOURCES:
        for name in public_classes(path):
            owners.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in owners.items() if len(where) > 1} == {}


def test_no_name_of_a_package_hides_a_module_of_it():
    hidden = []
    for path in (path for path in SOURCES if path.name == "__init__.py"):
        package = ".".join(("appell", *path.parent.relative_to(ROOT / "src" / "appell").parts))
        modules = {other.stem for other in path.parent.glob("*.py")}
        given = vars(importlib.import_module(package))
        hidden += [f"{package}.{name}" for name in modules & set(given) if not isinstance(given[name], ModuleType)]
    assert hidden == []


@pytest.mark.parametrize(
    "chapter", ["", ".motion", ".motion.inverse", ".simulation", ".control", ".identify", ".sweeps"]
)
def test_every_public_class_and_function_says_what_it_is(chapter):
    module = importlib.import_module("appell" + chapter)
    named = {name: getattr(module, name) for name in module.__all__}
    things = {name: x for name, x in named.items() if isinstance(x, (type, FunctionType))}
    bare = [
        name for name, x in things.items() if not x.__doc__ or x.__doc__.startswith(f"{name}(")
    ]  # a dataclass's own
    assert bare == []


def test_a_file_holds_one_idea():
    """What grows past three hundred lines usually holds two."""
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > 300} == {}
