"""The verification of the paper (its Figure 4): a stiff controller moves a simulated robot along a trajectory.

The simulator closes the loops of a tree by constraint forces, independently of the equations of the mechanism. Its
motors are driven by τ = k_p (θ_d - θ) + k_d (θ̇_d - θ̇) with the desired angles θ_d. The simulated motion of the platform
is then inserted into the closed form: the resulting joint angles, rates and accelerations must be those of the
simulated legs, and the torques those of the simulated motors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from appell.dynamics import Dynamics
from appell.errors import SimulationError
from appell.model.mechanism import Mechanism
from appell_lab.references.agile_wrist_tree import agile_wrist_tree, platform_motion, tree_state

AMPLITUDE = np.radians([10.0, 30.0, 20.0])  # rad
FREQUENCY = np.array([np.pi, np.pi / 2, 3 * np.pi / 2])  # rad/s
Motion = tuple[np.ndarray, np.ndarray, np.ndarray]


def paper_trajectory(t) -> Motion:
    """Return q, v and a of the paper's trajectory (52) at times of any shape."""
    phase = FREQUENCY * np.asarray(t)[..., None]
    sine, cosine = np.sin(phase), np.cos(phase)
    return AMPLITUDE * sine, AMPLITUDE * FREQUENCY * cosine, -AMPLITUDE * FREQUENCY**2 * sine


@dataclass(frozen=True)
class Verification:
    """The desired and the simulated motion, and the results of the closed form; time is the first axis."""

    t: np.ndarray
    wanted: np.ndarray  # desired q
    platform: np.ndarray  # q, v, a of the simulated platform, (times, 3, 3)
    simulated: np.ndarray  # position, velocity and acceleration of θ and ψ in the simulator, (times, 3, 6)
    computed: np.ndarray  # the same by the closed form
    simulated_torque: np.ndarray
    computed_torque: np.ndarray
    gap: float  # largest opening of a loop, relative to the radius

    @property
    def tracking_error(self) -> float:
        """Largest difference between the simulated and the desired q, rad."""
        return float(np.abs(self.platform[:, 0] - self.wanted).max())

    @property
    def kinematic_errors(self) -> np.ndarray:
        """Largest difference of joint positions, velocities and accelerations."""
        return np.abs(self.simulated - self.computed).max(axis=(0, 2))

    @property
    def torque_error(self) -> float:
        """Largest difference of the torques, N m."""
        return float(np.abs(self.simulated_torque - self.computed_torque).max())


def verify(
    wrist: Mechanism,
    until: float = 4.0,
    instants: int = 401,
    trajectory: Callable[[Any], Motion] = paper_trajectory,
    stiffness: float = 1000.0,
    damping: float = 2.0,
    rtol: float = 1e-9,
    progress: Callable[[float], None] = lambda t: None,
) -> Verification:
    """Simulate the wrist and compare it with the closed form at equally spaced times.

    Parameters
    ----------
    wrist : the mechanism
    trajectory : function of t that returns q, v and a of the platform
    until : duration, s
    instants : number of times
    stiffness, damping : controller gains, N m/rad and N m s/rad
    rtol : relative tolerance of the integration
    progress : called with the simulated time
    """
    dyn, tree = Dynamics(wrist), agile_wrist_tree(wrist)
    nq = tree.robot.nq
    joints: Any = dyn.joint_motion.bind()

    def desired(t: float) -> tuple[np.ndarray, np.ndarray]:
        joints.q[:], joints.v[:], joints.a[:] = trajectory(t)
        joints()
        return joints.position, joints.velocity

    def torque(t: float, state: np.ndarray) -> np.ndarray:
        position, velocity = desired(t)
        angle, rate = state[tree.selected], state[nq + tree.selected]
        return stiffness * (position[:3] - angle) + damping * (velocity[:3] - rate)

    def rate(t: float, state: np.ndarray) -> np.ndarray:
        progress(t)
        return tree.state_rate(state, torque(t, state))

    t = np.linspace(0.0, until, instants)
    q, v, _ = trajectory(0.0)
    angles, rates = desired(0.0)
    start = tree_state(angles, rates, q, v)
    run = solve_ivp(rate, (0.0, until), start, method="DOP853", t_eval=t, rtol=rtol, atol=1e-2 * rtol)
    if not run.success:
        raise SimulationError(f"the simulation of the wrist stopped at t = {run.t[-1]:g} s: {run.message}")

    platform, simulated, torques, gaps = [], [], [], []
    legs = np.array([0, 2, 4, 1, 3, 5])  # θ of all legs, then ψ
    for instant, state in zip(t, run.y.T, strict=True):
        tau, (tree_q, tree_v) = torque(instant, state), np.split(state, [nq])
        tree_a = tree.forward_dynamics(tree_q, tree_v, tau)
        platform.append(platform_motion(tree_q[6:], tree_v[6:], tree_a[6:]))
        simulated.append([tree_q[legs], tree_v[legs], tree_a[legs]])
        torques.append(tau)
        gaps.append(np.abs(tree.terms(tree_q, tree_v)[-1]).max())
    motion = np.array(platform)
    joint_motion, closed_form = _closed_form(dyn, motion)
    wanted = trajectory(t)[0]
    return Verification(
        t, wanted, motion, np.array(simulated), joint_motion, np.array(torques), closed_form, float(max(gaps))
    )


def _closed_form(dyn: Dynamics, platform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return joint motions (times, 3, 6) and motor torques (times, 3) of a platform motion (times, 3, 3)."""
    arguments = [platform[:, k] for k in range(3)]
    return np.stack(dyn.joint_motion(*arguments), axis=1), dyn.inverse_dynamics(*arguments)
