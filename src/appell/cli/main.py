"""The command `appell`: one file a subcommand, gathered here.

An error of ours is a message on stderr and exit code 1, not a traceback.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from appell.cli import (
    bench,
    control,
    count,
    excite,
    formulations,
    identify,
    info,
    latency,
    reproduce,
    robots,
    simulate,
    torques,
    trajectory,
    workspace,
)
from appell.errors import AppellError


class Commands(TyperGroup):
    """The group of all subcommands."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except AppellError as error:
            message = Text.assemble((type(error).__name__, "bold red"), ": ", str(error))
            Console(stderr=True, soft_wrap=True).print(message)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=Commands,
    name="appell",
    help="A robot-dynamics compiler: Gibbs-Appell equations of motion as compiled NumPy functions.",
    epilog="Example: [bold]appell info puma[/] shows the joints, masses and operation counts of the PUMA 560.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    robots,
    info,
    trajectory,
    torques,
    workspace,
    bench,
    formulations,
    count,
    excite,
    identify,
    control,
    latency,
    simulate,
    reproduce,
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
    """The entry point."""
    app()
