"""The identity of a sweep: its study, its table with the seed, and the version of appell, as hashes.

A study is identified by the text of its functions, without comments, and by everything in this text that is the user's
own: other functions, classes, modules, constants, values of a closure. Installed functions count by their names alone,
those of appell by their public names, so that a module of appell may move. Files that a study reads are not seen, nor
objects without content. Names that a function declares to be `global` are filled by the function itself and left out,
as are lists and dicts that are empty or hold objects without content.
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

FORMAT = 2  # of stores; 1 named functions of appell by their modules


@dataclass(frozen=True)
class Identity:
    """A sweep as hashes: `parts` are those of the study, by name; `format` is that of the store."""

    study: str  # its name
    parts: dict[str, str]
    table: str
    version: str = __version__
    format: int = FORMAT

    @staticmethod
    def of(study: Callable[..., Any], jobs: Jobs) -> Identity:
        return Identity(getattr(study, "__name__", type(study).__name__), study_hashes(study), jobs.digest)

    def refuse(self, stored: Identity, path: Path, accept_study: bool) -> None:
        """Raise if a store is of another sweep."""
        where = f"the store '{path}' belongs to another"
        another = "another out=..., or the study and table that it was made with"
        if self.table != stored.table:
            raise ArgumentError(f"{where} table than the one given.", expected=another)
        if accept_study:
            return
        if self.study != stored.study:
            raise ArgumentError(f"{where} study: '{stored.study}', not '{self.study}'.", expected=another)
        if self.format != stored.format:
            raise ArgumentError(
                f"the store '{path}' has format {stored.format}, which names functions of appell by modules that have "
                "moved since: whether the study has changed cannot be checked.",
                expected=f"a store of format {self.format}, or another out=...",
                hint=Hint(
                    "{accept_study} to continue it if the study has not changed; its results can be read",
                    accept_study=True,
                ),
            )
        names = dict.fromkeys((*self.parts, *stored.parts))
        changed = [name for name in names if self.parts.get(name) != stored.parts.get(name)]
        if changed:
            raise ArgumentError(
                f"{where} version of the study '{self.study}': {', '.join(changed)} changed.",
                expected=another,
                hint=Hint(
                    "{accept_study} if what is stored is as good as what it would compute now", accept_study=True
                ),
            )
        if self.version != stored.version:
            raise ArgumentError(
                f"{where} version of appell: {stored.version}, not {self.version}.",
                expected=another,
                hint=Hint("{accept_study} if that makes no difference to the study", accept_study=True),
            )


# ---- the study as hashes

_FOLDERS = [path for name, path in sysconfig.get_paths().items() if name in ("stdlib", "purelib", "platlib")]
_INSTALLED = tuple(str(Path(folder).resolve()) for folder in _FOLDERS)


def study_hashes(study: Callable[..., Any]) -> dict[str, str]:
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
        found[name] = _public_name(thing)
    elif isinstance(thing, Dynamics):
        found[name] = str(content_hash(thing.system, thing.choice, thing.wrenches))
    elif (value := _value(thing)) is not None:
        found[name] = value
        if _is_own(sys.modules.get(type(thing).__module__)):
            _tell(type(thing).__name__, type(thing), found, seen)


def _public_name(thing: Any) -> str:
    """The name of an installed function or class; of appell without the module, which may move."""
    module = thing.__module__
    return f"appell.{thing.__qualname__}" if _is_of_appell(module) else f"{module}.{thing.__qualname__}"


def _value(thing: Any) -> str | None:
    """A hash or text of a value; None for what is, or may be, filled while jobs run, and is not a part of the study."""
    text = content_hash(thing)
    if isinstance(thing, (dict, list, set)) and (text is None or not thing):
        return None
    if text is None:
        text = repr(thing)
        text = type(thing).__qualname__ if " at 0x" in text else text
    return text


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
