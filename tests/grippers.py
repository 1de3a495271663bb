"""An arm with two revolute joints and a gripper of two fingers, one of which mimics the other, as URDF."""

from __future__ import annotations

INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    '<origin xyz="0 0 0.2"/></inertial>'
)


def _joint(name: str, kind: str, parent: str, child: str, xyz: str, axis: str, more: str = "") -> str:
    limit = '<limit lower="0" upper="0.04" effort="1" velocity="1"/>' if kind == "prismatic" else ""
    limit = limit or ('<limit lower="-2" upper="2" effort="9" velocity="9"/>' if kind == "revolute" else "")
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>{limit}{more}</joint>'
    )


GRIPPER = "".join(
    [
        '<robot name="gripper"><link name="base"/>',
        *(f'<link name="{name}">{INERTIAL}</link>' for name in ("upper", "lower", "left_finger", "right_finger")),
        '<link name="palm"/>',
        _joint("shoulder", "revolute", "base", "upper", "0 0 0", "0 1 0"),
        _joint("elbow", "revolute", "upper", "lower", "0 0 0.5", "0 1 0"),
        _joint("wrist", "fixed", "lower", "palm", "0 0 0.4", "0 0 1"),
        _joint("left", "prismatic", "palm", "left_finger", "0 0 0.1", "0 1 0"),
        _joint("right", "prismatic", "palm", "right_finger", "0 0 0.1", "0 -1 0", '<mimic joint="left"/>'),
        "</robot>",
    ]
)
