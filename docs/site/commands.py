"""The page of all commands, generated at each build from the text of `appell COMMAND --help`."""

from __future__ import annotations

import re
from pathlib import Path

import typer


def write(app) -> None:
    from appell.cli.main import app as commands

    group = typer.main.get_command(commands)
    context = typer.Context(group)
    lines = ["Commands", "========", ""]
    for name in sorted(group.list_commands(context)):
        lines += section(f"appell {name}", group.get_command(context, name))
    Path(app.srcdir, "reference").mkdir(exist_ok=True)
    Path(app.srcdir, "reference", "commands.rst").write_text("\n".join(lines), encoding="utf-8")


def section(name: str, command) -> list[str]:
    lines = [name, "-" * len(name), "", plain(command.help or ""), ""]
    if subcommands := getattr(command, "commands", None):
        for sub, each in sorted(subcommands.items()):
            title = f"{name} {sub}"
            lines += [title, "~" * len(title), "", plain(each.help or ""), "", *options(each)]
        return lines
    return [*lines, *options(command)]


def options(command) -> list[str]:
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for parameter in command.params:
        shown = ", ".join(parameter.opts) if parameter.param_type_name == "option" else parameter.name.upper()
        default = parameter.default
        shown_default = "" if default in (None, False, "") or parameter.required else f" Default: {default}."
        lines += [f"   * - ``{shown}``", f"     - {plain(getattr(parameter, 'help', '') or '')}{shown_default}"]
    lines.append("")
    if command.epilog:
        lines += [plain(command.epilog), ""]
    return lines if command.params else []


def plain(text: str) -> str:
    """Remove the tags of rich and escape the special characters of reStructuredText."""
    text = re.sub(r"\[bold\](.*?)\[/\]", r"``\1``", " ".join(text.split()))
    text = re.sub(r"\\?\[/?[a-z ]*\]", "", text)
    parts = re.split(r"(``.*?``)", text)
    return "".join(part if part.startswith("``") else re.sub(r"([*|`\\]|_\b)", r"\\\1", part) for part in parts)


def setup(app):
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
