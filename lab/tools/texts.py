"""List the texts that users see: the help of all commands and options, and the templates of errors and warnings.

    python lab/tools/texts.py [--help-only | --messages-only] [PATH ...]

Help texts are read from the commands themselves, those of appell-lab included. Messages are read from the source below
the PATHs (src and lab by default): the string arguments of `raise`, of `warnings.warn` and of the functions of
`appell.errors` that compose messages. Every entry has the form `file:line: kind: text`; expressions in messages are
shown in braces. The last line is the number of entries.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ERRORS = ROOT / "src" / "appell" / "errors.py"
COMPOSED = {"warn", "error", "gathered", "fail"}  # functions and methods outside errors.py that take messages


@dataclass(frozen=True, order=True)
class Entry:
    """A text with its place and kind."""

    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.text}"


# ---- help


def commands(command: Any, name: str = "appell") -> Iterator[tuple[str, Any]]:
    """Yield a click command and all its subcommands with their full names."""
    import click

    yield name, command
    if hasattr(command, "list_commands"):
        context = click.Context(command)
        for each in command.list_commands(context):
            yield from commands(command.get_command(context, each), f"{name} {each}")


def help_texts() -> Iterator[Entry]:
    """Yield the help and epilog of every command, and the help of every argument and option."""
    import typer

    from appell.cli.main import app

    for name, command in commands(typer.main.get_command(app)):
        function = inspect.unwrap(command.callback) if command.callback else None
        file, line = _source(function)
        for part in ("help", "epilog"):
            if text := getattr(command, part, None):
                yield Entry(file, line, f"{name} ({part})", " ".join(text.split()))
        for parameter in command.params:
            if text := getattr(parameter, "help", None):
                options = "/".join([*parameter.opts, *parameter.secondary_opts])
                yield Entry(file, line, f"{name} {options}", " ".join(text.split()))


def _source(function: Any) -> tuple[str, int]:
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (TypeError, OSError):
        return "-", 0
    path = Path(file or "-").resolve()
    return (path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name), line


# ---- messages


def message_functions() -> set[str]:
    """Return the names of the functions and classes of errors.py, and of the other functions that take messages."""
    tree = ast.parse(ERRORS.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return {name for name in names if not name.startswith("_")} | COMPOSED


def messages(path: Path, known: set[str]) -> Iterator[Entry]:
    """Yield the strings in `raise` statements and in calls of the known functions of one file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path.relative_to(ROOT).as_posix()
    variables = {  # strings that are assigned to a name before they are raised
        (target.id, node.lineno): node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _text(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    seen: set[int] = set()
    for node in ast.walk(tree):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call) or id(call) in seen:
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if not isinstance(node, ast.Raise) and name not in known:
            continue
        seen.add(id(call))
        arguments = [("", each) for each in call.args] + [(each.arg or "", each.value) for each in call.keywords]
        for keyword, argument in arguments:
            value = _assigned(argument, variables, call.lineno)
            seen.add(id(argument))  # a Hint among the arguments is listed once
            if (text := _text(value)) and " " in text:
                yield Entry(file, value.lineno, f"{name} {keyword}".strip(), text)


def _assigned(argument: ast.expr, variables: dict[tuple[str, int], ast.expr], line: int) -> ast.expr:
    """Return the string that was last assigned to a name before a line, or the argument itself."""
    if isinstance(argument, ast.Name):
        lines = [at for name, at in variables if name == argument.id and at <= line]
        return variables[argument.id, max(lines)] if lines else argument
    return argument


def _text(node: ast.expr) -> str:
    """Return a string expression as text, with the source of its other parts in braces; empty if it is not a string."""
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split(" "))
        case ast.JoinedStr(values=values):
            return "".join(_text(each) or f"{{{ast.unparse(each.value)}}}" for each in values)  # type: ignore[attr-defined]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = _text(left), _text(right)
            return (
                (parts[0] or f"{{{ast.unparse(left)}}}") + (parts[1] or f"{{{ast.unparse(right)}}}")
                if any(parts)
                else ""
            )
        case ast.IfExp(body=body, orelse=other):
            return " | ".join(filter(None, (_text(body), _text(other))))
        case ast.Call(func=ast.Name(id="Hint"), args=[first, *_]):
            return _text(first)
    return ""


def main(arguments: list[str]) -> int:
    """Print the entries and their number."""
    paths = [ROOT / name for name in arguments if not name.startswith("--")] or [ROOT / "src", ROOT / "lab"]
    entries: list[Entry] = []
    if "--messages-only" not in arguments:
        entries += sorted(help_texts())
    if "--help-only" not in arguments:
        known = message_functions()
        files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
        entries += [entry for file in files for entry in sorted(messages(file, known))]
    for entry in entries:
        print(entry)
    print(f"{len(entries)} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
