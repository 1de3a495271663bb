"""Flight and impact: the motion of robots in time, with walls in their way; many motions in one kernel."""

from appell.simulation.contact import Contact
from appell.simulation.fmu.export import to_fmu
from appell.simulation.rollouts.plan import Rollout
from appell.simulation.rollouts.rollout import rollout
from appell.simulation.run import simulate
from appell.simulation.sampled import Sampled
from appell.simulation.status import Interrupted, Status
from appell.simulation.surface import Circle, Cylinder, Implicit, Plane, Sphere, Surface

__all__ = [
    "Circle",
    "Contact",
    "Cylinder",
    "Implicit",
    "Interrupted",
    "Plane",
    "Rollout",
    "Sampled",
    "Sphere",
    "Status",
    "Surface",
    "rollout",
    "simulate",
    "to_fmu",
]
