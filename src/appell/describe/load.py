"""Load a robot or mechanism: by its name in the zoo, or from URDF, xacro, MJCF, SDF or TOML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from appell.describe.files import (
    FILE_KINDS,
    LEADING_CHARACTERS,
    format_of_file,
    format_of_text,
    format_of_xml,
    is_directory,
    read_text,
)
from appell.describe.robot_packages import example, examples, file_of_named_package, makers
from appell.describe.toml.mechanism import check_tree_options, dimensions_of
from appell.describe.toml.read import read_toml
from appell.describe.urdf.read import read_urdf
from appell.describe.urdf.srdf import srdf_of, with_srdf
from appell.describe.urdf.xacro import expanded
from appell.describe.values import shortened
from appell.describe.visuals import MeshFiles
from appell.errors import DescriptionError, unknown_name
from appell.model.constraint import Constraint
from appell.model.robot import ConstrainedRobot, Robot
from appell.model.system import System


def _read_mjcf(text: str, **options: Any) -> System:
    from appell.describe.mjcf.read import read_mjcf

    return read_mjcf(text, **options)


def _read_sdf(text: str, **options: Any) -> System:
    from appell.describe.sdf import read_sdf

    return read_sdf(text, **options)


READERS: dict[str, Callable[..., System]] = {
    "urdf": read_urdf,
    "toml": read_toml,
    "mjcf": _read_mjcf,
    "sdf": _read_sdf,
}
PACKAGE = "package://"
CONSTRAINED = "constrained"  # the folder of the zoo for robots with loops and wheels


def load(
    source: str | Path,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    name: str | None = None,
    loops: Iterable[Constraint] = (),
    without: Iterable[str] = (),
    arguments: Mapping[str, str] | None = None,
    package_dirs: Iterable[str | Path] = (),
    **dimensions: Any,
) -> System:
    """Load a robot or mechanism.

    Parameters
    ----------
    source : one of
        - a name of the zoo: "puma" (`zoo_names()` lists all);
        - a path: .urdf, .xacro, .xml or .mjcf (MJCF), .sdf or .toml;
        - the text of such a file;
        - a robot of an installed package: "robot_descriptions:panda_description", "example-robot-data:talos" or, if
          example-robot-data is installed, "talos";
        - a file of a ROS package: "package://talos_data/robots/talos.urdf".
    base : joint between the world and the root link: "fixed", "floating", "planar" or "spherical"; trees only
    physical : if False, a link without inertia counts as massless, and bodies that cannot exist are accepted; one
        warning names them
    mimic : if False, every mimic joint gets its own coordinate; trees only
    name : name of the robot, instead of the one in the description
    loops : constraints that the description does not contain: `loops=[ap.Point("rod", "heel")]`; trees only
    without : kinds of parts to leave out of an MJCF instead of rejecting it, such as "tendon" or "fluid"
    arguments : arguments of a xacro file
    package_dirs : folders in which mesh files and package:// names are searched first, before the folders of ROS and
        those that contain the robot's file
    **dimensions : arguments of a mechanism of the zoo, such as `radius=0.2` of "agile-wrist"

    Returns
    -------
    A `Robot`, a `ConstrainedRobot` (with loops or wheels) or a `Mechanism` (in closed form).

    Raises
    ------
    DescriptionError
        If the source does not exist or does not describe a robot; the message lists all errors of a file with lines.
    ModelError
        If the robot cannot exist, such as a body with negative mass.

    Examples
    --------
    >>> import appell as ap
    >>> puma = ap.load("puma")
    >>> puma.nq, puma.joint_names[:2]
    (6, ('joint1', 'joint2'))
    >>> ap.load("delta").coordinates
    ('x', 'y', 'z')
    """
    options: dict[str, Any] = {"base": base, "physical": physical, "mimic": mimic}
    options["files"] = MeshFiles(packages=_folders(package_dirs))
    if without:
        options["without"] = without
    system: Any
    if isinstance(source, str) and source in makers():
        check_tree_options(source, **options)
        mechanism = makers()[source](**dimensions_of(source, dimensions), physical=physical)
        system, dimensions = mechanism.labelled(source=f"the zoo's {source}"), {}
    elif isinstance(source, str) and (file := {**_files(_zoo()), **_files(_zoo() / CONSTRAINED)}.get(source)):
        system = load_text(file.read_text(encoding="utf-8"), "toml", source=f"the zoo's {source}.toml", **options)
    elif isinstance(source, str) and (format := format_of_text(source)):
        system = load_text(source.lstrip(LEADING_CHARACTERS), format, **options)
    else:
        path = _installed(source)
        system = _load_file(source, path or _path(source, options["files"]), arguments, options)
        if path is not None and path in examples().values() and isinstance(system, Robot):
            srdf = srdf_of(path)
            system = system if srdf is None else with_srdf(system, srdf)
    if dimensions:
        problem = f"{', '.join(f'{key}=' for key in dimensions)} does not apply to {system.owner}."
        raise DescriptionError(problem, expected="the arguments of load, or a mechanism of the zoo with dimensions")
    return _with_loops(system if name is None else _renamed(system, name), tuple(loops))


def _folders(folders: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    """Return one folder or several as paths."""
    try:
        return tuple(Path(folder) for folder in ((folders,) if isinstance(folders, (str, Path)) else folders))
    except TypeError:
        raise DescriptionError(
            f"package_dirs is {folders!r}.", expected="folders, such as ['/opt/ros/share']"
        ) from None


def _load_file(source: Any, path: Path, arguments: Mapping[str, str] | None, options: dict[str, Any]) -> System:
    format = format_of_file(path)
    if not format:
        raise _not_a_description(source, path)
    text, label = read_text(path), str(path)
    if path.suffix.lower() == ".xml":
        format = format_of_xml(text)
    if format == "xacro":
        text, label = expanded(path, text, arguments)
        format = "urdf"
    elif arguments:
        raise DescriptionError("arguments= applies to xacro files only.", expected="a .xacro file", source=str(path))
    if format == "mjcf":
        options["path"] = path
    options["files"] = replace(options["files"], folder=path.parent)
    return load_text(text, format, source=label, **options)


def _with_loops(system: System, loops: tuple[Constraint, ...]) -> System:
    if not loops:
        return system
    if not isinstance(system, (Robot, ConstrainedRobot)):
        problem = f"loops= does not apply to {system.owner}, which is a mechanism in closed form."
        raise DescriptionError(problem, expected="a tree, or no loops=")
    return system.with_loops(*loops)


def _renamed(system: Any, name: str) -> System:
    if isinstance(system, ConstrainedRobot):
        return replace(system, tree=replace(system.tree, name=name))
    return replace(system, name=name)


def _installed(source: Any) -> Path | None:
    """Return the file of a robot of an installed package, given with or without the name of the package."""
    if not isinstance(source, str):
        return None
    is_word = bool(source) and not Path(source).suffix and len(Path(source).parts) == 1
    return file_of_named_package(source) or (example(source) if is_word and not is_directory(Path(source)) else None)


def _path(source: Any, files: MeshFiles) -> Path:
    """Return the path of a file given as a path or as package://..."""
    if isinstance(source, str) and source.startswith(PACKAGE):
        if (path := files.find(source)) == source:
            hint = "Pass the folders that contain packages as package_dirs=[...], or set ROS_PACKAGE_PATH."
            raise DescriptionError(f"{shortened(source)} was not found in any package.", hint=hint)
        return Path(path)
    try:
        return Path(source)
    except TypeError:
        expected = f"a path, the text of {FILE_KINDS}, or a robot of the zoo: " + ", ".join(zoo_names())
        libraries = {"jointPlacements": "Pinocchio", "jnt_qposadr": "MuJoCo"}
        library = next((name for attribute, name in libraries.items() if hasattr(source, attribute)), "")
        hint = f"Call ap.from_{library.lower()}(model)." if library else ""
        problem = f"{f'a {library} model' if library else shortened(source)} is not a path or text."
        raise DescriptionError(problem, expected=expected, hint=hint) from None


def load_tree(source: str | Path, **options: Any) -> Robot:
    """Load a robot that must be a tree without loops; options as in `load`."""
    system = load(source, **options)
    if not isinstance(system, Robot):
        raise DescriptionError(f"{system.owner} is not a tree of links.", expected="one of " + ", ".join(tree_names()))
    return system


def load_text(
    text: str,
    format: str,
    *,
    base: str = "fixed",
    physical: bool = True,
    mimic: bool = True,
    source: str = "",
    files: MeshFiles | None = None,
    **options: Any,
) -> System:
    """Load a robot or mechanism from text.

    Parameters
    ----------
    text : the description
    format : "urdf", "mjcf", "sdf" or "toml"
    base, physical, mimic : as in `load`
    source : name of the text in messages, such as the path it was read from
    files : finds mesh files; by default in the current folder, its parents and the folders of ROS
    **options : for an MJCF, `without` as in `load`, and `path`, the file whose folder contains included files

    Returns
    -------
    A `Robot`, `ConstrainedRobot` or `Mechanism`, as from `load`.

    Raises
    ------
    DescriptionError
        If the format is unknown, an option does not apply to it, or the text does not describe a robot.

    Examples
    --------
    >>> from appell.describe.load import load_text
    >>> text = '''
    ... name = "rod"
    ... [[link]]
    ... name = "rod"
    ... joint = "revolute"
    ... axis = [0, 1, 0]
    ... mass = 1.0
    ... com = [0, 0, -0.5]
    ... inertia = [0.08, 0.08, 0]
    ... '''
    >>> load_text(text, "toml").link_names
    ('rod',)
    """
    if format not in READERS:
        raise DescriptionError(unknown_name("format", str(format), READERS, "appell"))
    if options and format != "mjcf":
        problem = f"{', '.join(f'{option}=' for option in options)} does not apply to the format '{format}'."
        raise DescriptionError(problem, expected="a description in MJCF", source=source)
    if format != "mjcf":  # MuJoCo's compiler finds its files itself
        options["files"] = files
    return READERS[format](text, base=base, physical=physical, mimic=mimic, source=source, **options)


def zoo_names() -> tuple[str, ...]:
    """Return the names of the robots and mechanisms included in appell."""
    return tuple(sorted((*tree_names(), *constrained_names(), *makers())))


def tree_names() -> tuple[str, ...]:
    """Return the names of the zoo's robots that are trees."""
    return tuple(sorted(_files(_zoo())))


def constrained_names() -> tuple[str, ...]:
    """Return the names of the zoo's robots with loops or wheels."""
    return tuple(sorted(_files(_zoo() / CONSTRAINED)))


def _zoo() -> Traversable:
    return files("appell.describe") / "zoo"


def _files(folder: Traversable) -> dict[str, Traversable]:
    """Return the TOML files of a folder by robot name."""
    return {x.name.removesuffix(".toml"): x for x in folder.iterdir() if x.name.endswith(".toml")}


def _not_a_description(source: str | Path, path: Path) -> DescriptionError:
    if is_directory(path):
        return DescriptionError("the path is a directory.", expected=FILE_KINDS, source=shortened(str(path)))
    if path.suffix or len(path.parts) != 1:
        problem = f"{shortened(str(source))} is not a robot description that appell can read."
        expected = f"{FILE_KINDS}, or a robot of the zoo: " + ", ".join(zoo_names())
        return DescriptionError(problem, expected=expected)
    problem = unknown_name("robot", str(source), zoo_names(), "The zoo")
    known = {short for name in examples() for short in (name, name.partition("_")[0])}
    close = get_close_matches(str(source), sorted(known), n=1)
    hint = f"Load '{close[0]}', a robot of example-robot-data." if close else ""
    if not known:
        hint = "Run pip install example-robot-data to load its robots by name as well."
    return DescriptionError(problem, expected=f"one of these, or the path of {FILE_KINDS}", hint=hint)
