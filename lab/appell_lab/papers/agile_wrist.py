"""Abedloo 2014 §IV: the Agile Wrist along its trajectory, closed form against loops closed by forces."""

from __future__ import annotations

import numpy as np

from appell.describe.zoo.mechanisms import agile_wrist
from appell.dynamics import Dynamics
from appell.model.mechanism import Mechanism
from appell.progress import Bar
from appell.show.plot.style import INK, label, legend_beside
from appell_lab.papers.call_chart import draw_calls, record
from appell_lab.papers.page import Page
from appell_lab.papers.wrist_passivity import show_passivity
from appell_lab.papers.wrist_platform import show_platform
from appell_lab.papers.wrist_structure import draw_structure
from appell_lab.references.agile_wrist_tree import platform_motion
from appell_lab.references.closed_tree import ClosedTree
from appell_lab.references.verification import Verification, paper_trajectory, verify

RADIUS = 0.1  # m, of the arcs
UNTIL = 4.0  # s, period of the trajectory
RECORDED = 0.1  # s of the trajectory, for the block diagram; recording doubles the time of a simulation
STEPS = {  # of the verification
    name: f"{verify.__module__}.{function}"
    for name, function in (
        ("desired platform motion", "paper_trajectory"),
        ("inverse kinematics", "verify.<locals>.desired"),
        ("PD controller", "verify.<locals>.torque"),
        ("controlled robot", "verify.<locals>.rate"),
        ("closed form", "_closed_form"),
        ("comparison of the joints", "Verification.kinematic_errors"),
        ("comparison of the torques", "Verification.torque_error"),
    )
} | {
    "robot with closed loops": f"{ClosedTree.__module__}.ClosedTree.forward_dynamics",
    "integration": "scipy.integrate._ivp.ivp.solve_ivp",
    "sensors": f"{platform_motion.__module__}.platform_motion",
}
PRINTED_STEPS = (
    "desired platform motion",
    "inverse kinematics",
    "PD controller",
    "robot with closed loops",
    "sensors",
    "closed form",
    "comparison of the joints",
    "comparison of the torques",
)


def run(page: Page) -> None:
    wrist = agile_wrist(RADIUS)
    page.figure("agile_wrist_structure", lambda figure: draw_structure(figure, wrist, RADIUS))
    _trajectory(page, Dynamics(wrist))
    _formulations(page, Dynamics(wrist), Dynamics(wrist, "explicit"))
    show_passivity(page, wrist)
    show_platform(page)
    with Bar("simulating the wrist with its loops closed by forces", UNTIL, "s") as bar:
        verification = verify(wrist, UNTIL, progress=bar)
    _errors(page, verification)
    _block_diagram(page, wrist)
    page.figure("agile_wrist_trajectory", lambda figure: _draw_angles(figure, verification))
    page.figure("agile_wrist_torques", lambda figure: _draw_torques(figure, verification))
    page.figure("agile_wrist_errors", lambda figure: _draw_errors(figure, verification))


def _block_diagram(page: Page, wrist: Mechanism) -> None:
    def procedure() -> tuple[np.ndarray, float]:
        verification = verify(wrist, RECORDED)
        return verification.kinematic_errors, verification.torque_error

    _, graph = record(STEPS, procedure)
    page.measure("Figure 4, printed blocks of 8 in the recorded order", graph.steps_in_order(PRINTED_STEPS))
    page.measure(
        "Figure 4, calls of the controller per evaluation of the simulated robot",
        graph.count("PD controller") / graph.count("robot with closed loops"),
    )
    page.figure(
        "agile_wrist_figure_4",
        lambda figure: draw_calls(figure, graph, f"Abedloo 2014, Figure 4: recorded calls, {RECORDED:g} s"),
    )


def _trajectory(page: Page, wrist: Dynamics) -> None:
    t = np.linspace(0.0, UNTIL, 11)
    q, v, a = paper_trajectory(t)
    angles, torques = np.degrees(wrist.actuator_positions(q)), wrist.inverse_dynamics(q, v, a)
    rows = [
        [float(x) for x in (time, *np.degrees(pose), *angle, *torque)]
        for time, pose, angle, torque in zip(t, q, angles, torques, strict=True)
    ]
    page.table(
        "Trajectory (52): platform angles, motor angles (deg) and motor torques (N m)",
        ["t, s", "q1", "q2", "q3", "θ1", "θ2", "θ3", "τ1", "τ2", "τ3"],
        [[f"{row[0]:.1f}", *(f"{x:.4f}" for x in row[1:])] for row in rows],
        note="Arc radius 0.1 m, centre of mass of the platform in the centre: the paper prints neither. Another centre "
        "of mass is considered below.",
    )


def _formulations(page: Page, wrist: Dynamics, explicit: Dynamics) -> None:
    q, v, a = paper_trajectory(np.linspace(0.0, UNTIL, 401))
    rows: list[list[object]] = []
    largest = 0.0
    for name, arguments in (
        ("mass_matrix", (q,)),
        ("gravity", (q,)),
        ("bias", (q, v)),
        ("generalized_forces", (q, v, a)),
        ("inverse_dynamics", (q, v, a)),
    ):
        one, other = getattr(wrist, name), getattr(explicit, name)
        difference = float(np.abs(one(*arguments) - other(*arguments)).max())
        largest = max(largest, difference)
        rows.append([name, difference, _cost(one), _cost(other)])
    lowest = float(np.linalg.eigvalsh(explicit.mass_matrix(q)).min())
    page.measure("largest difference of the explicit equations", largest)
    page.measure("smallest eigenvalue of M [kg m²]", lowest)
    page.table(
        "The paper's explicit equations against differentiated poses, 401 instants",
        ["", "largest difference", "differentiated, mul / add / trig", "explicit, mul / add / trig"],
        rows,
        note=f"The inertia matrix is positive definite: its smallest eigenvalue is {lowest:.2e} kg m².",
    )


def _cost(function) -> str:
    count = function.count()
    return f"{count.mul} / {count.add} / {count.trig}"


def _errors(page: Page, verification: Verification) -> None:
    position, velocity, acceleration = (float(x) for x in verification.kinematic_errors)
    page.measure("difference of joint positions [rad]", position)
    page.measure("difference of joint velocities [rad/s]", velocity)
    page.measure("difference of joint accelerations [rad/s²]", acceleration)
    page.measure("difference of motor torques [N m]", verification.torque_error)
    page.measure("largest gap of the loops, relative to the radius", verification.gap)
    page.table(
        "Closed form against the simulator (Figures 6 and 7)",
        ["", "appell", "paper, order of"],
        [
            ["joint positions, rad", position, "1e-7"],
            ["joint velocities, rad/s", velocity, "1e-6"],
            ["joint accelerations, rad/s²", acceleration, "1e-5"],
            ["motor torques, N m", verification.torque_error, "1e-5"],
            ["gap of the loops, relative to the radius", verification.gap, "-"],
            ["platform from the desired trajectory, rad", verification.tracking_error, "-"],
        ],
        note="Largest values at 401 instants. The simulator is a tree with three loops closed by forces and a stiff PD "
        "controller.",
    )


def _draw_angles(figure, verification: Verification) -> None:
    above, below = figure.subplots(2, sharex=True)
    for k in range(3):
        above.plot(verification.t, np.degrees(verification.platform[:, 0, k]), label=f"q{k + 1}, simulator")
        below.plot(verification.t, np.degrees(verification.simulated[:, 0, k]), label=f"θ{k + 1}, simulator")
        below.plot(
            verification.t[::20],
            np.degrees(verification.computed[::20, 0, k]),
            ".",
            color=INK,
            label="closed form" if k == 2 else None,
        )
    above.set(ylabel=label("platform", "°"), title="Agile Wrist along the paper's trajectory (its Figure 5)")
    below.set(ylabel=label("motors", "°"), xlabel=label("time t", "s"))
    for axes in (above, below):
        legend_beside(axes)


def _draw_torques(figure, verification: Verification) -> None:
    above, below = figure.subplots(2, sharex=True)
    for k in range(3):
        above.plot(verification.t, verification.simulated_torque[:, k], label=f"τ{k + 1}, simulator")
        above.plot(
            verification.t[::20],
            verification.computed_torque[::20, k],
            ".",
            color=INK,
            label="closed form" if k == 2 else None,
        )
        below.semilogy(
            verification.t,
            _visible(verification.simulated_torque[:, k] - verification.computed_torque[:, k]),
            label=f"τ{k + 1}",
        )
    below.axhline(1e-5, color=INK, linestyle="--", linewidth=1, label="paper")
    above.set(ylabel=label("torque", "N m"), title="Motor torques (its Figure 6)")
    below.set(ylabel=label("difference", "N m"), xlabel=label("time t", "s"))
    for axes in (above, below):
        legend_beside(axes)


def _draw_errors(figure, verification: Verification) -> None:
    for k, (axes, name, printed) in enumerate(
        zip(
            figure.subplots(3, sharex=True),
            (label("position", "rad"), label("velocity", "rad/s"), label("acceleration", "rad/s²")),
            (1e-7, 1e-6, 1e-5),
            strict=True,
        )
    ):
        for joint in range(6):
            name_of_joint = f"{'θψ'[joint // 3]}{joint % 3 + 1}"
            axes.semilogy(
                verification.t,
                _visible(verification.simulated[:, k, joint] - verification.computed[:, k, joint]),
                label=name_of_joint,
                linewidth=1,
            )
        axes.axhline(printed, color=INK, linestyle="--", linewidth=1, label="paper")
        axes.set(ylabel=name)
        if k == 0:
            axes.set_title("Joint motions, simulator minus closed form (its Figure 7)")
            first = axes
    axes.set_xlabel(label("time t", "s"))
    legend_beside(first)


def _visible(error: np.ndarray) -> np.ndarray:
    """Return absolute values, with exact zeros replaced by 1e-17 for the logarithmic axis."""
    return np.maximum(np.abs(error), 1e-17)
