"""Identification: a system's dynamic parameters from its own motion, whatever it is made of.

sought = identify.seek(system, friction=True)        which parameters: bodies, friction, rotors     sought
base = sought.base                                   what of them can be found: base.describe()     base/
plan = identify.excite(sought)                       a motion that shows it: plan.path              excitation/
record = measured(Record.read("log.csv"), ...)       the record of it, checked                      (appell.motion)
data = identify.process(record)                      filtered, differentiated                       processing
fit = identify.LeastSquares(sought).fit_record(data) the parameters                                 estimators/
verdict = identify.judge(fit, held_out)              what they are worth: verdict.to_markdown()     verdict, report
identify.export(verdict, "found.toml")               the system that they make                      identified
"""

from appell.identify.base.reduce import BaseParameters, base_parameters
from appell.identify.estimators.instruments import InstrumentalVariables
from appell.identify.estimators.least_squares import Described, LeastSquares, Ridge, Robust, TotalLeastSquares
from appell.identify.estimators.output_error import OutputError
from appell.identify.estimators.payload import Payload
from appell.identify.estimators.physical import PhysicallyConsistent, flaws
from appell.identify.estimators.stream import TriangularFactors, triangles
from appell.identify.excitation.bounds import MotionBounds
from appell.identify.excitation.search import Excitation, excite, quality
from appell.identify.identified import export, identified_system
from appell.identify.processing import choose_band, dead_zones, process, split
from appell.identify.samples import torque_doubts
from appell.identify.simulated_loop import ParameterMotion, SimulatedLoop, TrackingLaw
from appell.identify.sought import Sought, seek
from appell.identify.verdict import Assessment, Judgement, judge, negative, why

__all__ = [
    "Assessment",
    "BaseParameters",
    "Described",
    "Excitation",
    "InstrumentalVariables",
    "Judgement",
    "LeastSquares",
    "MotionBounds",
    "OutputError",
    "ParameterMotion",
    "Payload",
    "PhysicallyConsistent",
    "Ridge",
    "Robust",
    "SimulatedLoop",
    "Sought",
    "TotalLeastSquares",
    "TrackingLaw",
    "TriangularFactors",
    "base_parameters",
    "choose_band",
    "dead_zones",
    "excite",
    "export",
    "flaws",
    "identified_system",
    "judge",
    "negative",
    "process",
    "quality",
    "seek",
    "split",
    "torque_doubts",
    "triangles",
    "why",
]
