"""The identity of a sweep: its study, its table with the seed, and the version of appell, as hashes.

A study is identified by the text of its functions, without comments and docstrings, and by all user code and values
that this text refers to: other functions, classes, modules, constants, values of a closure. Installed functions are
identified by their names, those of appell by their public names, so that modules of appell may move. Not included are
files that a study reads; objects without a content hash; names that a function declares `global`, because the function
fills them itself; and lists and dicts that are empty or hold objects without a content hash.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appell import __version__
from appell.compile.cache.content_hash import content_hash
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, Hint
from appell.sweeps.jobs import Jobs

FORMAT = 2  # version of the store; in version 1, functions of appell were identified by their modules


@dataclass(frozen=True)
class Identity:
    """The identity of a sweep: hashes of its study and table, and the versions of appell and of the store format."""

    study: str  # name of the study
    parts: dict[str, str]  # hashes of the functions and values that make up the study, by name
    table: str  # hash of the table and the seed
    version: str = __version__
    format: int = FORMAT

    @staticmethod
    def of(study: Callable[..., Any], jobs: Jobs) -> Identity:
        """Return the identity of a study and its jobs."""
        return Identity(getattr(study, "__name__", type(study).__name__), study_hashes(study), jobs.digest)

    def refuse(self, stored: Identity, path: Path, accept_study: bool) -> None:
        """Raise ArgumentError if a store belongs to another sweep.

        Parameters
        ----------
        stored : identity of the store
        path : path of the store, for messages
        accept_study : whether another version of the study is accepted; the table must be the same in any case
        """
        expected = "another out=..., or the study and table of the store"
        if self.table != stored.table:
            raise ArgumentError(f"the store '{path}' belongs to another table or seed.", expected=expected)
        if accept_study:
            return
        if self.study != stored.study:
            raise ArgumentError(
                f"the store '{path}' belongs to the study '{stored.study}', not '{self.study}'.", expected=expected
            )
        if self.format != stored.format:
            raise ArgumentError(
                f"the store '{path}' has format {stored.format}, which identifies functions of appell by modules that "
                "have moved since, so changes of the study cannot be detected.",
                expected=f"a store of format {self.format}, or another out=...",
                hint=Hint(
                    "Pass {accept_study} to continue it if the study has not changed; its results can be read anyway.",
                    accept_study=True,
                ),
            )
        names = dict.fromkeys((*self.parts, *stored.parts))
        changed = [name for name in names if self.parts.get(name) != stored.parts.get(name)]
        if changed:
            raise ArgumentError(
                f"the store '{path}' belongs to another version of the study '{self.study}': "
                f"{', '.join(changed)} changed.",
                expected=expected,
                hint=Hint("Pass {accept_study} if the stored results are still valid.", accept_study=True),
            )
        if self.version != stored.version:
            raise ArgumentError(
                f"the store '{path}' was written by appell {stored.version}, not {self.version}.",
                expected=expected,
                hint=Hint("Pass {accept_study} if the versions give the same results.", accept_study=True),
            )


# ---- hashes of the study

_FOLDERS = [path for name, path in sysconfig.get_paths().items() if name in ("stdlib", "purelib", "platlib")]
_INSTALLED = tuple(str(Path(folder).resolve()) for folder in _FOLDERS)


def study_hashes(study: Callable[..., Any]) -> dict[str, str]:
    """Return the hashes of a study and of everything it refers to, by name."""
    hashes: dict[str, str] = {}
    _add_hashes(getattr(study, "__name__", type(study).__name__), study, hashes, {})
    return hashes


def user_modules(study: Callable[..., Any]) -> list[types.ModuleType]:
    """Return the user's modules that define functions of a study; workers may not have them."""
    modules: dict[str, types.ModuleType] = {}
    seen: dict[int, Any] = {}
    waiting: list[Any] = [study]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item
        name = item.__name__ if isinstance(item, types.ModuleType) else getattr(item, "__module__", None)
        module = sys.modules.get(name or "")
        if module is not None and _is_user_module(module) and name != "__main__":
            modules[module.__name__] = module
        waiting += [value for _, value in _references(item)]
    return list(modules.values())


def _add_hashes(name: str, item: Any, hashes: dict[str, str], seen: dict[int, Any]) -> None:
    """Add the hashes of an item and of everything it refers to; a further item of the same name gets a prime."""
    if id(item) in seen:
        return
    seen[id(item)] = item  # a reference, so that no other object gets the same id
    while name in hashes:
        name += "'"
    if isinstance(item, types.ModuleType):
        hashes[name] = _hash(Path(str(item.__file__)).read_text("utf-8")) if _is_user_module(item) else item.__name__
    elif (text := _text(item)) is not None:
        hashes[name] = _hash(text)
        for inner, value in _references(item):
            _add_hashes(inner, value, hashes, seen)
    elif isinstance(item, (type, types.FunctionType, types.BuiltinFunctionType)) or hasattr(item, "__wrapped__"):
        hashes[name] = _public_name(item)
    elif isinstance(item, Dynamics):
        hashes[name] = str(content_hash(item.system, item.choice, item.wrenches))
    elif (value := _value(item)) is not None:
        hashes[name] = value
        if _is_user_module(sys.modules.get(type(item).__module__)):
            _add_hashes(type(item).__name__, type(item), hashes, seen)


def _public_name(item: Any) -> str:
    """Return the name of an installed function or class; for appell without its module, which may change."""
    module = item.__module__
    return f"appell.{item.__qualname__}" if _is_of_appell(module) else f"{module}.{item.__qualname__}"


def _value(item: Any) -> str | None:
    """Return a hash or text of a value; None for containers that jobs may fill, which are not part of the study."""
    text = content_hash(item)
    if isinstance(item, (dict, list, set)) and (text is None or not item):
        return None
    if text is None:
        text = repr(item)
        text = type(item).__qualname__ if " at 0x" in text else text
    return text


def _text(item: Any) -> str | None:
    """Return the source of a function or class of the user without comments and docstrings; None for others."""
    if isinstance(item, functools.partial):
        return "partial"
    if isinstance(item, types.MethodType):
        return "method"
    plain = _unwrapped(item)
    if not isinstance(plain, (types.FunctionType, type)) or not _is_user_module(sys.modules.get(plain.__module__)):
        return None
    try:
        return ast.unparse(_without_docstrings(ast.parse(textwrap.dedent(inspect.getsource(plain)))))
    except (OSError, TypeError, SyntaxError):  # defined at a prompt, or in part of a line
        return "\n".join(_instructions(plain.__code__)) if isinstance(plain, types.FunctionType) else plain.__qualname__


def _references(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values that a function, method or class refers to."""
    if isinstance(item, functools.partial):
        yield getattr(item.func, "__name__", "function"), item.func
        yield "arguments", (item.args, item.keywords)
        return
    if isinstance(item, types.MethodType):
        yield item.__func__.__qualname__, item.__func__
        yield "object", item.__self__
        return
    plain = _unwrapped(item)
    if isinstance(plain, type) and _is_user_module(sys.modules.get(plain.__module__)):
        for value in vars(plain).values():
            if isinstance(_unwrapped(value), types.FunctionType):
                yield value.__qualname__, value
    if not isinstance(plain, types.FunctionType) or not _is_user_module(sys.modules.get(plain.__module__)):
        return
    declared_global = _declared_global(plain)
    for name in dict.fromkeys(_names(plain.__code__)):
        if name in plain.__globals__ and name not in declared_global:
            yield name, plain.__globals__[name]
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # the cell has no value yet
            continue
    yield f"defaults of {plain.__qualname__}", (plain.__defaults__, plain.__kwdefaults__)


def _unwrapped(item: Any) -> Any:
    return inspect.unwrap(item) if callable(item) and hasattr(item, "__wrapped__") else item


def _is_user_module(module: types.ModuleType | None) -> bool:
    """Return whether a module is user code: neither part of appell nor of an installed package."""
    if module is None or module.__name__ == "__main__":
        return True
    file = getattr(module, "__file__", None)
    if file is None or _is_of_appell(module.__name__):
        return False
    path = str(Path(file).resolve())
    return not path.startswith(_INSTALLED)


def _is_of_appell(module: str | None) -> bool:
    return str(module).partition(".")[0] == "appell"


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _declared_global(function: types.FunctionType) -> set[str]:
    """Return the names that a function declares `global`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return set()
    return {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> Iterator[str]:
    for each in _codes(code):
        yield from each.co_names


def _instructions(code: types.CodeType) -> Iterator[str]:
    for each in _codes(code):
        plain = [repr(constant) for constant in each.co_consts if not isinstance(constant, types.CodeType)]
        yield f"{each.co_code.hex()} {plain} {each.co_names}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
