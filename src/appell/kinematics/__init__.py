"""Kinematics beyond a single function: inverse kinematics, assembly of loops, maps of mechanisms.

inverse                                        inverse kinematics: in closed form for spherical wrists, and numerical
forward_kinematics(dyn, theta)                 the pose of a mechanism for given actuators; also check_pose, workspace
assemble(robot, q0, hold=["crank"])            close the loops of a constrained robot; also assemblies (all solutions),
                                               mobility, singularity, project_velocity
equilibrium(system, q0, tau)                   the configuration in which a system rests under constant torques
"""

from appell.kinematics import inverse
from appell.kinematics.assembly import assemble, assemblies, project_velocity
from appell.kinematics.freedoms import Mobility, Singularity, mobility, singularity
from appell.kinematics.mechanisms import check_pose, condition, forward_kinematics, workspace
from appell.kinematics.static_equilibrium import equilibrium

__all__ = [
    "Mobility",
    "Singularity",
    "assemble",
    "assemblies",
    "check_pose",
    "condition",
    "equilibrium",
    "forward_kinematics",
    "inverse",
    "mobility",
    "project_velocity",
    "singularity",
    "workspace",
]
