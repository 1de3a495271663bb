"""The identified system: the description it was identified from, with the bodies and actuators that were found.

Base parameters do not say which of many sets of bodies has them. If those of the estimate can exist they are
taken; otherwise the export refuses, naming the bodies, unless asked for the nearest set that can
(`consistent_bodies=True`), which keeps the base parameters as well as they can be kept. Friction and rotor inertias
below zero are refused too, or set to zero on request, with a warning that says which. What was not sought stays as
described.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from appell.describe.write import to_toml, to_urdf
from appell.errors import ArgumentError, ModelError, ModelWarning
from appell.identify.estimators.estimator import Estimator
from appell.identify.estimators.physical import flaws, physical_parameters
from appell.identify.sought import NOT_NEGATIVE, Sought
from appell.identify.verdict import negative as below_zero
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.system import System

NEGATIVE = ("refuse", "zero")


def identified_system(
    estimator: Estimator, *, consistent_bodies: bool = False, negative: str = "refuse", name: str | None = None
) -> System:
    """The system with the parameters of a fitted estimator: identified_system(fit, negative="zero")."""
    if negative not in NEGATIVE:
        raise ArgumentError(f"negative is '{negative}'.", expected=" or ".join(map(repr, NEGATIVE)))
    parameters = np.array(estimator.result("parameters_"), float)
    sought = estimator.sought_
    if consistent_bodies and flaws(sought, parameters):
        weights = 1.0 / np.maximum(estimator.std_, 1e-9 * np.abs(estimator.base_parameters_) + 1e-12)
        rows = estimator.base_.matrix * weights[:, None]
        parameters = physical_parameters(sought, rows, estimator.base_parameters_ * weights, parameters)
    _refuse_impossible(sought, parameters)
    parameters = _not_negative(sought, parameters, negative)
    _warn_of_unsought(sought)
    bodies = {
        body: None if sought.is_massless(body) else Body.from_parameters(parameters[10 * k : 10 * k + 10].tolist())
        for k, body in enumerate(sought.system.bodies)
    }
    found: dict[str, dict[str, float]] = {who: {} for who in sought.system.actuator_names}
    for parameter, value in zip(sought.parameters, parameters.tolist(), strict=True):
        if parameter.kind in sought.kinds:
            found[parameter.owner][parameter.kind] = value
    own = dict(zip(found, sought.system.actuators, strict=True))
    actuators = {who: _actuator(own[who], values) for who, values in found.items() if values}
    system = sought.system.with_bodies({body: x for body, x in bodies.items() if x is not None})
    system = system.with_actuators(actuators)
    return system if name is None else replace(system, name=name)  # type: ignore[type-var]


def export(estimator: Estimator, path: str | Path, **options) -> System:
    """Write the identified system to a .toml or .urdf file that is not there yet: export(fit, "found.toml")."""
    path = Path(path)
    if path.suffix not in (".toml", ".urdf"):
        raise ArgumentError(f"'{path.name}' is no robot file.", expected="a name that ends in .toml or .urdf")
    if path.exists():
        raise ArgumentError(f"{path} is there already; nothing is written over.", hint="another name")
    system = identified_system(estimator, **options)
    (to_toml if path.suffix == ".toml" else to_urdf)(system, path)
    return system


def _refuse_impossible(sought: Sought, parameters: np.ndarray) -> None:
    if impossible := flaws(sought, parameters):
        listed = "; ".join(f"body '{body}' {flaw}" for body, flaw in impossible.items())
        raise ModelError(
            f"no body can have the inertia that was found: {listed}.",
            expected="a mass and principal moments that are positive, none above the sum of the other two",
            hint="identify.PhysicallyConsistent, or consistent_bodies=True for the nearest bodies that can exist",
        )


def _not_negative(sought: Sought, parameters: np.ndarray, negative: str) -> np.ndarray:
    """The parameters without friction and rotors below zero."""
    wrong = below_zero(sought, parameters)
    if not wrong:
        return parameters
    told = ", ".join(f"{parameter.kind} of '{parameter.owner}' {value:.4g}" for parameter, value in wrong.items())
    if negative == "refuse":
        raise ModelError(
            f"no actuator of {sought.system.owner} can have what was found: {told}.",
            expected="friction and rotor inertias from 0",
            hint="negative='zero' to take them as none, or identify.PhysicallyConsistent",
        )
    warnings.warn(f"{sought.system.owner}: found below zero and set to zero: {told}.", ModelWarning, stacklevel=4)
    return np.array([0.0 if p in wrong else x for p, x in zip(sought.parameters, parameters, strict=True)])


def _warn_of_unsought(sought: Sought) -> None:
    """What the description has and nobody looked for is in the record as well, so that it may now count twice."""
    kinds = [kind for kind in (*NOT_NEGATIVE, "offset") if kind not in sought.kinds]
    described = {
        who: [kind for kind in kinds if _described(actuator, kind)]
        for who, actuator in zip(sought.system.actuator_names, sought.system.actuators, strict=True)
    }
    told = "; ".join(f"{', '.join(kinds)} of '{who}'" for who, kinds in described.items() if kinds)
    if told:
        sentence = f"{sought.system.owner}: not sought, and so as described: {told}."
        warnings.warn(sentence, ModelWarning, stacklevel=4)


def _described(actuator: Actuator, kind: str) -> float | None:
    if kind in ("rotor", "offset"):
        return actuator.rotor_inertia if kind == "rotor" else actuator.offset
    return getattr(actuator.friction, kind)


def _actuator(own: Actuator, found: dict[str, float]) -> Actuator:
    """The actuator with the levels that were found."""
    levels = {kind: value for kind, value in found.items() if kind in ("coulomb", "static", "viscous")}
    rotor = found["rotor"] / own.gear**2 if "rotor" in found else own.rotor_inertia
    friction = replace(own.friction, **levels)  # type: ignore[arg-type]
    return replace(own, rotor_inertia=rotor, friction=friction, offset=found.get("offset", own.offset))
