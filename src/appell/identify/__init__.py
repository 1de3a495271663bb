"""Identification: estimate the dynamic parameters of a robot or mechanism from a record of its motion.

parameters = identify.select_parameters(system, friction=True)  parameters to estimate: bodies, friction, rotors
base = parameters.base                                          identifiable combinations: base.describe()
plan = identify.excite(parameters)                              exciting motion: plan.path
record = measured(Record.read("log.csv"), ...)                  measured record, checked (appell.motion)
fit = identify.LeastSquares(parameters)                         an estimator
verdict = identify.identify_record(fit, record)                 filter, fit and validate: verdict.to_markdown()
identify.export(verdict, "identified.toml")                     robot with the identified parameters
fit = identify.fit_contacts(robot, record, contacts)            stiffness, damping and friction of walls
fit = identify.identify_elastic_joints(robot, record)           springs and motors of elastic joints

plan = identify.plan_poses(robot, 40)                           kinematic calibration: poses to measure
fit = identify.calibrate(robot, plan.q, positions)              corrected joint placements: fit.robot, fit.to_markdown()
"""

from appell.identify.base.reduce import BaseParameters, base_parameters
from appell.identify.calibration.estimate import Calibration, calibrate
from appell.identify.calibration.geometry import GeometricModel, geometric_parameters
from appell.identify.calibration.measurement import read_poses
from appell.identify.calibration.plan import PosePlan, plan_poses
from appell.identify.elastic_joints import ElasticFit, JointFit, identify_elastic_joints
from appell.identify.estimators.contact_error import ContactFit, fit_contacts
from appell.identify.estimators.instruments import InstrumentalVariables
from appell.identify.estimators.least_squares import Described, LeastSquares, Ridge, Robust, TotalLeastSquares
from appell.identify.estimators.output_error import OutputError
from appell.identify.estimators.payload import Payload
from appell.identify.estimators.physical import PhysicallyConsistent, flaws
from appell.identify.estimators.triangular_factors import TriangularFactors, triangular_factors
from appell.identify.excitation.bounds import MotionBounds
from appell.identify.excitation.search import Excitation, condition_number, excite
from appell.identify.identified import export, identified_system
from appell.identify.parameter_set import ParameterSet, select_parameters
from appell.identify.pipeline import identify_record
from appell.identify.processing import choose_band, dead_zones, process, split
from appell.identify.samples import torque_problems
from appell.identify.simulated_loop import ParameterMotion, SimulatedLoop, TrackingLaw
from appell.identify.timing import Delay, estimate_delay
from appell.identify.verdict import Assessment, Judgement, failure_reason, judge, negative_parameters

__all__ = [
    "Assessment",
    "BaseParameters",
    "Calibration",
    "ContactFit",
    "Delay",
    "Described",
    "ElasticFit",
    "Excitation",
    "GeometricModel",
    "InstrumentalVariables",
    "JointFit",
    "Judgement",
    "LeastSquares",
    "MotionBounds",
    "OutputError",
    "ParameterMotion",
    "ParameterSet",
    "Payload",
    "PhysicallyConsistent",
    "PosePlan",
    "Ridge",
    "Robust",
    "SimulatedLoop",
    "TotalLeastSquares",
    "TrackingLaw",
    "TriangularFactors",
    "base_parameters",
    "calibrate",
    "choose_band",
    "condition_number",
    "dead_zones",
    "estimate_delay",
    "excite",
    "export",
    "failure_reason",
    "fit_contacts",
    "flaws",
    "geometric_parameters",
    "identified_system",
    "identify_elastic_joints",
    "identify_record",
    "judge",
    "negative_parameters",
    "plan_poses",
    "process",
    "read_poses",
    "select_parameters",
    "split",
    "torque_problems",
    "triangular_factors",
]
