"""Pages of the reference: every public name, chapter by chapter, from the modules themselves.

A page is written anew at each build into docs/reference/, from the names that a module exports. So a name that is
added appears, and one without a docstring stops the build.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import appell

CHAPTERS = {
    "describe": ("Describe a robot", None, "appell.describe appell.algebra"),
    "model": ("What a robot is", None, "appell.model"),
    "dynamics": ("Its equations, compiled", None, "appell.dynamics appell.compile"),
    "constraints": ("Constraints", "appell.model.constraint", ""),
    "legs": ("Legs of your own mechanisms", "appell.describe.legs", ""),
    "shapes": ("Bodies of simple shapes", "appell.model.shapes", ""),
    "simulation": ("Simulation", "appell.simulation", ""),
    "motion": ("Motion: paths and records", "appell.motion", ""),
    "kinematics": ("Kinematics", "appell.kinematics", ""),
    "inverse": ("Inverse kinematics", "appell.kinematics.inverse", ""),
    "show": ("Pages, drawings and the viewer", "appell.show", ""),
    "control": ("Control", "appell.control", ""),
    "hardware": ("Hardware", "appell.hardware", ""),
    "learning": ("Environments for learning", "appell.learning", ""),
    "identify": ("Identification", "appell.identify", ""),
    "sweeps": ("Sweeps", "appell.sweeps", ""),
    "errors": ("Errors and warnings", None, "appell.errors"),
}
TOP = "appell"


def names_of(module: str | None, origins: str) -> list[tuple[str, str]]:
    """Pairs (home, name): all that a module exports, or those names of appell that come from some packages."""
    if module is not None:
        listed = getattr(import_module(module), "__all__", ())
        return [(module, name) for name in listed]
    found = []
    for name in appell.__all__:
        value = getattr(appell, name)
        if inspect.ismodule(value) or value.__module__.startswith("appell.model.constraint"):
            continue  # constraints have a chapter of their own
        if value.__module__.startswith(tuple(origins.split())):
            found.append((TOP, name))
    return found


def page(title: str, module: str | None, origins: str) -> str:
    lines = [title, "=" * len(title), ""]
    if module is not None:
        lines += [f".. automodule:: {module}", "   :no-index:", ""]
    for home, name in names_of(module, origins):
        value = getattr(import_module(home), name)
        if inspect.ismodule(value):
            continue
        if inspect.isclass(value):
            hidden = issubclass(value, BaseException)
            lines += [
                f".. autoclass:: {home}.{name}",
                *(() if hidden else ("   :members:", "   :inherited-members:")),
                "",
            ]
        elif callable(value):
            lines += [f".. autofunction:: {home}.{name}", ""]
        else:
            lines += [f".. autodata:: {home}.{name}", ""]
    return "\n".join(lines)


def write(app) -> None:
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    for key, described in CHAPTERS.items():
        target, text = folder / f"{key}.rst", page(*described)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    listed = "\n".join(f"   {key}" for key in CHAPTERS)
    (folder / "index.rst").write_text(
        f"Reference\n=========\n\n.. toctree::\n\n{listed}\n   commands\n", encoding="utf-8"
    )


def setup(app):
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
