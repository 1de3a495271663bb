"""Spherical parallel robots by the equations of Abedloo et al. 2014, written out by hand: no tape is differentiated."""

from appell.formulate.spherical.dynamics import SphericalRobot, actuator_jacobian, coriolis, gravity, mass_matrix
from appell.formulate.spherical.leg import SphericalLeg

__all__ = ["SphericalLeg", "SphericalRobot", "actuator_jacobian", "coriolis", "gravity", "mass_matrix"]
