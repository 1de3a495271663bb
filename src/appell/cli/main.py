"""The command `appell`: a group of commands whose modules are imported when they are used.

Errors of appell, and of the operating system, are printed as a message to stderr with exit code 1, not as a traceback.
Other distributions, such as appell-lab, add commands through the entry-point group "appell.commands": the name of an
entry point is the name of the command, its object a `typer.Typer` of one command or of a group of commands.
"""

from __future__ import annotations

import errno
import inspect
import io
import os
import shlex
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from appell.errors import AppellError, Hint, PythonCode
from appell.files import is_closed_pipe
from appell.version import VERSION

COMMANDS = (  # in the order of the panels under which the help lists them; `appell.cli.NAME` defines each one
    *("robots", "info", "view", "workspace", "formulations", "count"),
    *("simulate", "rollout", "optimize", "sweep", "trajectory", "torques"),
    *("control", "excite", "check", "identify", "calibrate", "export", "convert"),
)
LAB_COMMANDS = ("bench", "campaign", "fuzz", "latency", "reproduce")  # commands of appell-lab
MIN_PANEL_WIDTH = 80  # columns; the panels of the help truncate names on narrower terminals
OPTION_NAMES = {  # parameter -> option of the command line, where the names differ
    "overwrite": "force",
    "solver": "method",
    "patterns": "columns",
    "force": "force-export",
}
FIRST_COMMANDS = {  # commands to try first
    "appell view panda": "show a robot in the browser; your own: view my_robot.urdf",
    "appell info puma": "show a summary of a robot and the operation counts of its equations",
    "appell simulate pendulum --q 1 --until 2": "simulate the motion of a robot; --wall adds walls",
}
FURTHER_HELP = {
    "all commands": "appell --help",
    "example robots": "appell robots",
    "in Python": "import appell as ap; help(ap)",
    "documentation": "folder docs of the source distribution; build it with: make docs",
}


class Commands(TyperGroup):
    """The group of all commands."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Adapt the help to the width of the terminal."""
        _fit_help(self)
        return super().make_context(*arguments, **options)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [*COMMANDS, *(name for name in _added_commands() if name not in COMMANDS)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return a command; None if it does not exist."""
        if cmd_name not in self.commands:
            if cmd_name in COMMANDS:
                app = import_module(f"appell.cli.{cmd_name}").app
            elif (added := _added_commands().get(cmd_name)) is not None:
                app = added.load()
            else:
                return None
            command = typer.main.get_command(app)
            command.name = cmd_name
            if isinstance(app.rich_help_panel, str):  # of a group of commands
                command.rich_help_panel = app.rich_help_panel  # type: ignore[attr-defined]
            _fit_help(command)
            self.commands[cmd_name] = command
        return self.commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolve a command; state which distribution to install for a missing command of the laboratory."""
        if args and self.get_command(ctx, args[0]) is None:
            if args[0] in LAB_COMMANDS:
                ctx.fail(f"'{args[0]}' is a command of appell-lab, which is not installed. Run: pip install appell-lab")
            for name in self.list_commands(ctx):  # typer suggests only commands that are loaded
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; print errors as messages."""
        from appell.cli.output import compilation_reported

        try:
            with compilation_reported():
                return super().invoke(ctx)
        except AppellError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            options = option_names(command) if command else set()
            _print_error(type(error).__name__, error_message(error, options))
        except OSError as error:
            if is_closed_pipe(error):  # not an error
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
            file = f"'{error.filename}': " if error.filename else ""
            _print_error("Error", f"{file}{error.strerror or error}.")
        raise typer.Exit(1)


def _added_commands() -> dict[str, EntryPoint]:
    """Return the commands of other distributions by name, without importing them."""
    return {point.name: point for point in sorted(entry_points(group="appell.commands"), key=lambda point: point.name)}


def option_names(command: Any) -> set[str]:
    """Return the options of a command and of its subcommands."""
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return options.union(*(option_names(each) for each in getattr(command, "commands", {}).values()))


def error_message(error: AppellError, options: set[str]) -> str:
    """Return the message of an error, with options of the command line instead of Python parameters in its hints."""

    def spelled(name: str, value: Any) -> str:
        option = OPTION_NAMES.get(name, name).replace("_", "-")
        if value is False and f"--no-{option}" in options:
            return f"--no-{option}"
        if f"--{option}" not in options:
            return Hint.in_python(name, value)
        if isinstance(value, dict):
            return " ".join(f"--{option} {shlex.quote(f'{key}={each}')}" for key, each in value.items())
        is_flag = value is True or value is ... or isinstance(value, PythonCode)
        return f"--{option}" if is_flag else f"--{option} {value}"

    return error.message(spelled)


def _print_error(kind: str, message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, soft_wrap=True).print(Text.assemble((kind, "bold red"), ": ", message))


def _fit_help(command: Any) -> None:
    """Print the help of a command as plain, wrapped text on terminals that are too narrow for panels."""
    from rich.console import Console
    from rich.text import Text

    if Console().width >= MIN_PANEL_WIDTH:
        return
    command.rich_markup_mode = None
    for part in ("help", "epilog"):
        setattr(command, part, Text.from_markup(getattr(command, part) or "").plain)
    command.short_help = inspect.cleandoc(command.help).split("\n\n")[0]  # not truncated
    for subcommand in getattr(command, "commands", {}).values():
        _fit_help(subcommand)


app = typer.Typer(
    cls=Commands,
    name="appell",
    help="A robot-dynamics compiler: Gibbs-Appell equations of motion as compiled NumPy functions.",
    epilog="Examples: [bold]appell view panda[/]; [bold]appell info my_robot.urdf[/]; [bold]appell COMMAND --help[/] "
    "shows all options and examples. Most commands print JSON with [bold]--json[/]. Run [bold]appell "
    "--install-completion[/] once to complete names with the Tab key.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"appell {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        greet()


def greet() -> None:
    """Print a short introduction with commands to try first."""
    from appell.cli.output import Printer

    out = Printer()
    out.say(f"appell {VERSION}, a robot-dynamics compiler: from URDF, MJCF, SDF or a DH table to")
    out.say("equations of motion in machine code, for simulation, control and identification.")
    for command, description in FIRST_COMMANDS.items():
        out.console.print(f"\n  [bold]{command}[/]\n      {description}", highlight=False)
    out.say("", *(f"{topic:16}{command}" for topic, command in FURTHER_HELP.items()))


def main() -> None:
    """Run the command line; replace characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            from appell.cli.characters import SIMILAR

            stream.reconfigure(errors=SIMILAR)
    try:
        app()
    finally:
        _flush_output()


def _flush_output() -> None:
    """Write the rest of the output; discard it if the pipe is closed or the disk full, which was handled before."""
    try:
        sys.stdout.flush()
    except OSError:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
