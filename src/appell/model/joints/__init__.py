"""The kinds of joint: one file each, all answering the same five questions."""

from appell.model.joints.floating import Floating
from appell.model.joints.motion import Motion, Partial
from appell.model.joints.planar import Planar
from appell.model.joints.prismatic import Prismatic
from appell.model.joints.revolute import Continuous, Revolute
from appell.model.joints.spherical import Spherical

KINDS: dict[str, type[Motion]] = {
    kind.name: kind for kind in (Revolute, Continuous, Prismatic, Spherical, Floating, Planar)
}

__all__ = ["KINDS", "Continuous", "Floating", "Motion", "Partial", "Planar", "Prismatic", "Revolute", "Spherical"]
