"""The identified system: the description with the estimated bodies and actuators.

Many sets of bodies have the same base parameters. If the bodies of the estimate are physically possible, they are used.
Otherwise an error names the impossible ones; with `consistent_bodies=True` the nearest possible bodies are used, which
keep the base parameters as closely as the standard deviations of the estimate allow. Negative friction and rotor
inertias are an error, or are set to zero with a warning (`negative="zero"`). Parameters that were not estimated keep
their described values.
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
from appell.identify.estimators.nearest import choose_prior_weight, nearest_physical
from appell.identify.estimators.physical import description, flaws
from appell.identify.parameter_set import NOT_NEGATIVE, ParameterSet
from appell.identify.verdict import Assessment, failure_reason, negative_parameters
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.system import System

NEGATIVE = ("refuse", "zero")


def identified_system(
    estimator: Estimator, *, consistent_bodies: bool = False, negative: str = "refuse", name: str | None = None
) -> System:
    """Return the system with the parameters of a fitted estimator.

    Parameters
    ----------
    estimator : Estimator
        A fitted estimator; `Described` gives the described system itself.
    consistent_bodies : whether to replace impossible bodies by the nearest ones that are physically possible
    negative : {"refuse", "zero"}
        What to do with negative friction and rotor inertias: raise an error, or set them to zero with a warning.
    name : name of the returned system; by default that of the described one

    Raises
    ------
    ModelError
        If a body or an actuator cannot have the estimated parameters.
    """
    if negative not in NEGATIVE:
        raise ArgumentError(f"negative is '{negative}'.", expected=" or ".join(map(repr, NEGATIVE)))
    parameter_set = estimator.result("parameter_set_")
    if isinstance(estimator, Described):
        return parameter_set.system if name is None else replace(parameter_set.system, name=name)  # type: ignore[type-var]
    parameters = _not_negative(parameter_set, estimator.parameters_, negative)
    if consistent_bodies and flaws(parameter_set, parameters):
        parameters = _nearest(estimator, parameters)
    _refuse_impossible(parameter_set, parameters)
    _warn_of_described_terms(parameter_set)
    tens = dict(
        zip(
            parameter_set.system.bodies,
            np.reshape(parameters[: 10 * len(parameter_set.system.bodies)], (-1, 10)),
            strict=True,
        )
    )
    bodies = {
        name: Body.from_parameters(ten.tolist()) for name, ten in tens.items() if not parameter_set.is_massless(name)
    }
    levels: dict[str, dict[str, float]] = {name: {} for name in parameter_set.system.actuator_names}
    for parameter, value in zip(parameter_set.parameters, parameters.tolist(), strict=True):
        if parameter.kind in SYMBOLS:
            levels[parameter.owner][parameter.kind] = value
    system = parameter_set.system.with_bodies(bodies)
    if parameter_set.kinds:
        system = system.with_actuators(lambda name, actuator: _actuator(actuator, levels.get(name, {})))
    return system if name is None else replace(system, name=name)  # type: ignore[type-var]


def export(
    result: Estimator | Assessment, path: str | Path, *, force: bool = False, overwrite: bool = False, **options
) -> System:
    """Write the identified system to a file.

    Parameters
    ----------
    result : Assessment or Estimator
        A verdict, of which the best judged estimator is exported (the description itself if no fit was better), or a
        fitted estimator, which is exported without validation.
    path : str or Path
        A .toml or .urdf file. The .urdf file of a robot that was read from a .urdf file is that file with the
        identified numbers in it.
    force : whether to export although the verdict is FAIL
    overwrite : whether to replace an existing file
    **options
        `consistent_bodies`, `negative` and `name`, as in `identified_system`.

    Returns
    -------
    The system that was written.

    Raises
    ------
    ArgumentError
        If the verdict is FAIL and `force` is false, or if the file exists and `overwrite` is false.
    """
    path = check_target(path, (".toml", ".urdf"), overwrite)
    if isinstance(result, Assessment):
        if not (result.passed or force):
            raise ArgumentError(
                f"the verdict on {result.best.title} is FAIL: {failure_reason(result)}.",
                hint=Hint("Record a better motion, or pass {force} to export the estimate anyway.", force=True),
            )
        result = result.best.estimator
    system = identified_system(result, **options)
    write_system(system, path, overwrite=True)
    return system


def write_system(system: System, path: str | Path, overwrite: bool = False) -> None:
    """Write a system with changed numbers to a .toml or .urdf file; the text of its own .urdf file is kept."""
    path = check_target(path, (".toml", ".urdf"), overwrite)
    if path.suffix.lower() == ".toml":
        to_toml(system, path, overwrite=True)
        return
    source = getattr(system, "source", "")
    original = source if source.lower().endswith(".urdf") and Path(source).is_file() else None
    to_urdf(system, path, like=original, overwrite=True)


def _nearest(estimator: Estimator, parameters: np.ndarray) -> np.ndarray:
    """Return the possible bodies whose base parameters are nearest to those of the fit."""
    parameter_set, beta = estimator.parameter_set_, estimator.base_parameters_
    weights = 1.0 / np.maximum(estimator.std_, 1e-9 * np.abs(beta).max())
    spread = 10.0 * (np.abs(parameters[10 * len(parameter_set.system.bodies) :]) + 1.0)
    known = description(estimator.base_, parameter_set.nominal, spread)
    A, b = estimator.base_.matrix * weights[:, None], beta * weights
    return nearest_physical(A, b, known, choose_prior_weight(A, b, known)).parameters


def _refuse_impossible(parameter_set: ParameterSet, parameters: np.ndarray) -> None:
    if impossible := flaws(parameter_set, parameters):
        listed = "; ".join(f"body '{body}' {flaw}" for body, flaw in impossible.items())
        raise ModelError(
            f"the estimated inertial parameters are physically impossible: {listed}.",
            expected="a positive mass, and positive principal moments of which none exceeds the sum of the other two",
            hint="Fit with identify.PhysicallyConsistent, or pass consistent_bodies=True to adjust the bodies.",
        )


def _not_negative(parameter_set: ParameterSet, parameters: np.ndarray, negative: str) -> np.ndarray:
    """Return the parameters with negative friction and rotor inertias set to zero, or raise an error."""
    wrong = negative_parameters(parameter_set, parameters)
    signed = np.array([parameter.kind in NOT_NEGATIVE for parameter in parameter_set.parameters])
    zeroed = np.where(signed, np.maximum(parameters, 0.0), parameters)  # without `wrong`, only rounding is removed
    if not wrong:
        return zeroed
    listed = ", ".join(f"{parameter.kind} of '{parameter.owner}' {value:.4g}" for parameter, value in wrong.items())
    if negative == "refuse":
        raise ModelError(
            f"the estimated actuator parameters of {parameter_set.system.owner} are negative: {listed}.",
            expected="friction and rotor inertias that are not negative",
            hint=Hint(
                "Pass {negative} to set them to zero, or fit with identify.PhysicallyConsistent.", negative="zero"
            ),
        )
    message = f"{parameter_set.system.owner}: negative estimates were set to zero: {listed}."
    warnings.warn(message, ModelWarning, stacklevel=4)
    return zeroed


def _warn_of_described_terms(parameter_set: ParameterSet) -> None:
    """Warn of described friction and rotors that were not estimated.

    Their forces are part of the record, so the estimated parameters may already contain them.
    """
    terms = []
    for name, actuator in zip(parameter_set.system.actuator_names, parameter_set.system.actuators, strict=True):
        described = {**vars(actuator), **vars(actuator.friction), "rotor": actuator.rotor_inertia}
        kinds = [kind for kind in SYMBOLS if kind not in parameter_set.kinds and described.get(kind)]
        terms += [f"{', '.join(kinds)} of '{name}'"] if kinds else []
    if terms:
        message = f"{parameter_set.system.owner}: not estimated, kept as described: {'; '.join(terms)}."
        warnings.warn(message, ModelWarning, stacklevel=4)


def _actuator(actuator: Actuator, levels: dict[str, float]) -> Actuator:
    """Return the actuator with the estimated values."""
    friction = replace(actuator.friction, **{kind: x for kind, x in levels.items() if hasattr(actuator.friction, kind)})
    rotor = levels["rotor"] / actuator.gear**2 if "rotor" in levels else actuator.rotor_inertia
    offset, stiffness = levels.get("offset", actuator.offset), levels.get("stiffness", actuator.stiffness)
    return replace(actuator, rotor_inertia=rotor, friction=friction, offset=offset, stiffness=stiffness)
