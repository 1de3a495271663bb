"""Write a Pinocchio model as plain text, for programs that are compiled with its templates.

A model from Python would have to be passed between libraries compiled with different alignment; a text avoids this, and
the program needs no URDF reader:

    joints  gravity (3)
    kind  parent  axis (3)  rotation (9)  translation (3)  mass  centre of mass (3)  inertia (9)     one line per joint
"""

from __future__ import annotations

from appell_lab.bench.peers.peer import PeerUnavailableError
from appell_lab.bench.subject import Twin

ALIGNED = tuple(f"JointModel{kind}{axis}" for kind in "RP" for axis in "XYZ")
KINDS = (*ALIGNED, "JointModelRevoluteUnaligned", "JointModelPrismaticUnaligned", "JointModelFreeFlyer")


def model_text(twin: Twin) -> str:
    """Return the text that `read_model` in the sources reads."""
    model = twin.model
    lines = [_line([model.njoints - 1], model.gravity.linear)]
    for k in range(1, model.njoints):
        joint, inertia, placement = model.joints[k], model.inertias[k], model.jointPlacements[k]
        kind = joint.shortname()
        if kind not in KINDS:
            raise PeerUnavailableError(
                f"joint '{model.names[k]}' is Pinocchio's {kind}, which the driver does not support."
            )
        axis = getattr(joint.extract(), "axis", (0.0, 0.0, 0.0)) if kind.endswith("Unaligned") else (0.0, 0.0, 0.0)
        frame = (axis, placement.rotation.ravel(), placement.translation)
        body = ([inertia.mass], inertia.lever, inertia.inertia.ravel())
        lines.append(f"{kind} {model.parents[k]} {_line(*frame, *body)}")
    return "\n".join(lines) + "\n"


def _line(*groups) -> str:
    return " ".join(repr(float(x)) if not isinstance(x, int) else str(x) for group in groups for x in group)
