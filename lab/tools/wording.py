"""Find phrases and names that the writing rules exclude.

    python lab/tools/wording.py [--counts] [PATH ...]

The rules are in CONTRIBUTING.md, the patterns in wording.toml beside this file. Phrases are searched in comments,
strings, docstrings and test names of Python files, in comments of JavaScript, C and TOML files, and in whole Markdown
and HTML files. Names are searched where Python code binds them: variables, parameters, functions, classes and modules.
The exit code is 1 if there are matches. Without a PATH the whole repository is checked.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMENTS = {
    ".js": re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
    ".c": re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
    ".toml": re.compile(r"(?m)(?<![\"'\w])#[^\n]*"),
}
WHOLE_TEXTS = {".md", ".html"}


@dataclass(frozen=True)
class Rule:
    """A pattern, what to write instead, and the contexts in which it is allowed."""

    pattern: re.Pattern[str]
    instead: str
    allowed: re.Pattern[str] | None

    @staticmethod
    def read(table: dict) -> Rule:
        allowed = "|".join(f"(?:{text})" for text in table.get("allow", ()))
        flags = re.IGNORECASE
        return Rule(
            re.compile(table["pattern"], flags), table["instead"], re.compile(allowed, flags) if allowed else None
        )

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        permitted = [match.span() for match in self.allowed.finditer(text)] if self.allowed else []
        for match in self.pattern.finditer(text):
            if not any(low <= match.start() and match.end() <= high for low, high in permitted):
                yield match


@dataclass(frozen=True)
class Match:
    """A place in a file that breaks a rule."""

    path: Path
    line: int
    text: str
    instead: str


def python_prose(source: str) -> Iterator[tuple[int, str]]:
    """Comments and strings with their first lines, and the names of tests as sentences."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")


def bound_names(source: str) -> Iterator[tuple[int, str]]:
    """Names that code binds, with their lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def prose(path: Path, source: str) -> Iterator[tuple[int, str]]:
    """Parts of a file that people read as text, with their first lines."""
    if path.suffix == ".py":
        yield from python_prose(source)
    elif path.suffix in WHOLE_TEXTS:
        yield 1, source
    elif path.suffix in COMMENTS:
        for comment in COMMENTS[path.suffix].finditer(source):
            yield source.count("\n", 0, comment.start()) + 1, comment.group()


def check(path: Path, phrases: list[Rule], names: list[Rule]) -> Iterator[Match]:
    source = path.read_text(encoding="utf-8")
    for first_line, text in prose(path, source):
        flat = re.sub(r"\s", " ", text)  # a phrase may be broken between two lines
        for rule in phrases:
            for match in rule.matches(flat):
                line = first_line + text.count("\n", 0, match.start())
                yield Match(path, line, match.group(), rule.instead)
    if path.suffix == ".py":
        for line, name in [(1, path.stem), *bound_names(source)]:
            for rule in names:
                if rule.pattern.fullmatch(name) and not (rule.allowed and rule.allowed.search(f"{path}:{name}")):
                    yield Match(path, line, name, rule.instead)


def files(paths: list[str], excluded: re.Pattern[str]) -> list[Path]:
    """Files of the repository below the paths, in alphabetical order, without the excluded ones."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *paths]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        candidates = [ROOT / name for name in listed.stdout.splitlines()]
    else:  # an archive without .git
        candidates = [path for name in paths or ["."] for path in (ROOT / name).rglob("*")]
    suffixes = {".py", *WHOLE_TEXTS, *COMMENTS}
    return sorted(
        path
        for path in candidates
        if path.suffix in suffixes and path.is_file() and not excluded.search(path.relative_to(ROOT).as_posix())
    )


def main(arguments: list[str]) -> int:
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    phrases = [Rule.read(row) for row in table["phrase"]]
    names = [Rule.read(row) for row in table["name"]]
    paths = [name for name in arguments if name != "--counts"]
    matches = [match for path in files(paths, re.compile(table["excluded"])) for match in check(path, phrases, names)]
    if "--counts" in arguments:
        for text, count in Counter(match.text.lower() for match in matches).most_common():
            print(f"{count:5d}  {text}")
    else:
        for match in matches:
            print(f"{match.path.relative_to(ROOT)}:{match.line}: {match.text!r}: {match.instead}")
    print(f"{len(matches)} phrases and names that the writing rules exclude")
    return 1 if matches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
