"""Motion: `Path`, asked for, `q, v, a = path(t)`; `Record`, what happened; inverse kinematics in `motion.inverse`.

path = Spline([0, 1, 2], points)               path.record().write("motion.csv")
Record.read("motion.csv").path()               a path again
forward_kinematics(dyn, theta)                 the pose of a mechanism for given actuators; also check_pose, workspace
assemble(robot, q0, hold=["crank"])            the loops of a constrained robot closed; also assemblies (all branches),
                                               lift (a path of some joints to all of them), mobility,
                                               singularity, project_velocity
equilibrium(system, q0, tau)                   where a system stands still under constant torques
"""

from appell.motion import inverse
from appell.motion.assembly.assemble import assemble, assemblies
from appell.motion.assembly.lift import lift
from appell.motion.assembly.mobility import Mobility, Singularity, mobility, singularity
from appell.motion.assembly.velocity import project_velocity
from appell.motion.at_rest import equilibrium
from appell.motion.event import Event
from appell.motion.files.journal import JournalWriter
from appell.motion.measurement import measured
from appell.motion.mechanisms.maps import workspace
from appell.motion.mechanisms.newton import forward_kinematics
from appell.motion.mechanisms.pose_check import check_pose, condition
from appell.motion.path import Path
from appell.motion.paths.fourier import Fourier
from appell.motion.paths.line import CartesianLine, zyz
from appell.motion.paths.ramp import Ramp
from appell.motion.paths.scaled import Scaled, time_optimal
from appell.motion.paths.spline import Interpolated, Spline
from appell.motion.pictures.drawing import draw
from appell.motion.record import Record
from appell.motion.records import Records
from appell.motion.staging.pages import to_html
from appell.motion.staging.view import view

__all__ = [
    "CartesianLine",
    "Event",
    "Fourier",
    "Interpolated",
    "JournalWriter",
    "Mobility",
    "Path",
    "Ramp",
    "Record",
    "Records",
    "Scaled",
    "Singularity",
    "Spline",
    "assemble",
    "assemblies",
    "check_pose",
    "condition",
    "draw",
    "equilibrium",
    "forward_kinematics",
    "inverse",
    "lift",
    "measured",
    "mobility",
    "project_velocity",
    "singularity",
    "time_optimal",
    "to_html",
    "view",
    "workspace",
    "zyz",
]
