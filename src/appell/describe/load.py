"""One door to all descriptions: a name of the zoo, or a file in URDF, xacro, MJCF, SDF or TOML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from appell.describe.catalogues import described, example, examples, makers
from appell.describe.files import BEFORE, KINDS, format_of_file, format_of_text, format_of_xml, is_directory, read_text
from appell.describe.looks import MeshFiles
from appell.describe.toml.mechanism import refuse_options
from appell.describe.toml.read import read_toml
from appell.describe.urdf.read import read_urdf
from appell.describe.urdf.srdf import with_posture
from appell.describe.urdf.xacro import expanded
from appell.describe.values import shortened
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
) -> System:
    """The robot or mechanism of a zoo name, of a file, or of the text of one: load("puma"), load("arm.urdf").

    Files may be .urdf, .xacro, .xml and .mjcf (MJCF), .sdf or .toml; "robot_descriptions:panda_description" and
    "example-robot-data:talos" are robots of these packages, and so is "talos" where the second is installed;
    "package://talos_data/robots/talos.urdf" is a file of a package of ROS. `base` is how the root link stands on the
    world: fixed, floating, planar or spherical. With `physical=False` a link that lacks its inertia counts as massless,
    and bodies that cannot exist are accepted; one warning names them all. With `mimic=False` every mimic joint gets a
    coordinate of its own. `loops` are constraints that the description does not have:
    load("leg.urdf", loops=[ap.Point("rod", "heel")]). `base`, `mimic` and `loops` are for trees. `without` names what
    is to be left out of an MJCF instead of refused, such as "tendon" or "fluid"; `arguments` are those of a xacro file.
    `package_dirs` are folders in which mesh files are looked for, package:// names among them, before those that ROS
    knows and those beside and above the robot's file.
    """
    options: dict[str, Any] = {"base": base, "physical": physical, "mimic": mimic}
    options["files"] = MeshFiles(packages=_folders(package_dirs))
    if without:
        options["without"] = without
    system: Any
    if isinstance(source, str) and source in makers():
        refuse_options(source, **options)
        system = makers()[source](physical=physical).labelled(source=f"the zoo's {source}")
    elif isinstance(source, str) and (kept := {**_files(_zoo()), **_files(_zoo() / CONSTRAINED)}.get(source)):
        system = load_text(kept.read_text(encoding="utf-8"), "toml", source=f"the zoo's {source}.toml", **options)
    elif isinstance(source, str) and (format := format_of_text(source)):
        system = load_text(source.lstrip(BEFORE), format, **options)
    else:
        path = _installed(source)
        system = _load_file(source, path or _path(source, options["files"]), arguments, options)
        if path is not None and path in examples().values() and isinstance(system, Robot):
            system = with_posture(system, path)
    return _closed(system if name is None else _renamed(system, name), tuple(loops))


def _folders(given: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    """One folder or several, as paths."""
    try:
        return tuple(Path(folder) for folder in ((given,) if isinstance(given, (str, Path)) else given))
    except TypeError:
        raise DescriptionError(f"package_dirs is {given!r}.", expected="folders, such as ['/opt/ros/share']") from None


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
        raise DescriptionError("arguments are for xacro files.", expected="a .xacro file", source=str(path))
    if format == "mjcf":
        options["path"] = path
    options["files"] = replace(options["files"], folder=path.parent)
    return load_text(text, format, source=label, **options)


def _closed(system: System, loops: tuple[Constraint, ...]) -> System:
    if not loops:
        return system
    if not isinstance(system, (Robot, ConstrainedRobot)):
        problem = f"{system.owner} is a mechanism in closed form, for which loops= means nothing."
        raise DescriptionError(problem, expected="no loops=, or a tree")
    return system.with_loops(*loops)


def _renamed(system: Any, name: str) -> System:
    if isinstance(system, ConstrainedRobot):
        return replace(system, tree=replace(system.tree, name=name))
    return replace(system, name=name)


def _installed(source: Any) -> Path | None:
    """The file of a robot of a package, by its name, or by its bare name if nothing else is called so."""
    if not isinstance(source, str):
        return None
    is_word = bool(source) and not Path(source).suffix and len(Path(source).parts) == 1
    return described(source) or (example(source) if is_word and not is_directory(Path(source)) else None)


def _path(source: Any, files: MeshFiles) -> Path:
    """The file that a path, or a package://... name, stands for."""
    if isinstance(source, str) and source.startswith(PACKAGE):
        if (found := files.find(source)) == source:
            hint = "package_dirs=[...] names folders that hold packages, ROS_PACKAGE_PATH too"
            raise DescriptionError(f"{shortened(source)} is in no package that can be found.", hint=hint)
        return Path(found)
    try:
        return Path(source)
    except TypeError:
        expected = f"a path, the text of {KINDS}, or a robot of the zoo: " + ", ".join(zoo_names())
        made = {"jointPlacements": "Pinocchio", "jnt_qposadr": "MuJoCo"}
        maker = next((name for mark, name in made.items() if hasattr(source, mark)), "")
        hint = f"ap.from_{maker.lower()}(model)" if maker else ""
        problem = f"{f'a model of {maker}' if maker else shortened(source)} is no description."
        raise DescriptionError(problem, expected=expected, hint=hint) from None


def load_tree(source: str | Path, **options: Any) -> Robot:
    """The same, for what only a tree can do; a mechanism is refused."""
    system = load(source, **options)
    if not isinstance(system, Robot):
        raise DescriptionError(f"{system.owner} is no tree of links.", expected="one of " + ", ".join(tree_names()))
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
    """The robot or mechanism of a description that is already in memory; `format` is urdf, mjcf, sdf or toml.

    An MJCF may be told what is to be left out of it, as in `load`: without=["tendon"].
    """
    if format not in READERS:
        raise DescriptionError(unknown_name("format", str(format), READERS, "appell"))
    if options and format != "mjcf":
        problem = f"{', '.join(f'{option}=' for option in options)} means nothing for a description in {format}."
        raise DescriptionError(problem, expected="an MJCF", source=source)
    if format != "mjcf":  # whose compiler finds its files itself
        options["files"] = files
    return READERS[format](text, base=base, physical=physical, mimic=mimic, source=source, **options)


def zoo_names() -> tuple[str, ...]:
    """The robots and mechanisms that come with appell."""
    return tuple(sorted((*tree_names(), *constrained_names(), *makers())))


def tree_names() -> tuple[str, ...]:
    """Those of them that are trees."""
    return tuple(sorted(_files(_zoo())))


def constrained_names() -> tuple[str, ...]:
    """Those of them that are trees with loops or wheels."""
    return tuple(sorted(_files(_zoo() / CONSTRAINED)))


def _zoo() -> Traversable:
    return files("appell.describe") / "zoo"


def _files(folder: Traversable) -> dict[str, Traversable]:
    """The TOML files of a folder by the names of their robots."""
    return {x.name.removesuffix(".toml"): x for x in folder.iterdir() if x.name.endswith(".toml")}


def _not_a_description(source: str | Path, path: Path) -> DescriptionError:
    if is_directory(path):
        return DescriptionError("this is a directory.", expected=KINDS, source=shortened(str(path)))
    if path.suffix or len(path.parts) != 1:
        problem = f"{shortened(str(source))} is no description that appell can read."
        expected = f"{KINDS}, or a robot of the zoo: " + ", ".join(zoo_names())
        return DescriptionError(problem, expected=expected)
    problem = unknown_name("robot", str(source), zoo_names(), "The zoo")
    known = {short for name in examples() for short in (name, name.partition("_")[0])}
    close = get_close_matches(str(source), sorted(known), n=1)
    hint = f"'{close[0]}', which is a robot of example-robot-data" if close else ""
    if not known:
        hint = "pip install example-robot-data, whose robots are found by their names too"
    return DescriptionError(problem, expected=f"one of these, or the path of {KINDS}", hint=hint)
