"""What a model holds that appell does not: refused by name, left out on request, or passed over with a word.

What takes part in smooth motion (forces that follow from q and v, and what keeps joints together) is honoured or
refused. It is left out only if that was asked for: load("hand.xml", without=["tendon"]). What acts beside smooth motion
(limits of a ball, gains of a servo) is passed over, and one warning names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from appell.describe.flaws import Flaws
from appell.describe.mjcf.engine import is_off, mujoco, word
from appell.describe.mjcf.lines import Lines
from appell.errors import DescriptionError, Hint, unknown_name

KINDS = {
    "actuator": "actuators that are no force at a joint of one axis",
    "armature": "armature of free joints",
    "equality": "equality constraints",
    "flex": "deformable bodies",
    "fluid": "the density and viscosity of a fluid",
    "friction": "dry friction of free joints, and damping that is no multiple of the speed",
    "gravcomp": "gravity compensation of single bodies",
    "mocap": "the motion of mocap bodies, which stand still",
    "plugin": "plugins",
    "spring": "springs that are not linear, or not at a joint of one axis",
    "tendon": "tendons",
}
FORCES = ("stiffness", "damping", "armature", "frictionloss", "stiffnesspoly", "dampingpoly")  # of a tendon


class Findings:
    """Refusals as flaws, all told at once, and notes."""

    def __init__(self, model: Any, lines: Lines, without: Iterable[str]):
        self.model, self.lines = model, lines
        self.without = (without,) if isinstance(without, str) else tuple(without)
        for kind in self.without:
            if kind not in KINDS:
                raise DescriptionError(unknown_name("kind that can be left out", str(kind), KINDS, "without="))
        self.flaws = Flaws(lines.source or "the model")
        self.notes: list[str] = []

    def refuse(self, kind: str, problem: str, where: str = "", expected: str = "") -> None:
        """A flaw, unless what is refused is to be left out."""
        if kind in self.without:
            self.note(problem)
            return
        hint = Hint(f"{{without}} leaves out {KINDS[kind]}", without=kind)
        self.flaws.add(DescriptionError(problem, expected=expected, source=where, hint=hint))

    def note(self, sentence: str) -> None:
        self.notes.append(sentence.rstrip("."))

    # ---- parts by number

    def name(self, kind: str, number: int) -> str:
        """The name of a part, or one made of its number."""
        return self.known(kind, number) or f"{kind}{number}"

    def known(self, kind: str, number: int) -> str:
        engine = mujoco()
        return engine.mj_id2name(self.model, getattr(engine.mjtObj, f"mjOBJ_{kind.upper()}"), number) or ""

    def where(self, kind: str, number: int) -> str:
        sizes = {"body": "nbody", "joint": "njnt", "equality": "neq", "actuator": "nu", "flex": "nflex"}
        size = sizes.get(kind, f"n{kind}")
        count, shift = int(getattr(self.model, size)), 1 if kind == "body" else 0  # the world is no <body>
        return self.lines.where(kind, self.known(kind, number), number - shift, count - shift)


def check_whole(found: Findings) -> None:
    """Refuse what is not a joint, a body, a drive or an equality constraint."""
    model, option = found.model, found.model.opt
    if option.density or option.viscosity:
        where = found.lines.option("option", ("density", "viscosity"))
        told = f"density {option.density:g} and viscosity {option.viscosity:g}"
        found.refuse("fluid", f"<option> gives the air {told}, whose drag appell does not know.", where)
    for k in range(model.nflex):
        problem = f"flex '{found.name('flex', k)}' is deformable; appell's bodies are rigid."
        found.refuse("flex", problem, found.where("flex", k))
    for k in range(1, model.nbody):
        if model.body_mocapid[k] >= 0:
            _check_mocap(found, k)
        if model.body_plugin[k] >= 0:
            problem = f"body '{found.name('body', k)}' is acted on by a plugin."
            found.refuse("plugin", problem, found.where("body", k))
    for k in range(model.ntendon):
        _check_tendon(found, k)


def _check_mocap(found: Findings, k: int) -> None:
    """A body that is moved from outside: refused if a constraint hands its motion on, else it stands still."""
    model, who = found.model, f"body '{found.name('body', k)}'"
    tied = set()
    for e in range(model.neq):
        if model.eq_active0[e]:
            ends, kind = (int(model.eq_obj1id[e]), int(model.eq_obj2id[e])), word("mjtObj", model.eq_objtype[e])
            tied |= {int(model.site_bodyid[end]) if kind == "site" else end for end in ends if kind in ("site", "body")}
    if any(int(model.body_rootid[body]) == int(model.body_rootid[k]) for body in tied):
        problem = f"{who} is a mocap body, and what is tied to it moves as it is told to."
        found.refuse("mocap", problem, found.where("body", k))
    else:
        found.note(f"the motion of {who}, a mocap body, which stands still")


def _check_tendon(found: Findings, k: int) -> None:
    model, who = found.model, f"tendon '{found.name('tendon', k)}'"
    acting = [key for key in FORCES if has(model, f"tendon_{key}", k)]
    if acting:
        found.refuse("tendon", f"{who} has {', '.join(acting)}, a force along a tendon.", found.where("tendon", k))
    elif model.tendon_limited[k]:
        found.note(f"the limits of {who}")


def has(model: Any, what: str, k: int) -> bool:
    """Whether entry k of an array of the model, a number or several, is not 0; older models may lack the array."""
    values = getattr(model, what, None)
    return values is not None and bool(np.any(values[k]))


def scaled_gravity(found: Findings) -> list[float]:
    """Gravity, less what is compensated if that is the same part of it for all bodies that move."""
    model = found.model
    if is_off(model, "gravity"):
        return [0.0, 0.0, 0.0]
    moving = [k for k in range(1, model.nbody) if model.body_weldid[k] != 0 and model.body_mass[k] > 0.0]
    parts = {float(model.body_gravcomp[k]) for k in moving} if "gravcomp" not in found.without else {0.0}
    if len(parts) > 1:
        lifted = next(k for k in moving if model.body_gravcomp[k])
        problem = f"body '{found.name('body', lifted)}' has its gravity compensated, and others have not."
        found.refuse("gravcomp", problem, found.where("body", lifted), "the same gravcomp for all that moves")
        parts = {0.0}
    left = 1.0 - parts.pop() if parts else 1.0
    if left != 1.0:
        found.note(f"gravity is compensated, {left:g} of it is left")
    return [left * float(x) for x in model.opt.gravity]
