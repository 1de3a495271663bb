"""The identified robot: the description it was identified from, with the bodies and friction that were found.

Base parameters do not say which of many sets of bodies has them. If those of the estimate can exist they are
taken; otherwise the export refuses, naming the links, unless asked for the nearest set that can
(`consistent=True`), which keeps the base parameters as well as they can be kept."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from appell.describe.write import to_toml, to_urdf
from appell.errors import ArgumentError, ModelError, ModelWarning
from appell.identify.estimators.consistent import _is_massless, consistent, flaws
from appell.identify.estimators.estimator import Estimator
from appell.model.body import Body
from appell.model.robot import Robot


def identified_robot(estimator: Estimator, *, consistent_bodies: bool = False, name: str | None = None) -> Robot:
    """The robot with the parameters of a fitted estimator."""
    parameters = np.array(estimator._fitted("parameters_"), float)
    model = estimator.model_
    robot = model.robot
    if robot is None:
        raise ModelError(
            f"'{model.name}' is not a tree robot; its parameters are in `parameters_`, but not a robot file."
        )
    if consistent_bodies and flaws(model, parameters):
        weights = 1.0 / np.maximum(estimator.std_, 1e-9 * np.abs(estimator.base_parameters_) + 1e-12)
        rows = estimator.base_.matrix * weights[:, None]
        parameters = consistent(model, rows, estimator.base_parameters_ * weights, parameters)
    impossible = flaws(model, parameters)
    if impossible:
        listed = "; ".join(f"link '{link}' {flaw}" for link, flaw in impossible.items())
        raise ModelError(
            f"no body can have the inertia that was found: {listed}.",
            expected="a mass and principal moments that are positive, none above the sum of the other two",
            hint="identify.PhysicallyConsistent, or consistent_bodies=True for the nearest bodies that can exist",
        )
    rotors = {
        c.owner: x for c, x in zip(model.columns, parameters, strict=True) if c.kind == "rotor" and abs(x) > 1e-12
    }
    if rotors:
        told = ", ".join(f"{joint} {value:.4g}" for joint, value in rotors.items())
        raise ModelError(
            f"rotor inertias were found ({told} kg m²), for which a robot file has no place.",
            hint="identify with rotor=False, or keep `parameters_` beside the file",
        )
    _warn_of_offsets(model, parameters)
    bodies: dict[str, Body | None] = {
        link.name: None if _is_massless(model, k) else Body.from_parameters(parameters[10 * k : 10 * k + 10].tolist())
        for k, link in enumerate(robot.links)
    }
    found = robot.with_bodies(bodies)
    if model.friction:
        found = replace(found, links=tuple(_with_friction(link, model, parameters) for link in found.links))
    return found if name is None else replace(found, name=name)


def export(estimator: Estimator, path: str | Path, **options) -> Robot:
    """Write the identified robot to a .toml or .urdf file that is not there yet."""
    path = Path(path)
    if path.suffix not in (".toml", ".urdf"):
        raise ArgumentError(f"'{path.name}' is no robot file.", expected="a name that ends in .toml or .urdf")
    if path.exists():
        raise ArgumentError(f"{path} is there already; nothing is written over.", hint="another name")
    robot = identified_robot(estimator, **options)
    (to_toml if path.suffix == ".toml" else to_urdf)(robot, path)
    return robot


def _warn_of_offsets(model, parameters) -> None:
    """A robot file holds damping and friction of a joint, but not the zero of its amplifier."""
    offsets = [(c.owner, x) for c, x in zip(model.columns, parameters, strict=True) if c.kind == "offset" and x]
    if offsets:
        told = ", ".join(f"{joint} {value:.4g}" for joint, value in offsets)
        warnings.warn(f"torque offsets have no place in a robot file and are left out: {told} N m", ModelWarning, 3)


def _with_friction(link, model, parameters):
    found = {c.kind: float(x) for c, x in zip(model.columns, parameters, strict=True) if c.owner == link.joint.name}
    if "coulomb" not in found and "viscous" not in found:
        return link
    friction, damping = max(0.0, found.get("coulomb", 0.0)), max(0.0, found.get("viscous", 0.0))
    return replace(link, joint=replace(link.joint, friction=friction, damping=damping))
