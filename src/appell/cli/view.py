"""`appell view ROBOT|RECORD ...`: a robot to move by hand, or motions to play, in the browser or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from appell.cli import completions
from appell.cli.options import LOOK, Base, Force, NoBrowser, Outside, Physical, Port, Walls
from appell.describe.values import shortened
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.model.system import System
    from appell.motion.record import Record

PAGES = (".html", ".htm")


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=LOOK,
        epilog="Examples: [bold]appell view panda[/]; [bold]appell view arm.urdf --q 0,0.5,0[/]; "
        "[bold]appell view fall.npz --html fall.html[/]; [bold]appell view one.csv two.csv --robot puma[/].",
    )
    def view(
        shown: Annotated[
            list[str],
            typer.Argument(
                metavar="ROBOT|RECORD...",
                help="A robot: a zoo name, a .urdf, .xml (MJCF), .sdf or .toml file, a robot of an installed package "
                "(talos, robot_descriptions:go2_description). Or records to play over each other: .csv, .npz, "
                ".parquet, .log.",
                autocompletion=completions.robots,
            ),
        ],
        robot: Annotated[
            str,
            typer.Option(
                help="Whose motion the records are; as they say themselves if not given.",
                autocompletion=completions.robots,
            ),
        ] = "",
        q: Annotated[
            str, typer.Option(help="Where a robot stands, numbers with commas: 0,0.5,1; its home if not given.")
        ] = "",
        wall: Walls = None,
        outside: Outside = False,
        base: Base = "fixed",
        physical: Physical = True,
        html: Annotated[Path | None, typer.Option(help="A page to write instead, which needs no Python.")] = None,
        movie: Annotated[Path | None, typer.Option(help="GIF or MP4 to write instead.")] = None,
        port: Port = 0,
        no_browser: NoBrowser = False,
        force: Force = False,
    ) -> None:
        """See a robot and move it by hand, or play records of its motion, in the browser."""
        from appell.cli.pictures import stay
        from appell.cli.screen import say, screen
        from appell.cli.targets import MOVIES, check_target
        from appell.cli.walls import surface
        from appell.motion.files.formats import READERS

        for path, endings in ((html, PAGES), (movie, MOVIES)):
            check_target(path, force, endings)
        walls = [surface(text, not outside) for text in wall] if wall else None
        console = screen()
        if Path(shown[0]).suffix.lower() in READERS:
            if q:
                raise ArgumentError("--q is for a robot that stands, and these are records.")
            records, system = _records(shown, robot, base, physical)
            given: dict[str, Any] = {"robot": system, "walls": walls}
        else:
            if len(shown) > 1 or robot:
                raise ArgumentError(f"'{shown[0]}' is a robot.", expected="one robot by itself, or records")
            records, system = [], _robot(shown[0], base, physical, console)
            given = {"walls": walls or (), "q": _configuration(q, system)}
        written = _write(records, system, given, html, movie)
        for path in written:
            say(console, f"written {path}")
        if not written:
            from appell.motion.staging.view import view as opened

            given |= {"port": port, "open_browser": not no_browser, "wait": False}
            stay(opened(records[0], *records[1:], **given) if records else opened(system, **given), console)


def _robot(name: str, base: str, physical: bool, console: Any) -> System:
    """The robot of a name or a file; one of the zoo with the meshes of its namesake, where these are installed."""
    from appell.cli.reading import read_system
    from appell.cli.screen import say
    from appell.describe.catalogues import EXAMPLES, example, examples
    from appell.describe.load import zoo_names

    if name in zoo_names() and example(name) is not None:
        say(console, f"{name}: as example-robot-data describes it, with its meshes")
        return read_system(f"{EXAMPLES}{name}", base, physical)
    system = read_system(name, base, physical)
    if not getattr(system.tree, "visuals", ()):
        say(console, f"{system.name}: drawn from its geometry, for its description says nothing of its looks")
        if name in zoo_names() and not examples():
            say(console, "some robots have meshes in the package example-robot-data: pip install example-robot-data")
    return system


def _configuration(text: str, system: System) -> Any:
    from appell.cli.numbers import numbers

    return numbers(text, "--q", system.nq) if text else None


def _records(paths: list[str], robot: str, base: str, physical: bool) -> tuple[list[Record], System]:
    """The records of files, and what moved in them."""
    from appell.cli.reading import read_system
    from appell.motion.files.formats import READERS
    from appell.motion.record import Record

    for path in paths:
        if Path(path).suffix.lower() not in READERS:
            raise ArgumentError(f"'{path}' is no record.", expected=f"names in {', '.join(READERS)}, as the first")
    records = [Record.read(path) for path in paths]
    return records, read_system(robot or _named(records), base, physical)


def _named(records: list[Record]) -> str:
    """The robot that records say they are of, if it is one that comes by its name: no file opens another."""
    from appell.describe.catalogues import example
    from appell.describe.load import zoo_names

    first = next((record for record in records if "robot" in record.about), None)
    if first is None:
        raise ArgumentError(
            f"{records[0].source} does not say which robot moved.", hint="--robot, a zoo name or a file"
        )
    name = first.about["robot"]
    if not isinstance(name, str) or (name not in zoo_names() and example(name) is None):
        problem = f"{first.source} is of robot {shortened(name)}, which does not come with appell."
        raise ArgumentError(problem, hint="--robot, the file that describes it")
    return name


def _write(
    records: list[Record], system: System, given: dict[str, Any], html: Path | None, movie: Path | None
) -> list[Path]:
    """The files that were asked for."""
    if html is not None and records:
        records[0].to_html(html, *records[1:], **given, overwrite=True)
    elif html is not None:
        from appell.motion.staging.pages import to_html

        to_html(system, html, **given, overwrite=True)
    if movie is not None:
        if len(records) != 1:
            what = "records over each other make" if records else "a robot that stands makes"
            raise ArgumentError(f"{what} no movie.", expected="one record", hint="--html FILE")
        records[0].movie(movie, **given)
    return [path for path in (html, movie) if path is not None]
