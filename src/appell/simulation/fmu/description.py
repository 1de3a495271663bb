"""modelDescription.xml of FMI 2: what a tool reads before it runs anything."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from appell.simulation.fmu.variables import Variable

UNITS: dict[str, dict[str, int]] = {  # by the powers of SI units
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


def description(
    name: str, title: str, guid: str, version: str, sources: Sequence[str], row: Sequence[Variable], dt: float
) -> bytes:
    """The file, for a model called `name` in C."""
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
