"""Pages of the API reference: every public name, chapter by chapter, generated from the modules.

Each build writes the pages into docs/reference/ from the names that the modules export, so that new names appear
without further work. A name without a docstring fails a test.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import appell

CHAPTERS = {
    "describe": ("Describe a robot", None, "appell.describe appell.algebra"),
    "model": ("Robots, bodies, joints and actuators", None, "appell.model"),
    "dynamics": ("Dynamics and compiled functions", None, "appell.dynamics appell.compile"),
    "constraints": ("Constraints", "appell.model.constraint", ""),
    "legs": ("Legs of mechanisms", "appell.describe.legs", ""),
    "shapes": ("Bodies of simple shapes", "appell.model.shapes", ""),
    "simulation": ("Simulation", "appell.simulation", ""),
    "motion": ("Motion: paths and records", "appell.motion", ""),
    "kinematics": ("Kinematics", "appell.kinematics", ""),
    "inverse": ("Inverse kinematics", "appell.kinematics.inverse", ""),
    "show": ("Pages, drawings and the viewer", "appell.show", ""),
    "control": ("Control", "appell.control", ""),
    "optimal": ("Optimal control", None, "appell.optimal"),
    "hardware": ("Hardware", "appell.hardware", ""),
    "learning": ("Environments for learning", "appell.learning", ""),
    "identify": ("Identification", "appell.identify", ""),
    "check": ("Checks of motions", None, "appell.identify.check"),
    "sweeps": ("Sweeps", "appell.sweeps", ""),
    "errors": ("Errors and warnings", None, "appell.errors"),
}
TOP = "appell"


def names_of(module: str | None, origins: str) -> list[tuple[str, str]]:
    """Return pairs (module, name): all names that a module exports, or the names of appell defined in some packages."""
    if module is not None:
        listed = getattr(import_module(module), "__all__", ())
        return [(module, name) for name in listed]
    pairs = []
    for name in appell.__all__:
        value = getattr(appell, name)
        if inspect.ismodule(value) or value.__module__.startswith("appell.model.constraint"):
            continue  # constraints have their own chapter
        if value.__module__.startswith(tuple(origins.split())):
            pairs.append((TOP, name))
    return pairs


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
