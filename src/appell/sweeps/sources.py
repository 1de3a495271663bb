"""Sources of the user's modules: their statements by the names that they define, without comments and docstrings."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_LIBRARIES = tuple(str(Path(path).resolve()) for name, path in sysconfig.get_paths().items() if "lib" in name)
_MUTATORS = frozenset({"add", "append", "clear", "extend", "insert", "pop", "popitem", "setdefault", "update"})


def text_hash(*texts: str) -> str:
    """Return the hash of some texts."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Source:
    """A module's text without comments, docstrings and what it does only as the main program."""

    statements: dict[str, str]  # text of all statements that define a global, by its name
    rest: str  # other statements, and the order of all
    changed: frozenset[str]  # globals that functions of the module change
    code: types.CodeType

    @staticmethod
    def of(file: Path) -> Source:
        """Return the source of a file; a compiled module is one statement."""
        if file.suffix != ".py":
            return Source({}, text_hash(file.read_bytes().hex()), frozenset(), compile("", str(file), "exec"))
        tree = ast.parse(file.read_bytes())
        tree.body = [x for x in tree.body if not _is_main_program(x)]
        _remove_docstrings(tree)
        statements: dict[str, str] = {}
        rest = []
        for statement in tree.body:
            names = sorted(_defined(statement))
            rest.append(" ".join(names) or ast.unparse(statement))
            for name in names:
                statements[name] = f"{statements.get(name, '')}{ast.unparse(statement)}\n"
        functions = [x for x in ast.walk(tree) if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))]
        changed = frozenset(name for function in functions for name in _changed(function))
        return Source(statements, "\n".join(rest), changed, compile(tree, str(file), "exec"))


def _is_main_program(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.If)
        and ast.unparse(statement.test) == "__name__ == '__main__'"
        and not statement.orelse
    )


def _defined(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module defines, or whose value it changes in place."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
    yield from _changed(statement)


def _changed(tree: ast.AST) -> Iterator[str]:
    """Yield the names that are declared global, or whose items, attributes or content are changed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            stored = not isinstance(node.ctx, ast.Load)
            if stored or (isinstance(node, ast.Attribute) and node.attr in _MUTATORS):
                base: ast.AST = node
                while isinstance(base, (ast.Subscript, ast.Attribute)):
                    base = base.value
                if isinstance(base, ast.Name):
                    yield base.id


def function_tree(code: types.CodeType) -> ast.AST | None:
    """Return the source of a function without docstrings; None if it was defined at a prompt or within a line."""
    try:
        return _remove_docstrings(ast.parse(textwrap.dedent(inspect.getsource(code))))
    except (OSError, TypeError, SyntaxError):
        return None


def _remove_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.fix_missing_locations(tree)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def module_file(name: str) -> Path | None:
    """Return the file of a module; None if it has none, or does not exist."""
    module = sys.modules.get(name)
    try:
        origin = module.__file__ if module is not None else importlib.util.find_spec(name).origin  # type: ignore[union-attr]
        return Path(str(origin)) if origin and Path(origin).is_file() else None
    except (AttributeError, ImportError, ValueError):
        return None


def is_user_module(name: str | None) -> bool:
    """Return whether a module is user code: neither part of appell nor of an installed package."""
    if name == "__main__":
        return True
    if not name or name.partition(".")[0] == "appell":
        return False
    file = module_file(name)
    if file is None:  # a folder without __init__.py, or a module that was created without a file
        module = sys.modules.get(name)
        return module is not None and name not in sys.builtin_module_names and getattr(module, "__spec__", 0) is None
    return not _is_in_a_library(str(file))


@functools.cache
def _is_in_a_library(file: str) -> bool:
    path = Path(file).resolve()
    return str(path).startswith(_LIBRARIES) or bool({"site-packages", "dist-packages"} & set(path.parts))


@functools.cache
def package_version(package: str) -> str:
    """Return the version of the distribution that provides a package."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:  # the distribution has another name; finding it takes longer
        names = metadata.packages_distributions().get(package, ())
    return " ".join(f"{name} {metadata.version(name)}" for name in sorted(set(names))) or "unknown"
