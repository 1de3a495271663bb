"""The identity of a sweep: its study, its table with the seed, and the version of appell, as hashes.

The study is followed from object to object:

- A function of the user counts with its source, without comments and docstrings, its closure, defaults and attributes,
  and the globals that it names; a class with its source, bases and attributes.
- Any other user module, reached as a value or by an import statement in the code, counts as a whole: its statements
  and values, and the modules that it imports in turn.
- Containers and objects count with their content, as pickling would read it.
- Installed packages count with their versions.

A global that functions of its module change, such as a cache, or that cannot be pickled, such as a lock, counts with
the statements that define it. What cannot be identified at all is refused. Files that a study reads do not count.
"""

from __future__ import annotations

import ast
import dis
import functools
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appell import __version__
from appell.compile.cache.content_hash import content_hash
from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, Hint
from appell.sweeps.jobs import Jobs
from appell.sweeps.sources import Source, codes, function_tree, is_user_module, module_file, package_version, text_hash

FORMAT = 3  # version of the store; versions 1 and 2 did not include all code and values of a study


@dataclass(frozen=True)
class Identity:
    """The identity of a sweep: hashes of its study and table, and the versions of appell and of the store format."""

    study: str  # name of the study
    parts: dict[str, str]  # hashes of the code, values and versions that make up the study, by name
    table: str  # hash of the table and the seed
    version: str = __version__
    format: int = FORMAT

    @staticmethod
    def of(study: Callable[..., Any], jobs: Jobs, accept_study: bool = False) -> Identity:
        """Return the identity of a study and its jobs; `accept_study` also accepts what cannot be hashed."""
        return Identity(_name(study), study_hashes(study, accept_study), jobs.digest)

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
                f"the store '{path}' has format {stored.format}, which does not identify all code and values of a "
                "study, so changes of the study cannot be detected.",
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


def study_hashes(study: Callable[..., Any], accept: bool = False) -> dict[str, str]:
    """Return the hashes of a study and of everything it refers to, by name; `accept` skips what cannot be hashed."""
    return _Study(study, accept).parts


def user_modules(study: Callable[..., Any]) -> list[types.ModuleType]:
    """Return the user's modules that a study refers to; workers may not have them."""
    names = _Study(study, accept=True).modules
    return [sys.modules[name] for name in sorted(names) if name != "__main__" and name in sys.modules]


# ---- the study

_PLAIN = frozenset({str, bytes, int, float, complex, bool, range, types.NoneType, types.EllipsisType})
_REACHING_ALL_NAMES = frozenset({"eval", "exec", "globals", "vars"})
_IMPORTERS = frozenset({"import_module", "__import__"})


class _NoContentError(Exception):
    """An object has no content that can be hashed."""


class _Study:
    """The parts of a study: `parts` has their hashes by name, `modules` the names of the user's modules."""

    def __init__(self, study: Callable[..., Any], accept: bool):
        self.accept, self.parts, self.modules = accept, {"Python": "{}.{}".format(*sys.version_info)}, set[str]()
        self.complete: set[str] = set()  # modules that count as a whole
        self.added: set[tuple[str, int]] = set()
        self.digests: dict[int, tuple[Any, str]] = {}  # by id, with a reference, so that no other object gets the id
        self.open: list[int] = []  # ids of the objects that contain the present one
        self.sources: dict[str, Source | None] = {}
        self.root = _module_of(study)  # the module whose globals count only if the study refers to them
        self._add(_name(study), study)

    def _add(self, name: str, item: Any, source: str | None = None) -> None:
        """Add a part; `source` stands for an item without content. A further part of the same name gets a prime."""
        if id(item) in self.open or (name, id(item)) in self.added:
            return
        self.added.add((name, id(item)))
        try:
            digest = self._digest(item)
        except (_NoContentError, RecursionError) as error:
            if source is None and not self.accept:
                raise ArgumentError(
                    f"'{name}' of the study contains {error}, whose content cannot be hashed, so changes of it cannot "
                    "be detected.",
                    expected="functions, modules, and values that can be pickled",
                    hint=Hint("Create it in the study itself, or pass {accept_study}.", accept_study=True),
                ) from None
            digest = text_hash(source or type(item).__qualname__)
        while name in self.parts:
            name += "'"
        self.parts[name] = digest

    def _digest(self, item: Any) -> str:
        """Return the hash of the content of an object; equal content gives equal hashes in every process."""
        if type(item) in _PLAIN:
            return f"{type(item).__name__} {item!r}"
        if id(item) in self.open:
            return f"cycle {len(self.open) - self.open.index(id(item))}"
        if id(item) not in self.digests:
            self.open.append(id(item))
            try:
                self.digests[id(item)] = item, text_hash(*self._content(item))
            finally:
                self.open.pop()
        return self.digests[id(item)][1]

    def _content(self, item: Any) -> Iterable[str]:
        kind = type(item)
        if isinstance(item, types.ModuleType):
            self._add_module(item.__name__)
            self._add_values(item)
            return [item.__name__]
        if isinstance(item, types.FunctionType):
            return self._function(item)
        if isinstance(item, type):
            return self._class(item)
        if kind in (list, tuple):
            return [kind.__name__, *map(self._digest, item)]
        if kind in (dict, types.MappingProxyType):
            return ["dict", *(self._digest(x) for pair in item.items() for x in pair)]
        if kind in (set, frozenset):
            return ["set", *sorted(map(self._digest, item))]
        if kind is types.CodeType:
            names = " ".join((*item.co_names, *item.co_varnames, *item.co_freevars))
            return [item.co_code.hex(), names, *map(self._digest, item.co_consts)]
        if kind is Dynamics:
            return ["Dynamics", *map(self._digest, (item.system, item.choice, item.wrenches))]
        if (text := content_hash(item.tape if kind is Function else item)) is not None:
            return [text]
        if isinstance(item, (staticmethod, classmethod, property, functools.cached_property)):
            functions = (getattr(item, name, None) for name in ("__func__", "fget", "fset", "func"))
            return [kind.__name__, *map(self._digest, functions)]
        if hasattr(item, "__wrapped__") and not is_user_module(kind.__module__):  # by functools.cache, for example
            return [self._installed(kind), self._digest(item.__wrapped__)]
        try:
            if kind.__module__ == "weakref":  # caches
                raise TypeError
            reduced = item.__reduce_ex__(4)
        except Exception:  # methods of the user's objects can raise anything
            raise _NoContentError(f"an object of type {kind.__qualname__}") from None
        self._add_version(str(getattr(item, "__module__", None)))
        if isinstance(reduced, str):
            return [reduced, self._digest(kind)]
        build, arguments, state, *rest = (*reduced, None, None, None)[:5]
        if isinstance(state, dict):  # values of a cached_property are set by running a study
            cached = functools.cached_property
            state = {key: x for key, x in state.items() if not isinstance(getattr(kind, str(key), None), cached)}
        return map(self._digest, (build, arguments, state, *(None if x is None else list(x) for x in rest)))

    # ---- functions and classes

    def _function(self, function: types.FunctionType) -> list[str]:
        code, name = function.__code__, function.__qualname__
        module = function.__globals__.get("__name__")  # `__module__` of a decorated function may be another one
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        values = {key: value for key, cell in cells for value in _cell_values(cell)}
        if module is not None and not is_user_module(module):
            content = [self._installed(function)]
            for value in values.values():
                with suppress(_NoContentError):
                    content.append(self._digest(value))
            return content
        for key, value in (values | vars(function)).items():
            self._add(key, value)
        if function.__defaults__ or function.__kwdefaults__:
            self._add(f"defaults of {name}", (function.__defaults__, function.__kwdefaults__))
        if module not in (None, self.root):
            self._add_module(module)
            return [module, name]
        self._add_globals(function)
        self._add_imports(code, self.root)
        tree = function_tree(code)
        return [ast.unparse(tree) if tree is not None else self._digest(code)]

    def _class(self, kind: type) -> list[str]:
        if not is_user_module(kind.__module__):
            return [self._installed(kind)]
        content = [kind.__qualname__, *map(self._digest, (*kind.__bases__, type(kind)))]
        if kind.__module__ != self.root:
            self._add_module(kind.__module__)
            return content
        self.modules.add(kind.__module__)
        source = self._source(kind.__module__)
        if source is not None:
            content.append(source.statements.get(kind.__qualname__.partition(".")[0], ""))
        for name, value in vars(kind).items():
            code = getattr(value, "__code__", None)
            if (name.startswith("__") and code is None) or (code is not None and code.co_filename == "<string>"):
                continue  # set by Python, or generated from the other attributes
            if source is None or kind.__name__ not in source.changed:
                with suppress(_NoContentError) if source is not None else nullcontext():
                    content += [name, self._digest(value)]
        return content

    def _installed(self, item: Any) -> str:
        """Return the name of an installed function or class, for appell without its module, which may change."""
        module = str(item.__module__)
        self._add_version(module)
        return f"{'appell' if module.startswith('appell.') else module}.{item.__qualname__}"

    def _add_version(self, module: str) -> None:
        package = module.partition(".")[0]
        if package not in ("None", "appell", *sys.stdlib_module_names) and not is_user_module(module):
            self.parts[f"version of {package}"] = package_version(package)

    # ---- modules

    def _add_globals(self, function: types.FunctionType) -> None:
        """Add the globals to which a function of the root module refers."""
        self.modules.add(self.root)
        source = self._source(self.root) if function.__globals__.get("__name__") == self.root else None
        instructions = [x for code in codes(function.__code__) for x in dis.get_instructions(code)]
        names = {x.argval for x in instructions if x.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        stored = {x.argval for x in instructions if x.opname == "STORE_GLOBAL"}
        attributes = {x for code in codes(function.__code__) for x in code.co_names}
        changed = stored if source is None else source.changed | stored
        for name in sorted((names | stored) & function.__globals__.keys()):
            text = None if source is None else source.statements.get(name)
            value = function.__globals__[name]
            if name not in changed:
                self._add(name, value, text)
            elif text is not None:
                self._add(name, text)
            if isinstance(value, types.ModuleType):  # its submodules are attributes that may be used
                for submodule in [x for x in sys.modules if x.startswith(f"{value.__name__}.")]:
                    if set(submodule.split(".")[1:]) <= attributes and is_user_module(submodule):
                        self._digest(sys.modules[submodule])
        if _REACHING_ALL_NAMES & names:
            self._add_module(self.root)

    def _add_module(self, name: str) -> None:
        """Add all statements of a user module and the modules that it imports, or the version of another module."""
        if not is_user_module(name):
            self._add_version(name)
        elif name not in self.complete:
            self.complete.add(name)
            self.modules.add(name)
            if (source := self._source(name)) is not None:
                self._add(name, source.rest)
                for key, text in source.statements.items():
                    self._add(f"{name}.{key}", text)
                self._add_imports(source.code, name)

    def _add_values(self, module: types.ModuleType) -> None:
        """Add the values of a user module that may differ from its source: data, and what is defined elsewhere."""
        source = self._source(module.__name__) if is_user_module(module.__name__) else None
        for key, value in vars(module).items() if is_user_module(module.__name__) else ():
            defined_here = isinstance(value, (type, types.FunctionType)) and value.__module__ == module.__name__
            if not key.startswith("__") and not (source is not None and (key in source.changed or defined_here)):
                text = None if source is None else source.statements.get(key, "")
                self._add(f"value of {module.__name__}.{key}", value, text)

    def _add_imports(self, code: types.CodeType, module: str) -> None:
        """Add the modules that code of a module imports."""
        package = getattr(sys.modules.get(module), "__package__", None) or module.rpartition(".")[0]
        for each in codes(code):
            instructions = list(dis.get_instructions(each))
            for k, instruction in enumerate(instructions):
                if instruction.opname == "IMPORT_NAME":
                    level, names = instructions[k - 2].argval, instructions[k - 1].argval or ()
                    base = "." * int(level or 0) + instruction.argval
                    imported = importlib.util.resolve_name(base, package) if level else base
                    parts = imported.split(".")
                    for parent in (".".join(parts[: k + 1]) for k in range(len(parts))):
                        self._add_module(parent)
                    for submodule in (f"{imported}.{name}" for name in names):
                        if module_file(submodule) is not None:
                            self._add_module(submodule)
            if _IMPORTERS.intersection(each.co_names):
                for name in each.co_consts:
                    if isinstance(name, str) and name and module_file(name) is not None:
                        self._add_module(name)

    def _source(self, name: str) -> Source | None:
        if name not in self.sources:
            file = module_file(name)
            self.sources[name] = Source.of(file) if file is not None else None
        return self.sources[name]


def _cell_values(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # the cell has no value yet
        return []


def _name(study: Callable[..., Any]) -> str:
    return getattr(study, "__name__", type(study).__name__)


def _module_of(study: Any) -> str:
    """Return the name of the module that defines a study: of its function, or of the class of an object."""
    while isinstance(study, functools.partial):
        study = study.func
    return str(getattr(inspect.unwrap(study), "__module__", None) or type(study).__module__)
