"""`appell export ROBOT FUNCTION --to LANGUAGE`: write a function of a robot in another language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import appell as ap
from appell.cli import options
from appell.cli.input import check_target, read_system
from appell.cli.options import (
    EXPORT,
    MODEL,
    OUTPUT,
    argument,
    complete_frame,
    complete_function,
    entries_of,
    new_app,
    option,
)
from appell.cli.output import Printer
from appell.errors import ArgumentError, unknown_name
from appell.files import replacing
from appell.progress import Bar, paused

LANGUAGES = {
    "c": "C99 source and header, without libraries and memory allocation",
    "casadi": "a casadi.Function, for casadi.Function.load in Python, C++ or MATLAB",
    "jax": "a Python module that uses jax.numpy",
    "torch": "a Python module that uses PyTorch",
    "numpy": "a Python module that uses NumPy",
    "sympy": "a Python module with SymPy expressions",
    "latex": "equations for a paper; for small robots",
    "json": "the list of operations, for other programs",
    "wasm": "a WebAssembly module, a JavaScript module that loads it, and TypeScript declarations",
}
ENDINGS = {"c": ".c", "casadi": ".casadi", "latex": ".tex", "json": ".json", "wasm": ".wasm"}  # all others: .py
NOT_PRINTABLE = {"casadi": "a casadi.Function", "wasm": "a WebAssembly module"}

app = new_app()


@app.command(
    rich_help_panel=EXPORT,
    epilog="Examples: [bold]appell export puma inverse_dynamics --to c[/] writes puma_inverse_dynamics.c and .h; "
    "[bold]appell export planar-2r mass_matrix --to latex -o -[/] prints equations; "
    "[bold]appell export panda forward_dynamics --by q,v --to casadi[/] exports derivatives.",
)
def export(
    robot: options.RobotName,
    function: Annotated[
        str, argument("Function of ap.Dynamics, such as inverse_dynamics.", complete=complete_function)
    ],
    to: Annotated[
        str, option(f"Target language: {', '.join(LANGUAGES)}.", complete=entries_of("appell.cli.export:LANGUAGES"))
    ] = "c",
    frame: Annotated[
        str | None,
        option("Frame, for functions of frames: pose, jacobian, velocity and others.", complete=complete_frame),
    ] = None,
    by: Annotated[
        str | None, option("Export the derivatives with respect to these arguments instead, comma-separated: q,v.")
    ] = None,
    single: Annotated[bool, option("Use single precision; only for C and WebAssembly.", "", "--float")] = False,
    friction: Annotated[bool, option("Include the friction of the joints.", MODEL, "--friction")] = False,
    rotors: Annotated[bool, option("Include the rotor inertias of the actuators.", MODEL, "--rotors")] = False,
    base: options.Base = "fixed",
    physical: options.Physical = True,
    output: Annotated[
        Path | None,
        option(
            "File to write, or - to print to stdout; by default ROBOT_FUNCTION with the suffix of the language.",
            OUTPUT,
            "--output",
            "-o",
        ),
    ] = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Export a function of a robot to another language."""
    if to not in LANGUAGES:
        raise ArgumentError(unknown_name("language", to, LANGUAGES, "appell export"))
    if single and to not in ("c", "wasm"):
        raise ArgumentError(f"--float is only for --to c and --to wasm, not for --to {to}.")
    if json and str(output) == "-":
        raise ArgumentError("--json and --output - both print to stdout.", expected="only one of them")
    system = read_system(robot, base, physical)
    with Bar(f"exporting {function}", delay=0.0):
        exported = _function(ap.Dynamics(system, friction=friction, rotors=rotors), function, frame)
        exported = exported.jacobian(*by.split(",")) if by else exported
        paths = _write(exported, to, _stem(system.name, exported.name), single, output, force)
    written = [{"file": path, "bytes": path.stat().st_size} for path in paths]
    sizes = {key: {x.name: list(x.shape) for x in getattr(exported, key)} for key in ("inputs", "outputs")}
    data = {"robot": system.name, "function": exported.name, "language": to, **sizes, "written": written}
    Printer(json).answer(data, *(f"wrote {each['file']}, {each['bytes']:,} bytes" for each in written))


def _function(dyn: ap.Dynamics, name: str, frame: str | None) -> Any:
    """Return a function of `Dynamics` by its name, and by a frame for functions of frames."""
    from appell.dynamics.frames import FRAME_FUNCTIONS

    entries = [key for key in dyn.functions if key not in FRAME_FUNCTIONS]
    if name in FRAME_FUNCTIONS:
        if frame is None:
            raise ArgumentError(f"{name} needs a frame.", expected=f"--frame {dyn.system.frame_names[-1]}")
        return getattr(dyn, name)(frame)
    if name not in entries or not isinstance(getattr(dyn, name), ap.Function):
        raise ArgumentError(unknown_name("function", name, [*entries, *FRAME_FUNCTIONS], dyn.system.owner))
    if frame is not None:
        raise ArgumentError(f"{name} is not a function of a frame.", expected=f"one of {', '.join(FRAME_FUNCTIONS)}")
    return getattr(dyn, name)


def _stem(robot: str, function: str) -> str:
    """Return a valid C identifier for a function of a robot."""
    letters = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in f"{robot}_{function}")
    return letters if letters[0].isalpha() else f"robot_{letters}"


def _write(exported: Any, to: str, stem: str, single: bool, output: Path | None, force: bool) -> list[Path]:
    """Write the function to files, or print it; return the written files."""
    ending = ENDINGS.get(to, ".py")
    printed = str(output) == "-"
    path = output if output is not None else Path(f"{stem}_{to}.py" if ending == ".py" else stem + ending)
    if printed and to in NOT_PRINTABLE:
        raise ArgumentError(
            f"{NOT_PRINTABLE[to]} cannot be printed.", hint=f"Write it to a file: --output file{ending}."
        )
    contents = (
        {} if to == "casadi" else _contents(exported, to, path.stem if output and not printed else stem, single, ending)
    )
    if printed:
        for text in contents.values():
            with paused():
                typer.echo(text, nl=not text.endswith("\n"))
        return []
    check_target(path, force, (ending,))
    paths = [path, *(path.with_suffix(suffix) for suffix in contents if suffix != ending)]
    for each in paths[1:]:
        check_target(each, force)
    if to == "casadi":
        exported.to_casadi().save(str(path))
    for suffix, content in contents.items():
        with replacing(path.with_suffix(suffix)) as part:
            part.write_bytes(content if isinstance(content, bytes) else content.encode())
    return paths


def _contents(exported: Any, to: str, stem: str, single: bool, ending: str) -> dict[str, Any]:
    """Return the contents of an export by the suffix of their files."""
    from appell.compile.exchange.python_text import LIBRARIES, python_text
    from appell.compile.exchange.to_sympy import sympy_text

    dtype = np.float32 if single else np.float64
    if to == "c":
        code = exported.to_c(stem, dtype=dtype)
        return {".c": code.source, ".h": code.header}
    if to == "wasm":
        files = exported.to_wasm(stem, dtype=dtype)
        return {".wasm": files.binary, ".mjs": files.javascript, ".d.mts": files.declarations}
    if to in LIBRARIES:
        return {ending: python_text(exported, to)}
    return {
        ending: {"sympy": sympy_text, "latex": type(exported).to_latex, "json": type(exported).to_json}[to](exported)
    }
