"""Flight and impact: the motion of robots in time, with walls in their way."""

from appell.simulation.contact import Contact
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
    "Sampled",
    "Sphere",
    "Status",
    "Surface",
    "simulate",
]
