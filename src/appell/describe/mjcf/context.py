"""Context of reading a compiled model: its names and lines, and the parts that appell does not support.

Parts that affect smooth motion (forces that depend on q and v, constraints between joints) are either supported or
rejected. They are left out only on request: load("hand.xml", without=["tendon"]). Parts that do not affect smooth
motion (limits of a ball joint, gains of a servo) are ignored, and one warning lists them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from appell.describe.diagnostics import ErrorCollector
from appell.describe.mjcf.compiler import enum_name, is_disabled, mujoco
from appell.describe.mjcf.lines import Lines
from appell.errors import DescriptionError, Hint, unknown_name

OMITTABLE = {  # kinds of parts that `without` can leave out
    "actuator": "actuators other than forces at joints with one axis",
    "armature": "armature of free joints",
    "equality": "equality constraints",
    "flex": "deformable bodies",
    "fluid": "the density and viscosity of a fluid",
    "friction": "dry friction of free joints, and nonlinear damping",
    "gravcomp": "gravity compensation of individual bodies",
    "mocap": "the motion of mocap bodies, which are fixed instead",
    "plugin": "plugins",
    "spring": "nonlinear springs, and springs at joints with several axes",
    "tendon": "tendons",
}
TENDON_FORCES = ("stiffness", "damping", "armature", "frictionloss", "stiffnesspoly", "dampingpoly")


class ReadContext:
    """A compiled model with the lines of its text, the errors collected while reading it, and notes for a warning.

    Parameters
    ----------
    model : the `MjModel`
    lines : where its parts are described
    without : kinds of unsupported parts to leave out, from `OMITTABLE`
    """

    def __init__(self, model: Any, lines: Lines, without: Iterable[str]):
        self.model, self.lines = model, lines
        self.without = (without,) if isinstance(without, str) else tuple(without)
        for kind in self.without:
            if kind not in OMITTABLE:
                raise DescriptionError(unknown_name("kind", str(kind), OMITTABLE, "the option without="))
        self.errors = ErrorCollector(lines.source or "the model")
        self.notes: list[str] = []

    def reject(self, kind: str, problem: str, where: str = "", expected: str = "") -> None:
        """Collect an error about an unsupported part, or a note if `without` leaves out parts of this kind."""
        if kind in self.without:
            self.note(problem)
            return
        hint = Hint(f"Pass {{without}} to leave out {OMITTABLE[kind]}.", without=kind)
        self.errors.add(DescriptionError(problem, expected=expected, source=where, hint=hint))

    def note(self, sentence: str) -> None:
        """Add something to the warning about ignored parts."""
        self.notes.append(sentence.rstrip("."))

    # ---- parts by number

    def name(self, kind: str, number: int) -> str:
        """Return the name of a part, or its kind and number if it has no name."""
        return self.given_name(kind, number) or f"{kind}{number}"

    def given_name(self, kind: str, number: int) -> str:
        """Return the name of a part; empty if it has none."""
        engine = mujoco()
        return engine.mj_id2name(self.model, getattr(engine.mjtObj, f"mjOBJ_{kind.upper()}"), number) or ""

    def where(self, kind: str, number: int) -> str:
        """Return file and line of a part."""
        sizes = {"body": "nbody", "joint": "njnt", "equality": "neq", "actuator": "nu", "flex": "nflex"}
        size = sizes.get(kind, f"n{kind}")
        count, shift = int(getattr(self.model, size)), 1 if kind == "body" else 0  # the world has no <body> tag
        return self.lines.where(kind, self.given_name(kind, number), number - shift, count - shift)


def check_supported(context: ReadContext) -> None:
    """Reject fluids, deformable bodies, moving mocap bodies, plugins and tendons that exert forces."""
    model, option = context.model, context.model.opt
    if option.density or option.viscosity:
        where = context.lines.option("option", ("density", "viscosity"))
        fluid = f"density {option.density:g} and viscosity {option.viscosity:g}"
        context.reject("fluid", f"<option> sets the fluid {fluid}; appell does not support fluid forces.", where)
    for k in range(model.nflex):
        problem = f"flex '{context.name('flex', k)}' is a deformable body, which appell does not support."
        context.reject("flex", problem, context.where("flex", k))
    for k in range(1, model.nbody):
        if model.body_mocapid[k] >= 0:
            _check_mocap(context, k)
        if model.body_plugin[k] >= 0:
            problem = f"body '{context.name('body', k)}' has a plugin, which appell does not support."
            context.reject("plugin", problem, context.where("body", k))
    for k in range(model.ntendon):
        _check_tendon(context, k)


def _check_mocap(context: ReadContext, k: int) -> None:
    """Reject a mocap body if constraints attach other bodies to it; otherwise it is fixed, with a note."""
    model, owner = context.model, f"body '{context.name('body', k)}'"
    constrained = set()
    for e in range(model.neq):
        if model.eq_active0[e]:
            ends, kind = (int(model.eq_obj1id[e]), int(model.eq_obj2id[e])), enum_name("mjtObj", model.eq_objtype[e])
            constrained |= {
                int(model.site_bodyid[end]) if kind == "site" else end for end in ends if kind in ("site", "body")
            }
    if any(int(model.body_rootid[body]) == int(model.body_rootid[k]) for body in constrained):
        problem = f"{owner} is a mocap body, which prescribes the motion of the bodies constrained to it."
        context.reject("mocap", problem, context.where("body", k))
    else:
        context.note(f"the motion of the mocap {owner}, which is fixed")


def _check_tendon(context: ReadContext, k: int) -> None:
    model, owner = context.model, f"tendon '{context.name('tendon', k)}'"
    acting = [key for key in TENDON_FORCES if has(model, f"tendon_{key}", k)]
    if acting:
        context.reject("tendon", f"{owner} exerts a force ({', '.join(acting)}).", context.where("tendon", k))
    elif model.tendon_limited[k]:
        context.note(f"the limits of {owner}")


def has(model: Any, what: str, k: int) -> bool:
    """Whether entry k of an array of the model (one number or several) is not 0; False if the array does not exist."""
    values = getattr(model, what, None)
    return values is not None and bool(np.any(values[k]))


def remaining_gravity(context: ReadContext) -> list[float]:
    """Return gravity minus its compensation, which must be the same fraction for all moving bodies."""
    model = context.model
    if is_disabled(model, "gravity"):
        return [0.0, 0.0, 0.0]
    moving = [k for k in range(1, model.nbody) if model.body_weldid[k] != 0 and model.body_mass[k] > 0.0]
    fractions = {float(model.body_gravcomp[k]) for k in moving} if "gravcomp" not in context.without else {0.0}
    if len(fractions) > 1:
        lifted = next(k for k in moving if model.body_gravcomp[k])
        problem = f"body '{context.name('body', lifted)}' has another gravity compensation than other moving bodies."
        context.reject("gravcomp", problem, context.where("body", lifted), "the same gravcomp for all moving bodies")
        fractions = {0.0}
    remaining = 1.0 - fractions.pop() if fractions else 1.0
    if remaining != 1.0:
        context.note(f"gravity, of which the compensation leaves {remaining:g}")
    return [remaining * float(x) for x in model.opt.gravity]
