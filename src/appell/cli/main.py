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
from appell.cli.hints import flags, in_flags
from appell.errors import AppellError


class Commands(TyperGroup):
    """The group of all subcommands."""

    def invoke(self, ctx):
        try:
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
    epilog="Example: [bold]appell info puma[/] shows the joints, masses and operation counts of the PUMA 600.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    robots,
    info,
    convert,
    trajectory,
    torques,
    workspace,
    bench,
    formulations,
    count,
    excite,
    identify,
    export,
    control,
    latency,
    simulate,
    view,
    rollout,
    sweep,
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
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The entry point; a terminal that lacks a letter gets a question mark in its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
