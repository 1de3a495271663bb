"""A control loop at 1 kHz with functions bound to their own arrays: computed torque on a PUMA with a wrong model.

Run it with: python examples/06_control_loop.py
"""

import time

import numpy as np

import appell as ap

robot = ap.load("puma")
heavier = robot.with_bodies(
    {link.name: ap.Body(1.1 * link.body.mass, link.body.com, link.body.inertia) for link in robot.links}
)

# `bind` returns a callable with its own arrays: no conversion, no allocation, a tenth of a microsecond per call.
controller = ap.Dynamics(robot).inverse_dynamics.bind()
plant = ap.Dynamics(heavier).forward_dynamics.bind()

start = np.array([0.0, -0.7, 2.6, 0.0, 0.6, 0.0])
swing = np.array([0.6, 0.3, 0.3, 0.5, 0.5, 0.5])
Kp, Kd, dt = 900.0, 60.0, 1e-3

q, v = start.copy(), np.zeros(6)
errors, elapsed = [], 0.0
for step in range(4000):
    phase = np.pi * step * dt
    q_desired = start + swing * (1 - np.cos(phase)) / 2
    v_desired = swing * np.pi * np.sin(phase) / 2
    a_desired = swing * np.pi**2 * np.cos(phase) / 2

    begin = time.perf_counter()
    controller.q = q
    controller.v = v
    controller.a = a_desired - Kd * (v - v_desired) - Kp * (q - q_desired)
    controller()
    elapsed += time.perf_counter() - begin

    plant.q = q
    plant.v = v
    plant.tau = controller.tau
    plant()
    v = v + dt * plant.a  # semi-implicit Euler: the velocity first, then the position with it
    q = q + dt * v
    errors.append(np.abs(q - q_desired).max())

print(f"computed torque: {1e6 * elapsed / len(errors):.1f} µs per step")
print(f"tracking error with 10 % more mass than in the model: at most {np.degrees(max(errors)):.2f} degrees")
assert max(errors) < np.radians(2.0)
