"""`control run` with default settings on robots of example-robot-data.

The list was fixed before the defaults were chosen. The bases of quadrupeds and humanoids are held: their files have no
floating joint.
"""

from __future__ import annotations

ROBOTS = (  # paths in the folder of example-robot-data
    # arms
    "ur_description/urdf/ur3_robot.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "ur_description/urdf/ur10_robot.urdf",
    "ur_description/urdf/ur10_joint_limited_robot.urdf",
    "ur_description/urdf/ur5_gripper.urdf",
    "kinova_description/robots/kinova.urdf",
    "panda_description/urdf/panda.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
    "so_arm_description/urdf/so100.urdf",
    "so_arm_description/urdf/so101.urdf",
    "talos_data/robots/talos_left_arm.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf",
    "asr_twodof_description/urdf/TwoDofs.urdf",
    # quadrupeds
    "anymal_b_simple_description/robots/anymal.urdf",
    "go2_description/urdf/go2.urdf",
    "solo_description/robots/solo12.urdf",
    "hyq_description/robots/hyq_no_sensors.urdf",
    # humanoids
    "talos_data/robots/talos_reduced.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
)
