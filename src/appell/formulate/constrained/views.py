"""From where a closure is seen: this decides what its rows cost, and which of them are literal zeros.

Any link of a loop will do, and any constant axes in it: positions, forces and which motions a closure allows are the
same. The last common ancestor of both sides, in the axes in which a first joint of one axis is placed on it, makes rows
of a planar loop literal zeros. Where one side is the ancestor itself and the other leaves it by a joint of several
axes, as a foot on the ground does, the first link beyond is the better place: the velocities of such a joint are given
in axes of its link, so that its columns are units and its orientation stays out of all others.
"""

from __future__ import annotations

from appell.algebra.rotation import Pose
from appell.formulate.constrained.frame_motion import Viewpoint, canonical, route
from appell.formulate.tree import Tree, TreeLink
from appell.model.frame import Frame
from appell.model.joints import Revolute


def view_of_closure(tree: Tree, a: Frame, b: Frame) -> Viewpoint:
    back, sideways = route(tree, a.body, b.body)
    firsts = [side[0] for side in (back[::-1], sideways) if side]
    if len(firsts) == 1 and firsts[0].joint.motion.nv > 1:
        return Viewpoint(firsts[0].name)
    first = next((link for link in firsts if link.joint.motion.nv == 1), firsts[0])
    return Viewpoint(first.parent, placed(first))


def placed(link: TreeLink) -> Pose:
    """Where the joint of a link stands on the parent, in the axes that suit it."""
    return link.placement @ canonical(link.joint.motion)[0]


def view_of_wheel(tree: Tree, wheel: Frame, plane: Frame) -> Viewpoint:
    """The link on which a wheel turns, where its axis stands still; else the wheel itself.

    There the lateral rows of two wheels on one axle are one expression, and on a base that moves in a plane the normal
    rows literal zeros.
    """
    inward, _ = route(tree, wheel.body, plane.body)
    if inward and isinstance(inward[0].joint.motion, Revolute):
        return Viewpoint(inward[0].parent, placed(inward[0]))
    return Viewpoint(wheel.body, wheel.pose)


def view_from(frame: Frame) -> Viewpoint:
    """The frame itself: a surface, on which normals stand still, or a blade."""
    return Viewpoint(frame.body, frame.pose)
