"""The content of a study as hashes, by the names of its parts.

A study is told by the text of its functions, without comments, and by all that this text names and that is the user's
own: other functions, classes, modules, constants, what a closure holds. What is installed counts by its name alone. Not
seen are files that a study reads and objects whose content cannot be told; a name that a function says to be `global`
is one that it fills itself, and is left out, and so is a list or dict that is empty or holds what cannot be told.
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
from pathlib import Path
from typing import Any

from appell.compile.content import content
from appell.dynamics import Dynamics

_FOLDERS = [path for name, path in sysconfig.get_paths().items() if name in ("stdlib", "purelib", "platlib")]
_INSTALLED = tuple(str(Path(folder).resolve()) for folder in _FOLDERS)


def told(study: Callable[..., Any]) -> dict[str, str]:
    """Hashes of a study and of what it names, by their names."""
    found: dict[str, str] = {}
    _tell(getattr(study, "__name__", type(study).__name__), study, found, {})
    return found


def own_modules(study: Callable[..., Any]) -> list[types.ModuleType]:
    """The user's modules in which the functions of a study live; workers may not have them."""
    found: dict[str, types.ModuleType] = {}
    seen: dict[int, Any] = {}
    waiting: list[Any] = [study]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
        module = sys.modules.get(name or "")
        if module is not None and _is_own(module) and name != "__main__":
            found[module.__name__] = module
        waiting += [value for _, value in _named(thing)]
    return list(found.values())


def _tell(name: str, thing: Any, found: dict[str, str], seen: dict[int, Any]) -> None:
    """Add the hashes of one thing and of all that it names; a second thing of a name is marked."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing  # kept, so that no other gets its id
    while name in found:
        name += "'"
    if isinstance(thing, types.ModuleType):
        found[name] = _hash(Path(str(thing.__file__)).read_text("utf-8")) if _is_own(thing) else thing.__name__
    elif (text := _text(thing)) is not None:
        found[name] = _hash(text)
        for inner, value in _named(thing):
            _tell(inner, value, found, seen)
    elif isinstance(thing, (type, types.FunctionType, types.BuiltinFunctionType)) or hasattr(thing, "__wrapped__"):
        found[name] = f"{thing.__module__}.{thing.__qualname__}"
    elif isinstance(thing, Dynamics):
        found[name] = str(content(thing.system, thing.choice, thing.wrenches))
    elif (value := _value(thing)) is not None:
        found[name] = value
        if _is_own(sys.modules.get(type(thing).__module__)):
            _tell(type(thing).__name__, type(thing), found, seen)


def _value(thing: Any) -> str | None:
    """What tells a value from others, None for what is, or may be, filled while jobs run: no part of the study."""
    told = content(thing)
    if isinstance(thing, (dict, list, set)) and (told is None or not thing):
        return None
    if told is None:
        told = repr(thing)
        told = type(thing).__qualname__ if " at 0x" in told else told
    return told


def _text(thing: Any) -> str | None:
    """The program of a function or class of the user's own, without comments; None if it is no such."""
    if isinstance(thing, functools.partial):
        return "partial"
    if isinstance(thing, types.MethodType):
        return "method"
    plain = _unwrapped(thing)
    if not isinstance(plain, (types.FunctionType, type)) or not _is_own(sys.modules.get(plain.__module__)):
        return None
    try:
        return ast.unparse(_without_docstrings(ast.parse(textwrap.dedent(inspect.getsource(plain)))))
    except (OSError, TypeError, SyntaxError):  # typed at a prompt, or a part of a line
        return "\n".join(_instructions(plain.__code__)) if isinstance(plain, types.FunctionType) else plain.__qualname__


def _named(thing: Any) -> Iterator[tuple[str, Any]]:
    """What a function, method or class names."""
    if isinstance(thing, functools.partial):
        yield getattr(thing.func, "__name__", "function"), thing.func
        yield "arguments", (thing.args, thing.keywords)
        return
    if isinstance(thing, types.MethodType):
        yield thing.__func__.__qualname__, thing.__func__
        yield "object", thing.__self__
        return
    plain = _unwrapped(thing)
    if isinstance(plain, type) and _is_own(sys.modules.get(plain.__module__)):
        for value in vars(plain).values():
            if isinstance(_unwrapped(value), types.FunctionType):
                yield value.__qualname__, value
    if not isinstance(plain, types.FunctionType) or not _is_own(sys.modules.get(plain.__module__)):
        return
    filled = _filled(plain)
    for name in dict.fromkeys(_names(plain.__code__)):
        if name in plain.__globals__ and name not in filled:
            yield name, plain.__globals__[name]
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield f"defaults of {plain.__qualname__}", (plain.__defaults__, plain.__kwdefaults__)


def _unwrapped(thing: Any) -> Any:
    return inspect.unwrap(thing) if callable(thing) and hasattr(thing, "__wrapped__") else thing


def _is_own(module: types.ModuleType | None) -> bool:
    """Whether a module is the user's: no part of appell or of what is installed."""
    if module is None or module.__name__ == "__main__":
        return True
    file = getattr(module, "__file__", None)
    if file is None or module.__name__.partition(".")[0] == "appell":
        return False
    path = str(Path(file).resolve())
    return not path.startswith(_INSTALLED)


def _without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _filled(function: types.FunctionType) -> set[str]:
    """The names that a function declares to be global."""
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
