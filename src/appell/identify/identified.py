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
from appell.errors import ArgumentError, Hint, ModelError, ModelWarning
from appell.files import check_target
from appell.formulate.equations import SYMBOLS
from appell.identify.estimators.estimator import Estimator
from appell.identify.estimators.least_squares import Described
from appell.identify.estimators.nearest import choose_pull, nearest_physical
from appell.identify.estimators.physical import description, flaws
from appell.identify.sought import NOT_NEGATIVE, Sought
from appell.identify.verdict import Assessment, why
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
    sought = estimator.result("sought_")
    if isinstance(estimator, Described):
        return sought.system if name is None else replace(sought.system, name=name)  # type: ignore[type-var]
    parameters = _not_negative(sought, estimator.parameters_, negative)
    if consistent_bodies and flaws(sought, parameters):
        parameters = _nearest(estimator, parameters)
    _refuse_impossible(sought, parameters)
    _warn_of_unsought(sought)
    tens = dict(
        zip(sought.system.bodies, np.reshape(parameters[: 10 * len(sought.system.bodies)], (-1, 10)), strict=True)
    )
    bodies = {name: Body.from_parameters(ten.tolist()) for name, ten in tens.items() if not sought.is_massless(name)}
    levels: dict[str, dict[str, float]] = {name: {} for name in sought.system.actuator_names}
    for parameter, value in zip(sought.parameters, parameters.tolist(), strict=True):
        if parameter.kind in SYMBOLS:
            levels[parameter.owner][parameter.kind] = value
    system = sought.system.with_bodies(bodies)
    if sought.kinds:
        system = system.with_actuators(lambda who, own: _actuator(own, levels.get(who, {})))
    return system if name is None else replace(system, name=name)  # type: ignore[type-var]


def export(
    found: Estimator | Assessment, path: str | Path, *, force: bool = False, overwrite: bool = False, **options
) -> System:
    """Write the identified system to a .toml or .urdf file, over one only if asked to: export(verdict, "found.urdf").

    Of a verdict it is the best that was judged, the description itself if no fit was better; one that failed is refused
    unless forced. An estimator has not been judged, and is taken at its word. A .urdf of a robot that was read from a
    .urdf is that file with other numbers. Options are those of `identified_system`.
    """
    path = check_target(path, (".toml", ".urdf"), overwrite)
    if isinstance(found, Assessment):
        if not (found.passed or force):
            raise ArgumentError(
                f"the verdict on {found.best.title} is FAIL: {why(found)}.",
                hint=Hint("a better record, or {force} to export what was found all the same", force=True),
            )
        found = found.best.estimator
    system = identified_system(found, **options)
    if path.suffix.lower() == ".toml":
        to_toml(system, path)
    else:
        own = getattr(system, "source", "")
        to_urdf(system, path, like=own if own.endswith(".urdf") and Path(own).is_file() else None)
    return system


def _nearest(estimator: Estimator, parameters: np.ndarray) -> np.ndarray:
    """Bodies that can exist and have the base parameters of the fit, to within what it knows of them."""
    sought, beta = estimator.sought_, estimator.base_parameters_
    weights = 1.0 / np.maximum(estimator.std_, 1e-9 * np.abs(beta).max())
    wide = 10.0 * (np.abs(parameters[10 * len(sought.system.bodies) :]) + 1.0)
    known = description(estimator.base_, sought.nominal, wide)
    A, b = estimator.base_.matrix * weights[:, None], beta * weights
    return nearest_physical(A, b, known, choose_pull(A, b, known)).parameters


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
    signed = np.array([parameter.kind in NOT_NEGATIVE for parameter in sought.parameters])
    zeroed = np.where(signed, np.maximum(parameters, 0.0), parameters)  # of rounding alone, if nothing is wrong
    if not wrong:
        return zeroed
    told = ", ".join(f"{parameter.kind} of '{parameter.owner}' {value:.4g}" for parameter, value in wrong.items())
    if negative == "refuse":
        raise ModelError(
            f"no actuator of {sought.system.owner} can have what was found: {told}.",
            expected="friction and rotor inertias from 0",
            hint=Hint("{negative} to take them as none, or identify.PhysicallyConsistent", negative="zero"),
        )
    warnings.warn(f"{sought.system.owner}: found below zero and set to zero: {told}.", ModelWarning, stacklevel=4)
    return zeroed


def _warn_of_unsought(sought: Sought) -> None:
    """What the description has and nobody looked for is in the record as well, so that it may now count twice."""
    told = []
    for name, own in zip(sought.system.actuator_names, sought.system.actuators, strict=True):
        described = {**vars(own), **vars(own.friction), "rotor": own.rotor_inertia}
        kinds = [kind for kind in SYMBOLS if kind not in sought.kinds and described[kind]]
        told += [f"{', '.join(kinds)} of '{name}'"] if kinds else []
    if told:
        sentence = f"{sought.system.owner}: not sought, and so as described: {'; '.join(told)}."
        warnings.warn(sentence, ModelWarning, stacklevel=4)


def _actuator(own: Actuator, found: dict[str, float]) -> Actuator:
    """The actuator with the levels that were found."""
    friction = replace(own.friction, **{kind: x for kind, x in found.items() if hasattr(own.friction, kind)})
    rotor = found["rotor"] / own.gear**2 if "rotor" in found else own.rotor_inertia
    others = {kind: found[kind] for kind in ("offset", "stiffness") if kind in found}
    return replace(own, rotor_inertia=rotor, friction=friction, **others)
