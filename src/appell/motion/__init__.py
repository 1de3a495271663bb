"""Motion: a `Path` is a requested motion, `q, v, a = path(t)`; a `Record` is an observed one.

path = Spline([0, 1, 2], points)               way-points -> path
path.record().write("motion.csv")              path -> record -> file
Record.read("motion.csv").path()               file -> record -> path
lift(robot, path)                              path of the independent joints -> record of all coordinates of a robot
"""

from appell.motion.clock import ClockReport
from appell.motion.collision_check import check_margin, collisions
from appell.motion.event import Event
from appell.motion.journal import JournalWriter, open_journal
from appell.motion.measurement import measured
from appell.motion.path import Path
from appell.motion.paths.fourier import Fourier
from appell.motion.paths.lift import lift
from appell.motion.paths.line import CartesianLine, zyz
from appell.motion.paths.ramp import Ramp
from appell.motion.paths.scaled import Scaled, time_optimal
from appell.motion.paths.spline import Interpolated, Spline
from appell.motion.record import Record
from appell.motion.records import Records
from appell.motion.working_limits import WorkingLimits

__all__ = [
    "CartesianLine",
    "ClockReport",
    "Event",
    "Fourier",
    "Interpolated",
    "JournalWriter",
    "Path",
    "Ramp",
    "Record",
    "Records",
    "Scaled",
    "Spline",
    "WorkingLimits",
    "check_margin",
    "collisions",
    "lift",
    "measured",
    "open_journal",
    "time_optimal",
    "zyz",
]
