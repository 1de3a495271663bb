"""Study folders: a study whose result depends on numbers that are defined in many ways, in its own or other modules.

A way is a text that defines a name with a number, and an expression of the number; `N` is the name and `V` the number.
The text belongs to the study's module, or to a module at the end of a chain of imports, in one of the styles of
`IMPORTS`. The same folder with another number is another study; `HARMLESS` edits leave a study as it is.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

HEADER = """import abc, array, collections, contextlib, contextvars, dataclasses, decimal, enum, functools
import importlib, operator, sys, threading, types, typing
import numpy as np
"""
THING = "class CN:\n    def __init__(self, g):\n        self.g = g\n"
SLOTTED = "class CN:\n    __slots__ = ('g',)\n    def __init__(self, g):\n        self.g = g\n"
BASE = "class BN:\n    def g(self):\n        return V\n"

# text that defines N, expression of the number
WAYS: dict[str, tuple[str, str]] = {
    "constant": ("N = V\n", "N"),
    "constant in a tuple": ("N = (1, (V, 2))\n", "N[1][0]"),
    "constant in a dict": ("N = {'a': [V]}\n", "N['a'][0]"),
    "set": ("N = {V}\n", "sum(N)"),
    "array": ("N = np.full(3, V)\n", "N[1]"),
    "array of objects": ("N = np.array([V, None], object)\n", "N[0]"),
    "array module": ("N = array.array('d', [V])\n", "N[0]"),
    "function": ("def N():\n    return V\n", "N()"),
    "lambda": ("N = lambda: V\n", "N()"),
    "function of a function": ("def gN():\n    return V\ndef N():\n    return gN()\n", "N()"),
    "comprehension": ("N = sum(V for _ in range(3))\n", "N"),
    "condition": ("if True:\n    N = V\nelse:\n    N = 0.0\n", "N"),
    "loop": ("N = 0.0\nfor _ in range(3):\n    N += V\n", "N"),
    "try": ("try:\n    N = V\nfinally:\n    pass\n", "N"),
    "default": ("def N(g=V):\n    return g\n", "N()"),
    "keyword default": ("def N(*, g=V):\n    return g\n", "N()"),
    "object as default": (THING + "def N(o=CN(V)):\n    return o.g\n", "N()"),
    "object": (THING + "N = CN(V)\n", "N.g"),
    "object with slots": (SLOTTED + "N = CN(V)\n", "N.g"),
    "object in an object": (THING + "N = CN([CN(V)])\n", "N.g[0].g"),
    "object that is called": (THING + "    def __call__(self):\n        return self.g\nN = CN(V)\n", "N()"),
    "simple namespace": ("N = types.SimpleNamespace(g=V)\n", "N.g"),
    "bound method": (THING + "    def get(self):\n        return self.g\nN = CN(V).get\n", "N()"),
    "method": ("class CN:\n    def g(self):\n        return V\nN = CN()\n", "N.g()"),
    "method of a class": ("class N:\n    @classmethod\n    def g(cls):\n        return V\n", "N.g()"),
    "static method": ("class N:\n    @staticmethod\n    def g():\n        return V\n", "N.g()"),
    "property": ("class N:\n    @property\n    def g(self):\n        return V\n", "N().g"),
    "cached property": ("class N:\n    @functools.cached_property\n    def g(self):\n        return V\n", "N().g"),
    "class attribute": ("class N:\n    g = V\n", "N.g"),
    "class attribute set later": ("class N:\n    pass\nN.g = V\n", "N.g"),
    "base class": (BASE + "class N(BN):\n    pass\n", "N().g()"),
    "base of a base": (BASE + "class DN(BN):\n    pass\nclass N(DN):\n    pass\n", "N().g()"),
    "mixin": (BASE + "class N(BN):\n    def g(self):\n        return super().g()\n", "N().g()"),
    "metaclass": ("class MN(type):\n    g = V\nclass N(metaclass=MN):\n    pass\n", "N.g"),
    "abstract base": (
        "class BN(abc.ABC):\n    g = V\n    @abc.abstractmethod\n    def f(self): ...\n"
        "class N(BN):\n    def f(self):\n        return self.g\n",
        "N().f()",
    ),
    "descriptor": (
        "class DN:\n    def __get__(self, o, kind):\n        return V\nclass N:\n    g = DN()\n",
        "N.g",
    ),
    "inner class": ("class N:\n    class Inner:\n        g = V\n", "N.Inner.g"),
    "dataclass": ("@dataclasses.dataclass\nclass CN:\n    g: float = V\nN = CN()\n", "N.g"),
    "named tuple": ("class CN(typing.NamedTuple):\n    g: float = V\nN = CN()\n", "N.g"),
    "enumeration": ("class N(enum.Enum):\n    G = V\n", "N.G.value"),
    "subclass of float": ("class CN(float):\n    pass\nN = CN(V)\n", "N"),
    "subclass of list": ("class CN(list):\n    pass\nN = CN([V])\n", "N[0]"),
    "subclass of dict": ("class CN(dict):\n    pass\nN = CN(g=V)\n", "N['g']"),
    "function in a list": ("def gN():\n    return V\nN = [gN]\n", "N[0]()"),
    "lambda in a dict": ("N = {'a': lambda: V}\n", "N['a']()"),
    "class in a list": ("class CN:\n    g = V\nN = [CN]\n", "N[0].g"),
    "function attribute": ("def N():\n    return N.g\nN.g = V\n", "N()"),
    "closure": ("def mN(g):\n    def inner():\n        return g\n    return inner\nN = mN(V)\n", "N()"),
    "closure of an object": (
        THING + "def mN(o):\n    return lambda: o.g\nN = mN(CN(V))\n",
        "N()",
    ),
    "partial": ("N = functools.partial(max, V)\n", "N(-1e9)"),
    "partial of a function": ("def gN(a, b):\n    return a * V\nN = functools.partial(gN, 1.0)\n", "N(0)"),
    "decorator": (
        "def dN(f):\n    @functools.wraps(f)\n    def w():\n        return V * f()\n    return w\n"
        "@dN\ndef N():\n    return 1.0\n",
        "N()",
    ),
    "decorator with a number": (
        "def dN(g):\n    def d(f):\n        @functools.wraps(f)\n        def w():\n            return g * f()\n"
        "        return w\n    return d\n@dN(V)\ndef N():\n    return 1.0\n",
        "N()",
    ),
    "decorator class": (
        "class CN:\n    def __init__(self, f):\n        functools.update_wrapper(self, f)\n"
        "    def __call__(self):\n        return V * self.__wrapped__()\n@CN\ndef N():\n    return 1.0\n",
        "N()",
    ),
    "function behind a cache": ("@functools.cache\ndef N():\n    return V\n", "N()"),
    "dispatched function": (
        "@functools.singledispatch\ndef N(x):\n    return 0.0\n@N.register\ndef _(x: int):\n    return V\n",
        "N(1)",
    ),
    "context manager": (
        "@contextlib.contextmanager\ndef cN():\n    yield V\ndef N():\n    with cN() as g:\n        return g\n",
        "N()",
    ),
    "generator": ("def gN():\n    yield V\ndef N():\n    return next(gN())\n", "N()"),
    "global that functions change": (
        "N = {'g': V, 'calls': 0}\ndef fN():\n    N['calls'] += 1\n    return N['g']\n",
        "fN()",
    ),
    "global that is declared": ("N = V\ndef fN():\n    global N\n    N = N\n    return N\n", "fN()"),
    "filled by a statement": ("N = {}\nN.update(g=V)\n", "N['g']"),
    "filled by an item": ("N = {}\nN['g'] = V\n", "N['g']"),
    "object with a lock": (THING + "N = CN(V)\nN.lock = threading.Lock()\n", "N.g"),
    "context variable": ("N = contextvars.ContextVar('N', default=V)\n", "N.get()"),
    "default dict": ("N = collections.defaultdict(lambda: V)\n", "N.get(0, N.default_factory())"),
    "deque": ("N = collections.deque([V])\n", "N[0]"),
    "mapping proxy": ("N = types.MappingProxyType({'g': V})\n", "N['g']"),
    "decimal": ("N = decimal.Decimal('V')\n", "float(N)"),
    "item getter": ("N = operator.methodcaller('get', 'a', V)\n", "N({})"),
    "text that is executed": ("sN = {}\nexec('def f(): return V', sN)\nN = sN['f']\n", "N()"),
    "text that is evaluated": ("gN = V\ndef N():\n    return eval('gN')\n", "N()"),
    "name in globals()": ("gN = V\ndef N():\n    return globals()['gN']\n", "N()"),
    "range": ("N = range(int(V * 1000))\n", "len(N)"),
    "complex": ("N = complex(1.0, V)\n", "N.imag"),
    "condition of a name": ("N = V if __name__ != '__main__' else 0.0\n", "N"),
}

# how a module M makes the name of another module X available: text at its top, and the prefix of the name
IMPORTS: dict[str, tuple[str, str]] = {
    "import": ("import X\n", "X."),
    "import as": ("import X as other\n", "other."),
    "from import": ("from X import *\nfrom X import N\n", ""),
    "import_module": ("MX = importlib.import_module('X')\n", "MX."),
    "in the function": ("", "__import__('X').{}"),
    "package": ("import pack.X\n", "pack.X."),
    "from package": ("from pack import X\n", "X."),
    "relative": ("from pack.bridge import X\n", "X."),
}

HARMLESS: dict[str, tuple[str, str]] = {  # text to replace in study.py, and its replacement
    "comment": ("def study(", "# a comment\ndef study("),
    "docstring": ("def study(x):\n", 'def study(x):\n    """What it computes."""\n'),
    "module docstring": ("import abc", '"""What it computes."""\nimport abc'),
    "blank lines": ("def study(", "\n\n\n\ndef study("),
    "parentheses": ("    return {", "    return ({"),
    "spaces": ("x * ", "x   *  "),
    "line break": ("    return {", "    return \\\n        {"),
    "main program": ("def study(", 'if __name__ == "__main__":\n    print("other")\ndef study('),
    "unused global": ("def study(", "UNUSED = 5.0\ndef study("),
    "unused function": ("def study(", "def unused():\n    return 7\ndef study("),
    "plots after the study": ("\n# end", "\nprinted = str(study)\n# end"),
}


def folder(way: str, number: float, depth: int, style: str = "import", name: str = "gain") -> dict[str, str]:
    """Return the texts of a study folder by file name.

    Parameters
    ----------
    way : key of WAYS
    number : the number on which the result depends
    depth : 0 if study.py defines it, k if the k-th module of a chain does
    style : key of IMPORTS, by which study.py imports the first module of the chain
    name : of the global
    """
    text, expression = (re.sub(r"N\b", name, part) for part in WAYS[way])
    definition = HEADER + re.sub(r"\bV\b", repr(number), text) + f"def value_{name}():\n    return {expression}\n"
    files, top, used = {}, definition, f"value_{name}()"
    if depth:
        first, prefix = IMPORTS[style]
        packed = "pack" in first
        files = {"pack/__init__.py": "", "pack/bridge.py": "from . import link1 as X\n".replace("X", "link1")}
        for k in range(1, depth + 1):
            file = f"pack/link{k}.py" if packed else f"link{k}.py"
            onward = "from . import link{}\n" if packed else "import link{}\n"
            calls = f"def value_{name}():\n    return link{k + 1}.value_{name}()\n"
            files[file] = definition if k == depth else onward.format(k + 1) + calls
        top = HEADER + first.replace("X", "link1").replace("N", f"value_{name}")
        prefix = prefix.replace("X", "link1")
        used = (prefix if "{}" in prefix else prefix + "{}").format(used)
    files["study.py"] = f"{top}def study(x):\n    return {{'y': x * ({used})}}\n# end\n"
    return files


def harmless(files: dict[str, str], edit: str) -> dict[str, str]:
    """Return the folder with an edit of study.py that does not change what the study computes."""
    old, new = HARMLESS[edit]
    text = files["study.py"]
    if edit == "parentheses":
        return files | {"study.py": text.replace(old, new).replace("}\n# end", "})\n# end")}
    assert old in text
    return files | {"study.py": text.replace(old, new)}


@contextmanager
def imported(files: dict[str, str], directory: Path) -> Iterator[ModuleType]:
    """Write a folder, import its study.py, and forget its modules afterwards.

    Modules of the same names that are already imported are set aside.
    """
    names = {"study", *(name.partition("/")[0].removesuffix(".py") for name in files)}
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module("study")
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(directory))
        for name in [
            name for name, module in sys.modules.items() if str(directory) in str(getattr(module, "__file__", ""))
        ]:
            del sys.modules[name]
        sys.modules.update(aside)


def outcome(files: dict[str, str], directory: Path) -> tuple[Any, dict[str, str]]:
    """Return the result of a study in a folder for x = 2, and its hashes before it ran and after."""
    from appell.sweeps.identity import study_hashes

    with imported(files, directory) as module:
        hashes = study_hashes(module.study)
        result = module.study(2.0)["y"]
        if study_hashes(module.study) != hashes:
            raise AssertionError("running the study changed its identity")
    return result, hashes
