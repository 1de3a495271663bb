"""Structure of the project: exported names exist, tables are complete, imports are cheap, no machine paths."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import appell
from appell.compile.c.statements import OPERATIONS
from appell.compile.llvm.arithmetic import EMIT
from appell.compile.llvm.body import PROPAGATING
from appell.compile.tape.count import COST
from appell.compile.tape.differentiate import DERIVATIVE
from appell.compile.tape.evaluate import MEANING
from appell.compile.tape.graph import CONSTRUCTORS
from appell.compile.tape.ops import ARITY, Op

ROOT = Path(__file__).resolve().parents[2]
LEAVES = {Op.CONST, Op.INPUT}
FUSED = {Op.FMA, Op.FMS, Op.FNMA}  # introduced by `fuse`, the last pass: nothing constructs or differentiates them
GROUPED = {Op.SIN, Op.COS}  # emitted in groups behind one guard, by `llvm.body`


def test_public_names_exist_and_are_sorted_and_listed_once():
    assert all(getattr(appell, name) is not None for name in appell.__all__)
    assert appell.__all__ == sorted(set(appell.__all__))


def test_a_missing_name_is_an_attribute_error():
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
        (PROPAGATING, LEAVES),
        (OPERATIONS, LEAVES | GROUPED),
    ],
    ids=["ARITY", "COST", "MEANING", "CONSTRUCTORS", "DERIVATIVE", "EMIT", "PROPAGATING", "OPERATIONS"],
)
def test_every_op_is_in_every_table(table, apart):
    assert set(table) == set(Op) - apart


def test_every_derivative_has_a_row_for_each_operand():
    assert {op: len(rules) for op, rules in DERIVATIVE.items()} == {op: ARITY[op] for op in DERIVATIVE}


def test_no_module_outside_compile_uses_nodes():
    """Other packages splice, cut and differentiate tapes by name; instructions and graphs belong to the compiler."""
    inside = re.compile(r"appell\.compile\.tape\.(graph|ops|fold)\b|\bimport (Graph|Op)\b|\btape\.nodes\b")
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


def test_no_file_contains_a_path_of_one_machine():
    """Home, root and temporary folders exist on one computer only."""
    machine_path = re.compile(rb"(?<![\w.])/(?:home|root|Users|work|tmp)/\w")
    matches = []
    for path in tracked_files():
        for number, line in enumerate(path.read_bytes().splitlines(), start=1):
            if machine_path.search(line):
                matches.append(f"{path.relative_to(ROOT)}:{number}")
    assert matches == []


def test_there_is_no_unfinished_work_in_the_code():
    unfinished = re.compile(r"\b(TODO|FIXME|XXX)\b")
    sources = [path for path in tracked_files() if path.suffix == ".py" and "src" in path.parts]
    assert [path.name for path in sources if unfinished.search(path.read_text(encoding="utf-8"))] == []


def tracked_files() -> list[Path]:
    """Return the text files of the project: in a clone those known to git, otherwise all."""
    if (ROOT / ".git").exists() and (git := shutil.which("git")):
        command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
        paths = [ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name]
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
    "chapter",
    [
        "",
        ".motion",
        ".kinematics",
        ".kinematics.inverse",
        ".show",
        ".hardware",
        ".simulation",
        ".control",
        ".identify",
        ".sweeps",
    ],
)
def test_every_public_class_and_function_has_a_docstring(chapter):
    module = importlib.import_module("appell" + chapter)
    named = {name: getattr(module, name) for name in module.__all__}
    things = {name: x for name, x in named.items() if isinstance(x, (type, FunctionType))}
    bare = [
        name for name, x in things.items() if not x.__doc__ or x.__doc__.startswith(f"{name}(")
    ]  # a dataclass's own
    assert bare == []


def loaded_with(path: Path, modules: set[str]) -> set[str]:
    """Return the modules of appell that a module imports at its top level, without imports for type checkers."""
    nodes, loaded = list(ast.parse(path.read_text(encoding="utf-8")).body), set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            named = {f"{node.module}.{alias.name}" for alias in node.names}
            loaded |= {name if name in modules else node.module for name in named}
        elif isinstance(node, ast.Import):
            loaded |= {alias.name for alias in node.names}
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and "TYPE_CHECKING" not in ast.unparse(
            getattr(node, "test", node) if isinstance(node, ast.If) else ast.Pass()
        ):
            nodes += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return loaded & modules


def test_no_module_imports_itself_through_others():
    sources = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for root in (ROOT / "src", ROOT / "lab")
        for path in root.glob("appell*/**/*.py")
    }
    sorter = TopologicalSorter({name: loaded_with(path, set(sources)) - {name} for name, path in sources.items()})
    sorter.prepare()  # raises CycleError, which lists the modules of a cycle
