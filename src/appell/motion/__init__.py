"""Motion: `Path` is a requested motion, `q, v, a = path(t)`; `Record` is an observed one.

path = Spline([0, 1, 2], points)               path.record().write("motion.csv")
Record.read("motion.csv").path()               a path again
lift(robot, path)                              a path of some joints becomes a path of all joints of a constrained robot
"""

from appell.motion.event import Event
from appell.motion.journal import JournalWriter
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

__all__ = [
    "CartesianLine",
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
    "lift",
    "measured",
    "time_optimal",
    "zyz",
]
