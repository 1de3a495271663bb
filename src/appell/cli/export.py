"""`appell export ROBOT FUNCTION --to LANGUAGE`: the equations of a robot as a file of another language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from appell.cli import completions
from appell.cli.answers import tell
from appell.cli.options import EXPORT, Actuators, Base, Force, Json, Physical, RobotName

LANGUAGES = {
    "c": "C99 source and header, no libraries, no allocation",
    "casadi": "a casadi.Function, for casadi.Function.load in Python, C++ or MATLAB",
    "jax": "a Python module over jax.numpy",
    "torch": "a Python module over PyTorch",
    "numpy": "a Python module over NumPy",
    "sympy": "SymPy expressions, as a Python module",
    "latex": "equations for a paper; small robots",
    "json": "the list of operations, for programs of your own",
}
ENDINGS = {"c": ".c", "casadi": ".casadi", "latex": ".tex", "json": ".json"}  # all others are Python


def register(app: typer.Typer) -> None:
    @app.command(
        rich_help_panel=EXPORT,
        epilog="Examples: [bold]appell export puma inverse_dynamics --to c[/] writes puma_inverse_dynamics.c and .h; "
        "[bold]appell export planar-2r mass_matrix --to latex -o -[/] prints equations; "
        "[bold]appell export panda forward_dynamics --by q,v --to casadi[/] exports derivatives.",
    )
    def export(
        robot: RobotName,
        function: Annotated[
            str,
            typer.Argument(
                help="A function of ap.Dynamics, such as inverse_dynamics.", autocompletion=completions.functions
            ),
        ],
        to: Annotated[
            str,
            typer.Option(help=f"The language: {', '.join(LANGUAGES)}.", autocompletion=completions.languages),
        ] = "c",
        frame: Annotated[
            str | None,
            typer.Option(help="The frame, for pose, jacobian, velocity, ...", autocompletion=completions.frames),
        ] = None,
        by: Annotated[
            str | None, typer.Option(help="Its derivatives by these arguments instead, with commas: q,v.")
        ] = None,
        single: Annotated[bool, typer.Option("--float", help="Single precision; for C alone.")] = False,
        output: Annotated[
            Path | None,
            typer.Option(
                "--output",
                "-o",
                help="File to write, or - to print; if not given, named after robot and function, in this folder.",
            ),
        ] = None,
        actuators: Actuators = False,
        base: Base = "fixed",
        physical: Physical = True,
        json: Json = False,
        force: Force = False,
    ) -> None:
        """Write a function of a robot in another language."""
        from appell.cli.reading import read_system
        from appell.cli.screen import say, screen
        from appell.display.bar import Bar
        from appell.dynamics import Dynamics
        from appell.errors import ArgumentError, unknown_name

        if to not in LANGUAGES:
            raise ArgumentError(unknown_name("language", to, LANGUAGES, "appell export"))
        if single and to != "c":
            raise ArgumentError("--float is for --to c alone; other languages take numbers as they come.")
        if json and str(output) == "-":
            raise ArgumentError("--json and --output - would both print to stdout.", expected="one of them")
        system = read_system(robot, base, physical)
        with Bar(f"exporting {function}", patience=0.0):
            found = _function(Dynamics(system, friction=actuators, rotors=actuators), function, frame)
            found = found.jacobian(*by.split(",")) if by else found
            paths = _write(found, to, _stem(system.name, found.name), single, output, force)
        written = [{"file": path, "bytes": path.stat().st_size} for path in paths]
        if json:
            sizes = {key: {x.name: list(x.shape) for x in getattr(found, key)} for key in ("inputs", "outputs")}
            tell({"robot": system.name, "function": found.name, "language": to, **sizes, "written": written})
            return
        for each in written:
            say(screen(), f"written {each['file']}, {each['bytes']:,} bytes")


def _function(dyn, name: str, frame: str | None):
    """A function of the catalogue by its name; those of frames need the name of one."""
    from appell.compile.function import Function
    from appell.errors import ArgumentError, unknown_name
    from appell.frame_catalogue import FrameCatalogue

    of_frames = [key for key in vars(FrameCatalogue) if not key.startswith("_")]
    entries = [key for key in dyn.functions if key not in of_frames]
    if name in of_frames:
        if frame is None:
            raise ArgumentError(f"{name} needs the name of a frame.", expected=f"--frame {dyn.system.frame_names[-1]}")
        return getattr(dyn, name)(frame)
    if name not in entries or not isinstance(getattr(dyn, name), Function):
        raise ArgumentError(unknown_name("function", name, [*entries, *of_frames], dyn.system.owner))
    if frame is not None:
        raise ArgumentError(f"{name} is no function of a frame.", expected=f"one of {', '.join(of_frames)}")
    return getattr(dyn, name)


def _stem(robot: str, function: str) -> str:
    """A name that C takes."""
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in f"{robot}_{function}")
    return letters if letters[0].isalpha() else f"robot_{letters}"


def _write(found, to: str, stem: str, single: bool, output: Path | None, force: bool) -> list[Path]:
    """Write or print it; the files that were written."""
    from appell.cli.targets import check_target
    from appell.display.bar import paused
    from appell.errors import ArgumentError

    ending = ENDINGS.get(to, ".py")
    printed = str(output) == "-"
    path = output if output is not None else Path(f"{stem}_{to}.py" if ending == ".py" else stem + ending)
    texts = {} if to == "casadi" else _texts(found, to, path.stem if output and not printed else stem, single, ending)
    if printed:
        if not texts:
            raise ArgumentError("a casadi.Function is no text that could be printed.", hint="--output file.casadi")
        for text in texts.values():
            with paused():
                typer.echo(text, nl=not text.endswith("\n"))
        return []
    check_target(path, force, (ending,))
    paths = [path, *(path.with_suffix(suffix) for suffix in texts if suffix != ending)]
    for each in paths[1:]:
        check_target(each, force)
    if to == "casadi":
        found.to_casadi().save(str(path))
    for suffix, text in texts.items():
        path.with_suffix(suffix).write_text(text, encoding="utf-8")
    return paths


def _texts(found, to: str, stem: str, single: bool, ending: str) -> dict[str, str]:
    """The texts of an export by the ending of their files."""
    import numpy as np

    from appell.compile.export.python_text import LIBRARIES, python_text
    from appell.compile.export.to_sympy import sympy_text

    if to == "c":
        code = found.to_c(stem, dtype=np.float32 if single else np.float64)
        return {".c": code.source, ".h": code.header}
    if to in LIBRARIES:
        return {ending: python_text(found, to)}
    return {ending: {"sympy": sympy_text, "latex": type(found).to_latex, "json": type(found).to_json}[to](found)}
