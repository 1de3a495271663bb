"""Optimise a structure: arc angles of a spherical parallel wrist that is as far from singular as possible.

The objective is the mean of 1/cond(J) over a workspace, where J is the actuator Jacobian: 1 is isotropic, 0 singular.
A pose that a leg does not reach counts as singular. Every candidate is a new robot with newly compiled functions.

Run it with: python examples/13_design_of_a_wrist.py
"""

import numpy as np
from scipy.optimize import minimize

import appell as ap

RANGE = np.radians(25.0)  # of each of the three platform angles, to both sides


def workspace(points):
    """Return a grid of platform angles with a number of points per axis, (points³, 3)."""
    axis = np.linspace(-RANGE, RANGE, points)
    return np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)


def wrist(angles):
    """Return the functions of the wrist whose arcs have these two angles, in rad."""
    return ap.Dynamics(ap.load("agile-wrist", alpha1=angles[0], alpha2=angles[1]))


def objective(angles):
    return -np.mean(1.0 / ap.kinematics.condition(wrist(angles), coarse))


coarse, fine = workspace(5), workspace(12)
start = np.radians([80.0, 70.0])  # of the Agile Wrist
limits = np.radians([[50.0, 120.0], [50.0, 120.0]])
result = minimize(objective, start, method="Nelder-Mead", bounds=limits, options={"xatol": 5e-3, "fatol": 1e-4})
print(f"{result.nfev} designs evaluated: {result.message}")

for name, angles in (("before", start), ("after", result.x)):
    dyn = wrist(angles)
    condition = ap.kinematics.condition(dyn, fine)
    holding = np.abs(dyn.inverse_dynamics(fine, 0.0 * fine, 0.0 * fine)).max()
    print(f"{name:6}: arcs of {np.degrees(angles[0]):.1f}° and {np.degrees(angles[1]):.1f}°,", end=" ")
    print(f"1/cond(J) {np.mean(1.0 / condition):.3f} on average and {1.0 / condition.max():.3f} at worst,", end=" ")
    print(f"holding torque up to {holding:.3f} N m")
