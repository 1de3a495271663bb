"""`appell reproduce`: the papers' tables and figures beside our own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from appell.cli.screen import screen
from appell.errors import ArgumentError, unknown_name
from appell.lab.papers import SECTIONS
from appell.lab.papers.page import Page


def register(app: typer.Typer) -> None:
    @app.command(epilog="Example: [bold]appell reproduce dynamics --output figures[/].")
    def reproduce(
        sections: Annotated[
            list[str] | None, typer.Argument(help=f"Any of {', '.join(SECTIONS)}; all if none.")
        ] = None,
        output: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("out"),
    ) -> None:
        """Compute the papers' published results anew and show them beside the printed values."""
        chosen = sections or list(SECTIONS)
        for name in chosen:
            if name not in SECTIONS:
                raise ArgumentError(unknown_name("section", name, SECTIONS, "appell reproduce"))
        page = Page(screen(), output)
        for name in chosen:
            page.title(name)
            import_module(SECTIONS[name]).run(page)
