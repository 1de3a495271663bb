"""`appell view ROBOT|RECORD ...`: show a robot to move by hand, or motions to play, in the browser or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import appell as ap
from appell.cli import options
from appell.cli.input import MOVIES, check_target, numbers_if_given, read_system, surface
from appell.cli.options import LOOK, OUTPUT, argument, complete_robot, new_app, option
from appell.cli.output import Printer
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.model.system import System

PAGES = (".html", ".htm")

app = new_app()


@app.command(
    rich_help_panel=LOOK,
    epilog="Examples: [bold]appell view panda[/]; [bold]appell view arm.urdf --q 0,0.5,0[/]; "
    "[bold]appell view fall.npz --html fall.html[/]; [bold]appell view one.csv two.csv --robot puma[/].",
)
def view(
    shown: Annotated[
        list[str],
        argument(
            "A robot: a zoo name, a .urdf, .xml (MJCF), .sdf or .toml file, a robot of an installed package "
            "(talos, robot_descriptions:go2_description). Or records to play over each other: .csv, .npz, "
            ".parquet, .log.",
            complete=complete_robot,
            metavar="ROBOT|RECORD...",
        ),
    ],
    robot: Annotated[
        str, option("The robot that moves in the records; as they state it if not given.", complete=complete_robot)
    ] = "",
    q: Annotated[str, option("Configuration of a robot, numbers with commas: 0,0.5,1; its home if not given.")] = "",
    base: options.Base = "fixed",
    physical: options.Physical = True,
    wall: options.Walls = None,
    outside: options.Outside = False,
    html: Annotated[Path | None, option("A page to write instead, which needs no Python.", OUTPUT)] = None,
    movie: options.Movie = None,
    port: options.Port = 0,
    no_browser: options.NoBrowser = False,
    force: options.Force = False,
) -> None:
    """See a robot and move it by hand, or play records of its motion, in the browser."""
    from appell.motion.record_files import READERS

    for path, endings in ((html, PAGES), (movie, MOVIES)):
        check_target(path, force, endings)
    walls = [surface(text, not outside) for text in wall] if wall else None
    out = Printer()
    if Path(shown[0]).suffix.lower() in READERS:
        if q:
            raise ArgumentError("--q is for a robot that stands, and these are records.")
        records, system = _records(shown, robot, base, physical)
        given: dict[str, Any] = {"robot": system, "walls": walls}
    else:
        if len(shown) > 1 or robot:
            raise ArgumentError(f"'{shown[0]}' is a robot.", expected="one robot by itself, or records")
        records, system = [], _robot(shown[0], base, physical, out)
        given = {"walls": walls or (), "q": numbers_if_given(q, "--q", system.nq)}
    if movie is not None and len(records) != 1:
        what = "records over each other make" if records else "a robot that stands makes"
        raise ArgumentError(f"{what} no movie.", expected="one record", hint="--html FILE")
    if html is not None:
        if records:
            records[0].to_html(html, *records[1:], **given, overwrite=True)
        else:
            ap.to_html(system, html, **given, overwrite=True)
        out.say(f"written {html}")
    if movie is not None:
        records[0].movie(movie, **given, overwrite=True)
        out.say(f"written {movie}")
    if html is None and movie is None:
        given |= {"port": port, "open_browser": not no_browser, "wait": False}
        out.page(ap.view(records[0] if records else system, *records[1:], **given))


def _robot(name: str, base: str, physical: bool, out: Printer) -> System:
    """Return the robot of a name or a file; a robot of the zoo with the meshes of its namesake, where installed."""
    from appell.describe.robot_packages import EXAMPLES, example, examples

    if name in ap.zoo_names() and example(name) is not None:
        out.say(f"{name}: as example-robot-data describes it, with its meshes")
        return read_system(f"{EXAMPLES}{name}", base, physical)
    system = read_system(name, base, physical)
    if not getattr(system.tree, "visuals", ()):
        out.say(f"{system.name}: drawn from its geometry, because its description has no visual shapes")
        if name in ap.zoo_names() and not examples():
            out.say("some robots have meshes in the package example-robot-data: pip install example-robot-data")
    return system


def _records(paths: list[str], robot: str, base: str, physical: bool) -> tuple[list[ap.Record], System]:
    """Return the records of files, and the robot that moves in them."""
    from appell.motion.record_files import READERS

    for path in paths:
        if Path(path).suffix.lower() not in READERS:
            raise ArgumentError(f"'{path}' is not a record.", expected=f"names in {', '.join(READERS)}, as the first")
    records = [ap.Record.read(path) for path in paths]
    return records, read_system(robot or _robot_name(records), base, physical)


def _robot_name(records: list[ap.Record]) -> str:
    """Return the robot that records state, if appell finds it by its name: a record does not open other files."""
    from appell.describe.robot_packages import example
    from appell.describe.values import shortened

    first = next((record for record in records if "robot" in record.about), None)
    if first is None:
        problem = f"{records[0].source} does not say which robot moved."
        raise ArgumentError(problem, hint="--robot, a zoo name or a file")
    name = first.about["robot"]
    if not isinstance(name, str) or (name not in ap.zoo_names() and example(name) is None):
        problem = f"{first.source} is of robot {shortened(name)}, which does not come with appell."
        raise ArgumentError(problem, hint="--robot, the file that describes it")
    return name
