"""What `appell` says when it is not asked anything: what it is, three lines to paste, and where there is more."""

from __future__ import annotations

from appell.cli.screen import say, screen

FIRST = {  # the three most useful commands
    "appell view panda": "look at a robot in the browser, or at yours: view my_robot.urdf",
    "appell info puma": "what was read of it and what its equations cost: info my_robot.urdf",
    "appell simulate pendulum --q 1 --until 2": "let it move, with walls in its way if you like",
}
MORE = {
    "all commands": "appell --help",
    "robots to try": "appell robots",
    "in Python": "import appell as ap; help(ap)",
    "documentation": "folder docs of the sources; make docs builds it",
}


def greet() -> None:
    """To stdout; nothing went wrong."""
    from appell import __version__

    console = screen()
    say(console, f"appell {__version__}, a robot-dynamics compiler: from a URDF, MJCF, SDF or DH table")
    say(console, "to equations of motion in machine code; it simulates, controls and identifies.")
    for command, what in FIRST.items():
        console.print(f"\n  [bold]{command}[/]\n      {what}", highlight=False)
    console.print()
    for what, where in MORE.items():
        say(console, f"{what:15}{where}")
