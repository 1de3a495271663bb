"""Code of README and documentation pages works when pasted, in a plain install plus the extras that the page names.

Every page is run in a process of its own, in an empty folder, from top to bottom: Python blocks (`python`, code cells,
lines of embedded pages) are executed, doctests are checked. Packages that are installed here but are neither required
by appell nor part of an extra named *before* a block are hidden from it. A fence `py` marks code that needs other
people's files; it is only compiled.

Commands of shell blocks are checked for existing commands and options, `pip` lines for existing extras, `make` lines
for existing targets. The commands of `RUN` are executed as well. Not executed are those that open a browser (`view`,
`--view`), take minutes (`reproduce`, `bench`, `fuzz`, `excite` and what reads its plan) or need a cluster (`sweep`).
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from terminals import all_commands

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
GENERATED = {"changelog", "contributing", "errata", "gallery"}  # included or generated texts without code to paste
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.stem not in GENERATED),
    *sorted((ROOT / "docs" / "concepts").glob("*.md")),
]
FENCE = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
PYTHON = ("python", "{code-cell}", "{embed}")
EXTRA = re.compile(r"appell\[([\w,]+)\]|'\.\[([\w,]+)\]'")
LABORATORY = "./lab"
RUN = (
    "appell --version",
    "appell simulate tree10 --wall circle:2.5 --restitution 1 --friction 0 --until 1.5 --output fall.csv",
    "appell export puma inverse_dynamics --to c",
    "appell export puma forward_dynamics --by q,v --to json",
)
AFTER = {  # Python code that is run after the blocks of a page, with their names and in their folder
    "docs/pictures.md": """
import os
assert set(os.listdir()) == {"ball.png", "platform.png", "puma.pdf", "fall.gif", "ball.csv"}
assert len(frame) == len(record)
""",
    "docs/rollouts.md": "import os\nassert os.path.exists('spread.png')",
}
PRINTED = {
    "docs/jax-and-pytorch.md": [
        *("(1000, 6) (6, 6)", "(1000,) (1000, 100, 6)", "(500,) (500,)", "torch.Size([1000, 6])", "(6, 6)")
    ]
}
RUNNER = """
import doctest, json, os, sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)

def run(step):
    if step["kind"] == "command":
        from appell.cli.main import main
        sys.argv = step["code"]
        try:
            main()
        except SystemExit as error:
            assert not error.code, error.code
    elif step["kind"] == "doctest":
        test = doctest.DocTestParser().get_doctest(step["code"], names, page, page, step["line"])
        result = doctest.DocTestRunner().run(test, clear_globs=False)
        names.update(test.globs)
        assert result.attempted and not result.failed
    else:
        exec(compile("\\n" * step["line"] + step["code"], page, "exec"), names)

page, steps = json.load(sys.stdin)
hidden, names = frozenset(), {"__name__": "__main__"}
sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
for step in steps:
    hidden = frozenset(step["hidden"])
    run(step)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, first line number (from 0) and code, and the extras named before it."""

    language: str
    line: int
    code: str
    extras: frozenset[str]
    laboratory: bool


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    listed = []
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        groups = [first or second for first, second in EXTRA.findall(before)]
        extras = frozenset(extra for group in groups for extra in group.split(","))
        code = match[3]
        if match[1] == "{embed}":
            code = re.sub(r"^:.*\n", "", code, flags=re.MULTILINE)
        listed.append(Block(match[1], before.count("\n") + 1, code, extras, LABORATORY in before))
    return listed


def requirements(extras: frozenset[str]) -> set[str]:
    """Distributions that `pip install 'appell[extras]'` names, extras of extras included."""
    named, waiting = list(PROJECT["dependencies"]), set(extras)
    while waiting:
        for text in EXTRAS[waiting.pop()]:
            requirement = Requirement(text)
            if requirement.name == "appell":
                waiting |= requirement.extras
            else:
                named.append(text)
    return {Requirement(text).name.lower() for text in named}


@cache
def installed(extras: frozenset[str]) -> frozenset[str]:
    """Distributions of an install with some extras, with everything they require."""
    closure, waiting = set(), requirements(extras)
    while waiting:
        name = waiting.pop()
        closure.add(name)
        try:
            required = importlib.metadata.requires(name) or ()
        except importlib.metadata.PackageNotFoundError:
            continue
        for text in required:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting |= {requirement.name.lower().replace("_", "-")} - closure
    return frozenset(closure)


@cache
def installed_modules() -> dict[str, list[str]]:
    """Distributions by the names of their modules; reading them takes a second."""
    return dict(importlib.metadata.packages_distributions())


@cache
def hidden_modules(extras: frozenset[str], laboratory: bool) -> list[str]:
    """Top-level modules of this environment that an install with some extras does not have."""
    allowed = {name.replace("_", "-") for name in installed(extras | ({"demo"} if laboratory else frozenset()))}
    hidden = {
        module
        for module, distributions in installed_modules().items()
        if not any(name.lower().replace("_", "-") in allowed for name in distributions)
    }
    return sorted((hidden | ({"appell_lab"} if not laboratory else set())) - {"appell"})


def steps(page: Path) -> list[dict]:
    """What is run of a page, in order."""
    listed = []
    for block in blocks(page):
        step = {"line": block.line, "hidden": hidden_modules(block.extras, block.laboratory)}
        if block.language in PYTHON:
            if 'compiler="gcc"' in block.code and shutil.which("gcc") is None:
                continue
            kind = "doctest" if block.code.startswith(">>>") else "python"
            listed.append({"kind": kind, "code": block.code, **step})
        elif block.language == "sh":
            for line in commands(block.code):
                if line in RUN:
                    listed.append({"kind": "command", "code": shlex.split(line), **step})
    if name_of(page) in AFTER:
        listed.append({**listed[-1], "kind": "python", "code": AFTER[name_of(page)]})
    return listed


def commands(code: str) -> list[str]:
    """Lines of a shell block without comments, continued lines joined."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in code.replace("\\\n", " ").splitlines())
    return [" ".join(line.split()) for line in lines if line]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def is_run(page: Path) -> bool:
    """Whether a page has Python blocks or commands that are executed."""
    return any(
        block.language in PYTHON or (block.language == "sh" and set(commands(block.code)) & set(RUN))
        for block in blocks(page)
    )


@pytest.mark.parametrize("page", [page for page in PAGES if is_run(page)], ids=name_of)
def test_the_code_of_a_page_runs_with_the_extras_it_names(page, tmp_path):
    for extra in sorted({extra for block in blocks(page) for extra in block.extras}):
        for name in requirements(frozenset({extra})):
            try:
                importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                pytest.skip(f"{name} is not installed")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "lab")])
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": paths, "BROWSER": "true", "COLUMNS": "120"}
    given = json.dumps([name_of(page), steps(page)])
    command = [sys.executable, "-c", RUNNER]
    done = subprocess.run(
        command, input=given, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "StepWarning" not in done.stderr
    if name_of(page) in PRINTED:
        assert done.stdout.splitlines() == PRINTED[name_of(page)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_that_is_not_run_compiles(page):
    for block in blocks(page):
        if block.language == "py":
            compile(block.code, name_of(page), "exec")


def test_a_block_does_not_see_packages_that_the_page_does_not_name():
    plain, plots = (set(hidden_modules(frozenset(extras), False)) for extras in ((), ("plots",)))
    assert {"appell_lab", "matplotlib", "pytest"} <= plain
    assert "matplotlib" not in plots
    assert {"numpy", "scipy", "llvmlite", "typer", "rich", "appell"}.isdisjoint(plain)


def check_appell(words: list[str]) -> None:
    """Parse the options of an `appell` command without running it."""
    if words[1].startswith("--"):
        assert words[1] in ("--version", "--help", "--install-completion")
        return
    command, arguments = all_commands()[words[1]], words[2:]
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command = command.commands[arguments.pop(0)]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [
        word for word in arguments if word.startswith("-") and len(word) > 1 and word.partition("=")[0] not in options
    ]
    assert unknown in ([], ["--help"], ["-h"]), f"{' '.join(words)}: no option {unknown}"


def check_line(line: str) -> None:
    program, *arguments = shlex.split(line)
    if program == "appell":
        check_appell([program, *arguments])
    elif program == "pip":
        for group in (first or second for first, second in EXTRA.findall(line)):
            assert set(group.split(",")) <= set(EXTRAS), line
        assert all((ROOT / word).is_dir() for word in arguments if word.startswith("./")), line
    elif program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert arguments[0] in targets, line
    elif program == "python":
        assert (ROOT / arguments[0]).exists(), line
    else:
        assert program.endswith("gcc"), line  # the tests of C export build such files


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_a_page_exist_with_their_options(page):
    text = page.read_text(encoding="utf-8")
    prose = FENCE.sub("", text)
    inline = [
        code for code in re.findall(r"`((?:appell|make|python) [^`]+)`", prose.replace("\n", " ")) if "[" not in code
    ]
    shell = [line for block in blocks(page) if block.language == "sh" for line in commands(block.code)]
    for line in (*inline, *shell):
        if not re.search(r"\b[A-Z]{4,}\b|\.\.\.", line.replace("MINUTES=", "")):
            check_line(line)
        else:
            assert line.split()[1] in all_commands() or line.split()[0] != "appell" or line.split()[1].isupper(), line


def test_extras_named_on_a_page_exist():
    for page in PAGES:
        for block in blocks(page):
            assert block.extras <= set(EXTRAS), name_of(page)


def test_code_to_run_uses_a_current_command():
    listed = [
        line for page in PAGES for block in blocks(page) if block.language == "sh" for line in commands(block.code)
    ]
    assert set(RUN) <= set(listed)
