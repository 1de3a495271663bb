"""The joints of any robot followed along a path from a start, by its differential equation and a correction.

    q̇ = J⁺(q) x(t)                            from a start at which the frame is in place                           (1)
    q ← q + J⁺(q) (pose error)                Newton steps that take away what integration left over                (2)

A redundant arm so moves with the least joint velocity, and ends where that leads it. The equation is solved once, with
dense output, when the path is made.
"""

from __future__ import annotations

import numpy as np

from appell.compile.function import Function
from appell.errors import SimulationError
from appell.model.robot import Robot
from appell.motion.inverse.numerical_solver import numerical
from appell.motion.paths.inspect import check_limits, check_rank

KNOTS = 257
RANK = 1e-6  # relative singular values below it are a direction in which the robot cannot move its frame
SLIP = 1e-6  # m/s or rad/s that the frame may miss of its velocity, relative to it
CORRECTIONS = 3


class Continuation:
    """q(t) of the motion that starts near a configuration."""

    def __init__(self, robot: Robot, frame: str, path, start: np.ndarray, jacobian: Function):
        self.path, self.jacobian = path, jacobian
        solver = numerical(robot, frame)
        found = solver(path.pose(np.array(0.0)), start)
        if not found.reached:
            raise SimulationError(f"the line starts out of reach of robot '{robot.name}' at t = 0 s: {found}.")
        self._step = solver.step
        t = np.linspace(0.0, path.duration, KNOTS)
        self._solve(robot, frame, found.q)
        check_rank(robot, frame, self, t, jacobian)
        check_limits(robot, t, self(t), turning=False)  # the start was chosen inside them

    def __call__(self, t: np.ndarray) -> np.ndarray:
        q, T = self._dense(t).T, self.path.pose(t)
        still = np.zeros_like(q)
        for _ in range(CORRECTIONS):
            q = q + self._step(q, T, 0.0, still)[0]  # (2)
        return q

    def _solve(self, robot: Robot, frame: str, start: np.ndarray) -> None:
        from scipy.integrate import solve_ivp  # slow to import, and seldom wanted

        twist = self.path.twist

        def rate(t, q):
            return np.linalg.pinv(self.jacobian(q), rcond=RANK) @ twist  # (1)

        def slip(t, q):
            J = self.jacobian(q)
            left = J @ (np.linalg.pinv(J, rcond=RANK) @ twist) - twist
            return SLIP * max(float(np.linalg.norm(twist)), 1e-300) - np.linalg.norm(left)

        slip.terminal = True  # type: ignore[attr-defined]
        fastest = 1e3 * max(np.abs(twist).max(), 1.0)

        def wild(t, q):
            return fastest - np.abs(rate(t, q)).max()

        wild.terminal = True  # type: ignore[attr-defined]
        options = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12, "max_step": self.path.duration / 32}
        if slip(0.0, start) < 0.0:
            raise self._stuck(robot, frame, 0.0, start)
        run = solve_ivp(rate, (0.0, self.path.duration), start, dense_output=True, events=[slip, wild], **options)
        if run.status != 0:
            raise self._stuck(robot, frame, float(run.t[-1]), run.y[:, -1])
        self._dense = run.sol

    def _stuck(self, robot: Robot, frame: str, t: float, q: np.ndarray) -> SimulationError:
        directions, _, joints = np.linalg.svd(self.jacobian(q))
        idle = robot.joint_names[int(np.argmax(np.abs(joints[-1])))]
        label = ("x", "y", "z", "about x", "about y", "about z")[int(np.argmax(np.abs(directions[:, -1])))]
        return SimulationError(
            f"the line cannot be followed beyond t = {t:.6g} s: there frame '{frame}' of robot '{robot.name}' cannot "
            f"move along {label} (world axes), and joint '{idle}' moves without moving it.",
            hint="another start configuration, or a path beside this one",
        )
