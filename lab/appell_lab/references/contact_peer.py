"""Contacts in Pinocchio: `constraintDynamics` and its derivatives for footholds and an active set, as in appell.

The robot of appell is converted from Pinocchio's model, so that q and v agree. Rows are LOCAL, as those of appell; the
forces of Pinocchio are in the axes of the contact frames and are turned to foothold axes here. For a contact on another
link, Pinocchio's rows of a point agree where the frame is at its foothold and at rest relative to it, those of a sole
without the gain k_p everywhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np

from appell.describe.pinocchio.read import from_pinocchio
from appell.dynamics.contacts import ContactSet
from appell.dynamics.dynamics import Dynamics
from appell.errors import ModelWarning
from appell.model.contact import Sole, Touch
from appell_lab.references.oracle import pinocchio

CONTACTS: dict[str, dict[str, Touch | Sole]] = {
    "talos": {
        "left": Sole("left_sole_link"),
        "right": Sole("right_sole_link"),
        "left_hand": Touch("gripper_left_base_link"),
        "right_hand": Touch("gripper_right_base_link"),
    },
    "go2": {foot: Touch(f"{foot}_foot") for foot in ("FL", "FR", "RL", "RR")},
    "anymal": {foot: Touch(f"{foot}_FOOT") for foot in ("LF", "RF", "LH", "RH")},
}
URDFS = {"talos": "talos_reduced.urdf"}  # others have the name of their robot


def urdf(name: str) -> Path:
    """Return the file of a robot of the package example-robot-data."""
    wanted = URDFS.get(name, f"{name}.urdf")
    return next(Path(str(file.locate())) for file in files("example-robot-data") or [] if file.name == wanted)


@dataclass
class ContactPeer:
    """A robot of a URDF on a floating base, and its contacts: frame and number of rows, by name."""

    urdf: Path
    frames: Mapping[str, Touch | Sole]
    floating: bool = True
    mu: float = 1e-8
    iterations: int = 3
    model: Any = field(init=False)

    def __post_init__(self):
        pin = pinocchio()
        base = [pin.JointModelFreeFlyer()] if self.floating else []
        self.model = pin.buildModelFromUrdf(str(self.urdf), *base)

    @cached_property
    def contacts(self) -> ContactSet:
        """The same contacts in appell."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = from_pinocchio(self.model, name=Path(self.urdf).stem, physical=False)
        return Dynamics(robot).contacts(**self.frames)

    def set(self, footholds, active, gains) -> tuple[Any, ...]:
        """Return the contact models, their data, and the settings of the solver, for Pinocchio's functions."""
        pin, model = pinocchio(), self.model
        models = pin.StdVec_RigidConstraintModel()
        for contact, foot, on in zip(self.frames.values(), footholds, active, strict=True):
            if on:
                frame = model.frames[model.getFrameId(contact.frame)]
                kind = pin.ContactType.CONTACT_6D if contact.size == 6 else pin.ContactType.CONTACT_3D
                joint, target = 0, pin.SE3(foot[:, :3], foot[:, 3])
                if contact.on:
                    base = model.frames[model.getFrameId(contact.on)]
                    joint, target = base.parentJoint, base.placement * target
                each = pin.RigidConstraintModel(
                    kind, model, frame.parentJoint, frame.placement, joint, target, pin.ReferenceFrame.LOCAL
                )
                each.m_baumgarte_parameters.Kp, each.m_baumgarte_parameters.Kd = map(float, gains)
                models.append(each)
        terms = pin.StdVec_RigidConstraintData()
        for each in models:
            terms.append(each.createData())
        return models, terms, pin.ProximalSettings(0.0, self.mu, self.iterations)

    def dynamics(self, q, v, tau, footholds, active, gains) -> tuple[np.ndarray, np.ndarray]:
        """Return a, and the forces in foothold axes with the shape of `ContactSet.forward_dynamics`."""
        pin, data = pinocchio(), self.model.createData()
        models, terms, settings = self.set(footholds, active, gains)
        pin.initConstraintDynamics(self.model, data, models, terms)
        a = pin.constraintDynamics(self.model, data, q, v, tau, models, terms, settings).copy()
        return a, self._blocks(data.lambda_c[:, None], q, footholds, active)[..., 0]

    def derivatives(self, q, v, tau, footholds, active, gains) -> dict[str, np.ndarray]:
        """Return `da_dq` and the other derivatives by q, v and tau, the forces in the axes of the contact frames."""
        pin, data = pinocchio(), self.model.createData()
        models, terms, settings = self.set(footholds, active, gains)
        pin.initConstraintDynamics(self.model, data, models, terms)
        pin.constraintDynamics(self.model, data, q, v, tau, models, terms, settings)
        pin.computeConstraintDynamicsDerivatives(self.model, data, models, terms, settings)
        return {
            "da_dq": data.ddq_dq.copy(),
            "da_dv": data.ddq_dv.copy(),
            "da_dtau": data.ddq_dtau.copy(),
            "dforce_dq": data.dlambda_dq.copy(),
            "dforce_dv": data.dlambda_dv.copy(),
            "dforce_dtau": data.dlambda_dtau.copy(),
        }

    def _blocks(self, rows: np.ndarray, q, footholds, active) -> np.ndarray:
        """Return rows of active contacts (rows, k) in foothold axes, (nc, 6 or 3, k)."""
        pin, data = pinocchio(), self.model.createData()
        pin.framesForwardKinematics(self.model, data, q)
        width = max(contact.size for contact in self.frames.values())
        blocks, start = np.zeros((len(self.frames), width, rows.shape[1])), 0
        for c, (contact, foot) in enumerate(zip(self.frames.values(), footholds, strict=True)):
            if active[c]:
                base = data.oMf[self.model.getFrameId(contact.on or "universe")].rotation
                turn = (base @ foot[:, :3]).T @ data.oMf[self.model.getFrameId(contact.frame)].rotation
                for k in range(0, contact.size, 3):
                    blocks[c, k : k + 3] = turn @ rows[start + k : start + k + 3]
                start += contact.size
        return blocks
