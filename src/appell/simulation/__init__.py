"""Simulation of robots: one motion with exact events (`simulate`), or many motions in one kernel (`rollout`)."""

from appell.simulation.contact.contact import BodyContact, Contact
from appell.simulation.contact.surface import Circle, Cylinder, Implicit, Plane, Sphere, Surface
from appell.simulation.fmu.export import to_fmu
from appell.simulation.inputs import Sampled
from appell.simulation.live import live_page
from appell.simulation.options import Feedback, ImpulseContacts, Output, Solver, SpringContacts
from appell.simulation.rollouts.plan import Rollout, rollout
from appell.simulation.run import simulate
from appell.simulation.status import Interrupted, Status

__all__ = [
    "BodyContact",
    "Circle",
    "Contact",
    "Cylinder",
    "Feedback",
    "Implicit",
    "ImpulseContacts",
    "Interrupted",
    "Output",
    "Plane",
    "Rollout",
    "Sampled",
    "Solver",
    "Sphere",
    "SpringContacts",
    "Status",
    "Surface",
    "live_page",
    "rollout",
    "simulate",
    "to_fmu",
]
