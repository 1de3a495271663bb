"""modelDescription.xml of FMI 2: the variables of a system, each with a name, a unit and a start value.

    q_…, v_…            outputs: the state, whose start values can be set
    tau_…, wrench_…     inputs: actuator forces and wrenches during a step
    step                parameter: length of a step, s

The value reference of a variable is its index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from xml.etree import ElementTree as Xml

from appell.model.system import System
from appell.motion.titles import record_names, record_units

UNITS: dict[str, dict[str, int]] = {  # exponents of the SI base units
    "1": {},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N m": {"kg": 1, "m": 2, "s": -2},
    "s": {"s": 1},
}
_ROLES = {
    "output": {"causality": "output", "variability": "continuous", "initial": "exact"},
    "input": {"causality": "input", "variability": "continuous"},
    "parameter": {"causality": "parameter", "variability": "fixed", "initial": "exact"},
}
WRENCH = {"fx": "N", "fy": "N", "fz": "N", "mx": "N m", "my": "N m", "mz": "N m"}


def description(
    name: str, title: str, guid: str, version: str, sources: Sequence[str], row: Sequence[Variable], dt: float
) -> bytes:
    """Return the content of modelDescription.xml.

    Parameters
    ----------
    name
        Identifier of the model in C.
    title
        Name of the model for users.
    guid
        Identifier that the C code checks.
    version
        Version of appell.
    sources
        Names of the C files.
    row
        The variables, in the order of their value references.
    dt
        Recommended communication step, s.
    """
    root = Xml.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=title,
        guid=guid,
        generationTool=f"appell {version}",
        variableNamingConvention="flat",
        numberOfEventIndicators="0",
    )
    simulation = Xml.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=name,
        canHandleVariableCommunicationStepSize="true",
        canBeInstantiatedOnlyOncePerProcess="false",
        canGetAndSetFMUstate="true",
    )
    files = Xml.SubElement(simulation, "SourceFiles")
    for source in sources:
        Xml.SubElement(files, "File", name=source)
    definitions = Xml.SubElement(root, "UnitDefinitions")
    for unit in dict.fromkeys(variable.unit for variable in row):
        Xml.SubElement(
            Xml.SubElement(definitions, "Unit", name=unit),
            "BaseUnit",
            {base: str(power) for base, power in UNITS[unit].items()},
        )
    Xml.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", stepSize=repr(dt))
    listed = Xml.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(row):
        about = {"name": variable.name, "valueReference": str(reference), "description": variable.about}
        scalar = Xml.SubElement(listed, "ScalarVariable", about | _ROLES[variable.role])
        Xml.SubElement(scalar, "Real", unit=variable.unit, start=repr(variable.start))
    structure = Xml.SubElement(Xml.SubElement(root, "ModelStructure"), "Outputs")
    for number, variable in enumerate(row, 1):
        if variable.role == "output":
            Xml.SubElement(structure, "Unknown", index=str(number), dependencies="")
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


@dataclass(frozen=True)
class Variable:
    """A scalar variable of the FMU; `role` is output, input or parameter, `about` its description."""

    name: str
    role: str
    unit: str
    start: float
    about: str


def variables(system: System, wrenches: Sequence[str], starts: Mapping[str, Sequence], dt: float) -> list[Variable]:
    """Return all variables in the order of their value references.

    `starts` holds the start values of q, v and, if there are frames with wrenches, of wrenches (6 per frame).
    """
    names, units = record_names(system), record_units(system)

    def state(kind: str, about: str):
        for name, value in zip(names[kind], starts[kind], strict=True):
            title = f"{kind}_{name}"
            yield Variable(title, "output", units[title], float(value), f"{about} of {name}")

    forces = (Variable(f"tau_{x}", "input", units[f"tau_{x}"], 0.0, f"force of actuator {x}") for x in names["tau"])
    pushes = (
        Variable(f"wrench_{frame}_{axis}", "input", unit, float(start), f"external force or moment on frame {frame}")
        for (frame, (axis, unit)), start in zip(
            product(wrenches, WRENCH.items()), starts.get("wrenches", ()), strict=True
        )
    )
    step = Variable("step", "parameter", "s", dt, "length of an integration step")
    return list(chain(state("q", "coordinate"), state("v", "velocity"), forces, pushes, [step]))
