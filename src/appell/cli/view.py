"""`appell view ROBOT|RECORD ...`: show a robot or play records in the browser, or write a page or movie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import appell as ap
from appell.cli import options
from appell.cli.input import MOVIES, check_target, configuration_if_given, is_record, read_record, read_system, surface
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
    "[bold]appell view puma --live --html puma.html[/]; "
    "[bold]appell view fall.npz --html fall.html[/]; [bold]appell view one.csv two.csv --robot puma[/].",
)
def view(
    shown: Annotated[
        list[str],
        argument(
            "Robot: a zoo name, a .urdf, .xml (MJCF), .sdf or .toml file, or a robot of an installed package "
            "(talos, robot_descriptions:go2_description). Or records to play together: .csv, .npz, .parquet, .mcap, "
            ".db3 or .log files, or folders of ROS 2 bags.",
            complete=complete_robot,
            metavar="ROBOT|RECORD...",
        ),
    ],
    robot: Annotated[
        str, option("Robot of the records; by default the one that they name.", complete=complete_robot)
    ] = "",
    q: Annotated[
        str,
        option(
            "Configuration of the robot, comma-separated: all coordinates (0,0.5,1) or some joints "
            "(elbow=0.5); by default the home configuration."
        ),
    ] = "",
    base: options.Base = "fixed",
    physical: options.Physical = True,
    wall: options.Walls = None,
    outside: options.Outside = False,
    collisions: Annotated[
        bool, option("Show collision shapes, the closest pair, and where shapes touch.", "", "--collisions")
    ] = False,
    bending: Annotated[
        float, option("Factor of the deflections of flexible links in the picture; 20 shows small vibrations.")
    ] = 1.0,
    html: Annotated[Path | None, option("Write a self-contained web page to this .html file instead.", OUTPUT)] = None,
    live: Annotated[
        bool,
        option(
            "Simulate the robot in the page of --html: drag, push and drop it, change its controller.", OUTPUT, "--live"
        ),
    ] = False,
    movie: options.Movie = None,
    port: options.Port = 0,
    no_browser: options.NoBrowser = False,
    force: options.Force = False,
) -> None:
    """Show a robot in the browser and move its joints, or play records of its motion."""
    for path, endings in ((html, PAGES), (movie, MOVIES)):
        check_target(path, force, endings)
    walls = [surface(text, not outside) for text in wall] if wall else None
    out = Printer()
    if is_record(shown[0]):
        if q:
            raise ArgumentError("--q cannot be used with records.", expected="a robot, or records without --q")
        records, system = _records(shown, robot, base, physical)
        given: dict[str, Any] = {"robot": system, "walls": walls}
    else:
        if len(shown) > 1 or robot:
            raise ArgumentError(
                f"'{shown[0]}' is a robot, followed by other arguments.", expected="one robot, or records"
            )
        records, system = [], _robot(shown[0], base, physical, out)
        given = {"walls": walls or (), "q": configuration_if_given(q, system)}
    if live and (records or html is None):
        raise ArgumentError("--live needs a robot and --html.", expected="appell view ROBOT --live --html FILE")
    if collisions and (live or movie is not None):
        raise ArgumentError("--collisions cannot be used with --live or --movie.", expected="a page or the viewer")
    if live and bending != 1.0:
        raise ArgumentError("--bending cannot be used with --live.", expected="a page without --live, or the viewer")
    given["bending"] = bending
    if movie is not None and len(records) != 1:
        subject = f"{len(records)} records" if records else "a robot without a motion"
        raise ArgumentError(f"{subject} cannot be written as a movie.", expected="one record", hint="Use --html FILE.")
    if html is not None:
        if live:
            contacts = [ap.Contact("all", each) for each in walls or ()]
            ap.live_page(system, html, given["q"], contacts=contacts, overwrite=True)
        elif records:
            records[0].to_html(html, *records[1:], **given, collisions=collisions, overwrite=True)
        else:
            ap.to_html(system, html, **given, collisions=collisions, overwrite=True)
        out.say(f"wrote {html}")
    if movie is not None:
        records[0].movie(movie, **given, overwrite=True)
        out.say(f"wrote {movie}")
    if html is None and movie is None:
        given |= {"collisions": collisions, "port": port, "open_browser": not no_browser, "wait": False}
        out.page(ap.view(records[0] if records else system, *records[1:], **given))


def _robot(name: str, base: str, physical: bool, out: Printer) -> System:
    """Return a robot; one of the zoo with the meshes of example-robot-data, if it is installed there."""
    from appell.describe.robot_packages import EXAMPLES, example, examples

    if name in ap.zoo_names() and example(name) is not None:
        out.say(f"{name}: using the description and meshes of example-robot-data")
        return read_system(f"{EXAMPLES}{name}", base, physical)
    system = read_system(name, base, physical)
    if not getattr(system.tree, "visuals", ()):
        out.say(f"{system.name}: drawn from its joint geometry, because its description has no visual shapes")
        if name in ap.zoo_names() and not examples():
            out.say("for meshes of some robots, run: pip install example-robot-data")
    return system


def _records(paths: list[str], robot: str, base: str, physical: bool) -> tuple[list[ap.Record], System]:
    """Return the records of files, and their robot."""
    for path in paths:
        if not is_record(path):
            raise ArgumentError(f"'{path}' is not a record.", expected="only records after the first one")
    if robot:
        system = read_system(robot, base, physical)
        return [read_record(Path(path), system) for path in paths], system
    records = [read_record(Path(path)) for path in paths]
    return records, read_system(_robot_name(records), base, physical)


def _robot_name(records: list[ap.Record]) -> str:
    """Return the robot that records name, if it is included in appell; files that they name are not opened."""
    from appell.describe.robot_packages import example
    from appell.describe.values import shortened

    first = next((record for record in records if "robot" in record.about), None)
    if first is None:
        problem = f"{records[0].source} does not name its robot."
        raise ArgumentError(problem, hint="Pass --robot with a zoo name or a file.")
    name = first.about["robot"]
    if not isinstance(name, str) or (name not in ap.zoo_names() and example(name) is None):
        problem = f"{first.source} is a record of robot {shortened(name)}, which is not included in appell."
        raise ArgumentError(problem, hint="Pass --robot with the file that describes it.")
    return name
