"""The command `appell`: one file a subcommand, gathered here.

An error of ours is a message on stderr and exit code 1, not a traceback; so is a file or a disk that refuses.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from appell.cli import (
    bench,
    control,
    convert,
    count,
    excite,
    export,
    formulations,
    fuzz,
    identify,
    info,
    latency,
    reproduce,
    robots,
    rollout,
    simulate,
    sweep,
    torques,
    trajectory,
    view,
    workspace,
)
from appell.cli.compiling import compiling_told
from appell.cli.greeting import greet
from appell.cli.hints import flags, in_flags
from appell.cli.letters import LIKEST
from appell.cli.narrow_help import suit_width
from appell.cli.options import PANELS
from appell.errors import AppellError


class Commands(TyperGroup):
    """The group of all subcommands."""

    def make_context(self, *given, **options):
        suit_width(self)
        return super().make_context(*given, **options)

    def list_commands(self, ctx):
        """In the order of the panels."""
        panels = {name: getattr(command, "rich_help_panel", None) for name, command in self.commands.items()}
        return sorted(panels, key=lambda name: PANELS.index(panels[name]) if panels[name] in PANELS else len(PANELS))

    def invoke(self, ctx):
        try:
            with compiling_told():
                return super().invoke(ctx)
        except AppellError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            _tell(type(error).__name__, in_flags(str(error), flags(command) if command else set()))
        except BrokenPipeError:
            raise  # who reads us has seen enough, which is no error
        except OSError as error:
            where = f"'{error.filename}': " if error.filename else ""
            _tell("Error", f"{where}{error.strerror or error}.")
        raise typer.Exit(1)


def _tell(kind: str, message: str) -> None:
    Console(stderr=True, soft_wrap=True).print(Text.assemble((kind, "bold red"), ": ", message))


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
for command in (  # in the order of the panels of `options`, under which the help lists them
    robots,
    info,
    view,
    workspace,
    formulations,
    count,
    simulate,
    rollout,
    sweep,
    trajectory,
    torques,
    control,
    excite,
    identify,
    export,
    convert,
    bench,
    latency,
    reproduce,
    fuzz,
):
    command.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        from appell import __version__

        typer.echo(f"appell {__version__}")
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


def main() -> None:
    """The entry point; a terminal that lacks a letter gets one like it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=LIKEST)
    app()
