"""Identification: a robot's dynamic parameters from its own motion.

base = identify.base_parameters(robot)               what can be found at all: base.count, base.describe()
plan = identify.excite(robot)                        a motion that shows it: plan.trajectory.record(...).write(...)
log = measured(Record.read("log.csv"), names, names) the record of it, checked (appell.motion)
data = identify.process(log)                         filtered, differentiated
fit = identify.LeastSquares(robot, friction=True).fit(*data.samples.motion, data.samples.tau)
identify.judge(fit, held_out).to_markdown()          what it is worth
identify.export(fit, "robot.toml")                   the robot it makes
"""

from appell.identify.base.base import BaseParameters, base_parameters
from appell.identify.estimators.consistent import PhysicallyConsistent, flaws
from appell.identify.estimators.instruments import InstrumentalVariables
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.estimators.output_error import OutputError
from appell.identify.estimators.payload import Payload
from appell.identify.estimators.ridge import Ridge
from appell.identify.estimators.robust import Robust
from appell.identify.estimators.stream import Triangles, triangles
from appell.identify.estimators.total import TotalLeastSquares
from appell.identify.excite.bounds import Bounds
from appell.identify.excite.excitation import Excitation, excite, quality, random_spline
from appell.identify.export import export, identified_robot
from appell.identify.forward import ClosedLoop, Forward, Tracking
from appell.identify.model import Model
from appell.identify.process import Processed, choose_band, process
from appell.identify.record import Cabinet
from appell.identify.verdict import Judgement, Verdict, judge, split

__all__ = [
    "BaseParameters",
    "Bounds",
    "Cabinet",
    "ClosedLoop",
    "Excitation",
    "Forward",
    "InstrumentalVariables",
    "Judgement",
    "LeastSquares",
    "Model",
    "OutputError",
    "Payload",
    "PhysicallyConsistent",
    "Processed",
    "Ridge",
    "Robust",
    "TotalLeastSquares",
    "Tracking",
    "Triangles",
    "Verdict",
    "base_parameters",
    "choose_band",
    "excite",
    "export",
    "flaws",
    "identified_robot",
    "judge",
    "process",
    "quality",
    "random_spline",
    "split",
    "triangles",
]
