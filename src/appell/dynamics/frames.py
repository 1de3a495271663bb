"""Functions of frames: the pose of a named frame of a system, its Jacobian, velocity and acceleration.

The docstring of a formula documents its function, with the name of the frame and its axes filled in. `axes` is one of

    LOCAL                  axes of the frame, at its origin
    LOCAL_WORLD_ALIGNED    axes of the world, at the frame's origin
    WORLD                  axes of the world, at the point of the frame's body that coincides with the world's origin

`jacobian_rate` and `acceleration` are derivatives along the motion, with rates dq/dt and dv/dt = a. Their formulas
return the quantity to be differentiated; `derivatives.along_motion` differentiates it.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.scalar import Vector
from appell.errors import ArgumentError, unknown_name
from appell.formulate.equations import Equations
from appell.formulate.kinematics import REFERENCES
from appell.model.frame import Frame


def pose(equations: Equations, q: Vector, *, frame: Frame, axes: str) -> dict[str, Any]:
    """The 4x4 pose of frame '{frame}' in the world."""
    return {"pose": equations.pose(frame, q).matrix}


def jacobian(equations: Equations, q: Vector, *, frame: Frame, axes: str) -> dict[str, Any]:
    """J(q), the Jacobian of frame '{frame}': its (linear, angular) velocity is J v, {axes}."""
    return {"J": equations.jacobian(frame, axes, q)}


def jacobian_rate(equations: Equations, q: Vector, v: Vector, *, frame: Frame, axes: str) -> dict[str, Any]:
    """dJ/dt (q, v), the rate of the Jacobian of frame '{frame}', {axes}."""
    return {"Jdot": equations.jacobian(frame, axes, q)}


def velocity(equations: Equations, q: Vector, v: Vector, *, frame: Frame, axes: str) -> dict[str, Any]:
    """The (linear, angular) velocity of frame '{frame}', {axes}."""
    return {"V": equations.velocity(frame, axes, q, v)}


def acceleration(equations: Equations, q: Vector, v: Vector, a: Vector, *, frame: Frame, axes: str) -> dict[str, Any]:
    """The rate of the (linear, angular) velocity of frame '{frame}', {axes}."""
    return {"A": equations.velocity(frame, axes, q, v)}


ALONG_MOTION = (jacobian_rate, acceleration)
FRAME_FUNCTIONS = tuple(formula.__name__ for formula in (pose, jacobian, jacobian_rate, velocity, acceleration))


def known_reference(reference: str) -> str:
    """Return the name of a reference, or raise an error that lists the known ones."""
    if reference not in REFERENCES:
        raise ArgumentError(unknown_name("reference", str(reference), REFERENCES, "a frame"))
    return reference
