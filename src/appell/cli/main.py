"""The command `appell`: a group that imports the module of a command when that command is used.

An error of appell is a message on stderr and exit code 1, not a traceback; so is a file or a disk that cannot be used.
Other distributions, such as appell-lab, add commands through the entry-point group "appell.commands": the name of an
entry point is the name of the command, its object a `typer.Typer` of one command or of a group of commands.
"""

from __future__ import annotations

import inspect
import io
import shlex
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from appell.errors import AppellError, Hint
from appell.version import VERSION

COMMANDS = (  # in the order of the panels under which the help lists them; `appell.cli.NAME` defines each one
    *("robots", "info", "view", "workspace", "formulations", "count"),
    *("simulate", "rollout", "sweep", "trajectory", "torques"),
    *("control", "excite", "identify", "export", "convert"),
)
LABORATORY = ("bench", "campaign", "fuzz", "latency", "reproduce")  # commands of appell-lab
NARROW = 80  # columns below which the panels of the help cut names
FLAGS = {
    "overwrite": "force",
    "solver": "method",
    "patterns": "columns",
    "force": "force-export",
}  # parameter -> option of another name
FIRST = {  # the three most useful commands
    "appell view panda": "show a robot in the browser, or your own: view my_robot.urdf",
    "appell info puma": "summary of the model and operation counts of its equations: info my_robot.urdf",
    "appell simulate pendulum --q 1 --until 2": "simulate its motion, with walls if you like",
}
MORE = {
    "all commands": "appell --help",
    "robots to try": "appell robots",
    "in Python": "import appell as ap; help(ap)",
    "documentation": "folder docs of the sources; make docs builds it",
}


class Commands(TyperGroup):
    """The group of all commands."""

    def make_context(self, *given: Any, **options: Any) -> Any:
        _fit_help(self)
        return super().make_context(*given, **options)

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *(name for name in _added_commands() if name not in COMMANDS)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
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
        """Name the distribution of a command that is not installed."""
        if args and self.get_command(ctx, args[0]) is None:
            if args[0] in LABORATORY:
                ctx.fail(f"'{args[0]}' is a command of appell-lab, which is not installed. Run: pip install appell-lab")
            for name in self.list_commands(ctx):  # typer compares a wrong name with the commands that are loaded
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        from appell.cli.output import compilation_reported

        try:
            with compilation_reported():
                return super().invoke(ctx)
        except AppellError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            _print_error(type(error).__name__, in_flags(error, flags(command) if command else set()))
        except BrokenPipeError:
            raise  # the reader of the pipe has closed it, which is not an error
        except OSError as error:
            where = f"'{error.filename}': " if error.filename else ""
            _print_error("Error", f"{where}{error.strerror or error}.")
        raise typer.Exit(1)


def _added_commands() -> dict[str, EntryPoint]:
    """Return the commands of other distributions by name, without importing them."""
    return {point.name: point for point in sorted(entry_points(group="appell.commands"), key=lambda point: point.name)}


def flags(command: Any) -> set[str]:
    """Return the options of a command and of those below it."""
    own = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return own.union(*(flags(below) for below in getattr(command, "commands", {}).values()))


def in_flags(error: AppellError, known: set[str]) -> str:
    """Return the message of an error; its hints name the flags of a command instead of Python's parameters."""

    def spelled(name: str, value: Any) -> str:
        flag = FLAGS.get(name, name).replace("_", "-")
        if value is False and f"--no-{flag}" in known:
            return f"--no-{flag}"
        if f"--{flag}" not in known:
            return Hint.in_python(name, value)
        if isinstance(value, dict):
            return " ".join(f"--{flag} {shlex.quote(f'{key}={each}')}" for key, each in value.items())
        return f"--{flag}" if value is True or value is ... else f"--{flag} {value}"

    return error.message(spelled)


def _print_error(kind: str, message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, soft_wrap=True).print(Text.assemble((kind, "bold red"), ": ", message))


def _fit_help(command: Any) -> None:
    """Print the help of a command as plain lines that wrap on a terminal whose panels would cut names."""
    from rich.console import Console
    from rich.text import Text

    if Console().width >= NARROW:
        return
    command.rich_markup_mode = None
    for part in ("help", "epilog"):
        setattr(command, part, Text.from_markup(getattr(command, part) or "").plain)
    command.short_help = inspect.cleandoc(command.help).split("\n\n")[0]  # in full, where it would be cut
    for below in getattr(command, "commands", {}).values():
        _fit_help(below)


app = typer.Typer(
    cls=Commands,
    name="appell",
    help="A robot-dynamics compiler: Gibbs-Appell equations of motion as compiled NumPy functions.",
    epilog="Examples: [bold]appell view panda[/]; [bold]appell info my_robot.urdf[/]; [bold]appell COMMAND --help[/] "
    "has more. Answers for programs: [bold]--json[/]. Tab completes names after [bold]appell --install-completion[/].",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"appell {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        greet()


def greet() -> None:
    """Print what appell is, three commands to try, and where to find more."""
    from appell.cli.output import Printer

    out = Printer()
    out.say(f"appell {VERSION}, a robot-dynamics compiler: from a URDF, MJCF, SDF or DH table")
    out.say("to equations of motion in machine code; it simulates, controls and identifies.")
    for command, what in FIRST.items():
        out.console.print(f"\n  [bold]{command}[/]\n      {what}", highlight=False)
    out.say("", *(f"{what:15}{where}" for what, where in MORE.items()))


def main() -> None:
    """Run the command line; replace characters that the terminal lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            from appell.cli.characters import SIMILAR

            stream.reconfigure(errors=SIMILAR)
    app()
