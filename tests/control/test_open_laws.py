"""Laws of the whole state against Pinocchio, MuJoCo and closed forms, on arms that are not in the zoo."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.control import Controller, Design, critical
from appell.control.friction_parts import FrictionParts
from appell.control.slotine_li import bilinear_regressor, smooth_parameters
from appell.hardware import Plant, Reference, closed_loop
from appell_lab.campaigns.pushes import campaign
from open_laws import PERIOD, MujocoPlant, arm, pinocchio_arm, posture, states, tool, two_arms

pin = pytest.importorskip("pinocchio")
LWA = pin.LOCAL_WORLD_ALIGNED


def frame_of(name, q, v, a):
    """Return rotation, position, velocity and acceleration of the tool of an arm by Pinocchio, in world axes."""
    model, data = pinocchio_arm(name)
    frame = model.getFrameId(tool(name))
    pin.forwardKinematics(model, data, q, v, a)
    pose = pin.updateFramePlacement(model, data, frame)
    acceleration = pin.getFrameClassicalAcceleration(model, data, frame, LWA).vector
    return pose.rotation, pose.translation, pin.getFrameVelocity(model, data, frame, LWA).vector, acceleration


def frame_error(name, q, q_d):
    zero = np.zeros(len(q))
    (R, p, *_), (R_d, p_d, *_) = (frame_of(name, x.copy(), zero, zero) for x in (q, q_d))
    skew = R @ R_d.T - R_d @ R.T
    return np.concatenate([p - p_d, 0.5 * np.array([skew[2, 1], skew[0, 2], skew[1, 0]])])


def test_operational_space_control_gives_the_frame_the_acceleration_of_its_error_equation():
    """The posture of the redundant arm has no effect on the frame, and is controlled in the remaining direction."""
    name = "panda"
    kp, kd = np.array([100.0, 150.0, 200.0, 80.0, 90.0, 70.0]), np.array([20.0, 25.0, 28.0, 18.0, 19.0, 17.0])
    design = Design(
        arm(name), critical(10.0), ap.control.operational_space(tool(name)), parameters={"kp": kp, "kd": kd}
    )
    controller, rng, (model, data) = Controller(design), np.random.default_rng(4), pinocchio_arm(name)
    for _ in range(5):
        q, v, reference = states(name, rng)
        a = pin.aba(model, data, q, v, controller(q, v, reference))
        _, _, V, A = frame_of(name, q, v, a)
        _, _, V_d, A_d = frame_of(name, *reference)
        wanted = A_d - kd * (V - V_d) - kp * frame_error(name, q, reference[0])
        np.testing.assert_allclose(A, wanted, atol=2e-5 * np.abs(wanted).max())
        J, M = pin.computeFrameJacobian(model, data, q, model.getFrameId(tool(name)), LWA), pin.crba(model, data, q)
        u = reference[2] - 20.0 * (v - reference[1]) - 100.0 * (q - reference[0])
        kernel = np.linalg.svd(J)[2][6:]
        np.testing.assert_allclose(kernel @ M @ (a - u), 0.0, atol=2e-4)


def test_an_impedance_yields_to_a_force_by_its_compliance_on_mujoco():
    """At rest under a constant force F at the tool, K e = F, whatever the posture of the redundant arm does."""
    robot, q = arm("panda"), posture("panda")
    stiffness = np.array([400.0, 600.0, 800.0, 40.0, 50.0, 30.0])
    design = Design(robot, critical(20.0), ap.control.impedance("panda_hand"), parameters={"stiffness": stiffness})
    controller, plant = Controller(design), MujocoPlant(robot, q, "panda_link7")
    target, force, dyn = np.array([q, 0 * q, 0 * q]), np.array([4.0, -6.0, 8.0]), ap.Dynamics(robot)
    for _ in range(3000):
        plant.push(force, dyn.pose("panda_hand", plant.q)[:3, 3])
        plant(controller(plant.q, plant.v, target), PERIOD)
    error = frame_error("panda", plant.q, q)
    np.testing.assert_allclose(stiffness * error, [*force, 0.0, 0.0, 0.0], atol=0.02)


def test_the_springs_and_dampers_of_an_impedance_account_for_all_power():
    """v·(tau - g) = -V·(K e + D V) without a posture and with a constant reference: the arm is passive."""
    parameters = {"posture_stiffness": np.zeros(7), "posture_damping": np.zeros(7)}
    design = Design(arm("panda"), critical(15.0), ap.control.impedance("panda_hand"), parameters=parameters)
    controller, rng, (model, data) = Controller(design), np.random.default_rng(5), pinocchio_arm("panda")
    K, D = controller.parameters["stiffness"], controller.parameters["damping"]
    for _ in range(5):
        q, v, reference = states("panda", rng)
        reference[1:] = 0.0
        V = frame_of("panda", q, v, 0 * v)[2]
        power = v @ (controller(q, v, reference) - pin.computeGeneralizedGravity(model, data, q))
        np.testing.assert_allclose(power, -V @ (K * frame_error("panda", q, reference[0]) + D * V), rtol=1e-9)


def test_passivity_based_control_dissipates_the_energy_of_the_sliding_variable():
    """d/dt (s·M s / 2) = -s·K s, with inertia and Coriolis matrix of Pinocchio."""
    name = "ur5"
    controller = Controller(Design(arm(name), critical(12.0), "passivity"))
    rate, damping = controller.parameters["convergence"], controller.parameters["damping"]
    (model, data), rng = pinocchio_arm(name), np.random.default_rng(6)
    for _ in range(5):
        q, v, (q_d, v_d, a_d) = states(name, rng)
        a = pin.aba(model, data, q, v, controller(q, v, [q_d, v_d, a_d]))
        M, C = pin.crba(model, data, q).copy(), pin.computeCoriolisMatrix(model, data, q, v)
        M = np.triu(M) + np.triu(M, 1).T
        s, s_rate = v - v_d + rate * (q - q_d), a - a_d + rate * (v - v_d)
        np.testing.assert_allclose(s @ M @ s_rate + s @ C @ s, -s @ (damping * s), rtol=1e-8)


def test_the_bilinear_regressor_times_the_parameters_is_that_of_pinocchios_matrices():
    dyn, (model, data), rng = ap.Dynamics(arm("panda")), pinocchio_arm("panda"), np.random.default_rng(7)
    beta = np.array([*smooth_parameters(dyn).values()])
    for _ in range(3):
        q, v, (_, v_r, a_r) = states("panda", rng)
        M, C = pin.crba(model, data, q).copy(), pin.computeCoriolisMatrix(model, data, q, v).copy()
        M = np.triu(M) + np.triu(M, 1).T
        expected = M @ a_r + C @ v_r + pin.computeGeneralizedGravity(model, data, q)
        np.testing.assert_allclose(bilinear_regressor(dyn, q, v, v_r, a_r) @ beta, expected, atol=1e-10)


class Wave:
    """Two sines per joint; without an amplitude, a fixed configuration."""

    def __init__(self, centre, amplitude, duration):
        self.centre, self.amplitude, self.duration = np.asarray(centre), amplitude, duration

    def __call__(self, t):
        t = np.asarray(t, float)[..., None]
        n = len(self.centre)
        first, second = 1.3 + 0.9 * np.arange(n), 3.1 + 1.3 * np.arange(n)
        q, v, a = 0.0, 0.0, 0.0
        for w, size in ((first, 0.6), (second, 0.4)):
            q = q + size * (1.0 - np.cos(w * t))
            v, a = v + size * w * np.sin(w * t), a + size * w**2 * np.cos(w * t)
        return self.centre + self.amplitude * q, self.amplitude * v, self.amplitude * a


def adapted(amplitude, rate=2.0, seconds=30.0, frequency=10.0):
    """Return the response of adaptive control to a load that the model lacks, its estimates, and the true values."""
    model = ap.load("planar-2r").with_actuators(lambda joint, actuator: ap.Actuator())
    real = model.with_payload(1.5, com=(0.0, 0.0, 0.0))
    parameters = FrictionParts(model).smooth.base_parameters
    adapted = [parameters[k].owner in model.bodies for k in smooth_parameters(FrictionParts(model).smooth)]
    gamma = np.where(adapted, rate, 0.0)  # rotors and friction are known
    design = Design(model, critical(frequency, PERIOD), "adaptive", parameters={"adaptation": gamma})
    controller, plant = Controller(design), Plant(real)
    reference = Reference.sampled(Wave([0.4, 0.8], amplitude, seconds), PERIOD)
    plant.set_state(reference.q[0])
    response = closed_loop(controller, plant, reference)
    return response, controller, np.array([*smooth_parameters(FrictionParts(real).smooth).values()])


def test_adaptive_control_finds_an_unknown_load_if_the_motion_excites_it():
    response, controller, truth = adapted(0.8, seconds=60.0, frequency=5.0)
    start = controller.design.memory.start[: len(truth)]
    # the torque is held for a period, which leaves a bias of about 3 %
    assert np.abs(controller.memory["estimate"] - truth).max() < 0.05 * np.abs(start - truth).max()
    assert np.abs(response.error[-2000:]).max() < 0.01 * np.abs(response.error).max()


def test_adaptive_control_without_excitation_stays_bounded_and_its_lyapunov_function_decreases():
    response, controller, truth = adapted(0.0, seconds=10.0)
    start, estimate = controller.design.memory.start[: len(truth)], controller.memory["estimate"]
    assert np.abs(response.error[-1]).max() < 1e-4  # although the estimate is not the truth
    assert np.abs(estimate - truth).max() > 0.1 * np.abs(start - truth).max()
    assert np.linalg.norm(estimate - truth) < np.linalg.norm(start - truth)  # equal entries of Γ


def test_hybrid_control_presses_on_a_wall_on_mujoco_while_it_follows_the_surface():
    """The force settles by the slowest root of m s³ + d s² + k s + ki k, k being the stiffness of the wall."""
    robot, q, stiffness = arm("ur5"), posture("ur5"), 2e4
    rate, damping, force = 4.0, 150.0, 15.0
    parameters = {"force": force, "force_integral": rate, "normal_damping": damping}
    design = Design(robot, critical(20.0, PERIOD), ap.control.hybrid_force("tool0"), parameters=parameters)
    controller, dyn, plant = Controller(design), ap.Dynamics(robot), MujocoPlant(robot, q, "wrist_3_link")
    goal = q + np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])  # rotates the arm about the vertical: along the wall
    reference = Reference.sampled(ap.motion.Ramp(q, goal, 0.3, 1.0), PERIOD)
    height, forces = dyn.pose("tool0", q)[2, 3], []

    def touch(plant):
        """Apply the force of the wall and measure it."""
        point = dyn.pose("tool0", plant.q)[:3, 3]
        wall = np.array([0.0, 0.0, max(0.0, stiffness * (height - point[2]))])
        forces.append(wall[2])
        plant.push(wall, point)
        return [*wall, 0.0, 0.0, 0.0]

    closed_loop(controller, plant, reference, settle=1.2 - PERIOD * len(reference), sensors={"wrench": touch})
    J = dyn.jacobian("tool0", q, reference="LOCAL_WORLD_ALIGNED")
    mass = 1.0 / (J[2] @ np.linalg.inv(dyn.mass_matrix(q)) @ J[2])
    poles = np.roots([mass, damping, stiffness, rate * stiffness])
    assert rate < damping / mass
    assert poles.real.max() < 0.0
    assert abs(forces[-1] - force) < 0.01 * force
    late = np.array(forces[800:]) - force
    assert np.abs(late).max() < force * 3.0 * np.exp(poles.real.max() * 0.8) + 0.1
    slid, wanted = (dyn.pose("tool0", each)[:2, 3] for each in (plant.q, goal))
    np.testing.assert_allclose(slid, wanted, atol=2e-4)


def test_a_weld_between_two_arms_transmits_the_desired_wrench_on_mujoco():
    """The wrench is that of appell's multipliers along the motion, and of MuJoCo's weld at its end."""
    robot, wrench = two_arms(), np.array([10.0, -5.0, 30.0, 1.0, 2.0, -1.0])

    class BothArms(MujocoPlant):
        @property
        def v(self):
            return self.data.qvel[:6].copy()  # the independent joints

    controller = Controller(Design(robot, critical(20.0, PERIOD), "two-arms", parameters={"wrench": wrench}))
    start, plant = robot.start, BothArms(robot, robot.start)
    path = ap.motion.Ramp(start[:6], start[:6] + 0.1, 0.8, 3.0)
    response = closed_loop(controller, plant, Reference.sampled(path, PERIOD), settle=0.4)
    assert np.abs(response.error).max() < 1e-3
    assert np.abs(response.error[-1]).max() < 1e-5
    np.testing.assert_allclose(plant.data.efc_force[:3], wrench[:3], atol=0.01)
    through = ap.Dynamics(robot).constraint_wrench(robot.constraint_names[0])
    q = robot.assembled(start)
    v, target = np.full(6, 0.2), np.array([start[:6], np.zeros(6), np.ones(6)])
    np.testing.assert_allclose(through(q, v, controller(q, v, target)), wrench, atol=1e-8)


def test_a_residual_follows_an_unknown_torque_with_the_time_constant_of_the_observer():
    robot, q, load, bandwidth = arm("ur5"), posture("ur5"), np.array([3.0, -5.0, 4.0, 1.0, -0.5, 0.2]), 50.0
    observer = ap.control.ContactObserver(threshold=2.0, bandwidth=bandwidth)
    controller, plant = Controller(Design(robot, critical(20.0, PERIOD), observer=observer)), Plant(robot)
    plant.set_state(q)
    path = Reference.sampled(ap.motion.Ramp(q, q + 0.4, 1.0, 4.0), PERIOD)
    contact = []
    for k in range(100):
        tau = controller(plant.q, plant.v, path.samples[k])
        contact.append(controller.contact)
        if k:  # one period before the first reading with the load
            expected = load * (1.0 - np.exp(-bandwidth * PERIOD * k))
            np.testing.assert_allclose(controller.memory["residual"], expected, atol=0.05)
        plant(tau + load, PERIOD)
    assert contact[0] < 0.0 < contact[-1]


def test_a_push_of_5_newtons_at_the_tool_is_detected_within_20_ms_without_false_alarms():
    """A sample of the campaign whose result is in benchmarks/results/pushes.json."""
    result = campaign(arm("ur5"), posture("ur5"), "tool0", runs=30, seconds=0.3)
    assert (result.false_alarms, result.detected) == (0, 30)
    assert result.longest <= 0.02
    published = json.loads(Path(__file__, "../../../benchmarks/results/pushes.json").resolve().read_text())
    for each in published["campaigns"]:
        assert (each["false_alarms"], each["detected"], each["runs"]) == (0, 1000, 1000)
        assert each["longest"] <= 0.02


@pytest.mark.parametrize("law", ["operational-space", "passivity", "adaptive"])
def test_laws_follow_a_motion_on_mujoco(law):
    robot, q = arm("ur5"), posture("ur5")
    controller, plant = Controller(Design(robot, critical(20.0, PERIOD), law)), MujocoPlant(robot, q)
    reference = Reference.sampled(ap.motion.Ramp(q, q + 0.2, 0.8, 3.0), PERIOD)
    response = closed_loop(controller, plant, reference, settle=0.3)
    assert np.abs(response.error).max() < 5e-3
    assert np.abs(response.error[-1]).max() < 1e-3


def test_a_law_in_a_rollout_moves_as_in_the_closed_loop():
    robot, q = arm("ur5"), posture("ur5")
    design = Design(robot, critical(20.0, PERIOD), "passivity", observer=ap.control.ContactObserver(5.0))
    path, plant = ap.motion.Ramp(q, q + 0.2, 0.8, 3.0), Plant(robot)
    plant.set_state(q)
    response = closed_loop(Controller(design), plant, Reference.sampled(path, PERIOD))
    rolled = ap.rollout(robot, q, steps=200, dt=PERIOD, law=design, reference=path)
    np.testing.assert_allclose(rolled["q"][0, :200], response.q[:200], atol=1e-9)


def test_a_rollout_simulates_the_sensors_of_a_law():
    @ap.control.law(sensors={"push": 1})
    def follow(dyn, state):
        return dyn.gravity(state.q) + state.sensors["push"] * np.ones(2)

    robot = ap.load("planar-2r")
    design = Design(robot, law=follow, torque_limit=np.inf)
    sensed = design.sensing(push=lambda t, q, v: [3.0 * t])
    rolled = ap.rollout(robot, robot.start, steps=5, dt=PERIOD, law=sensed, reference=robot.start)
    gravity = ap.Dynamics(robot).gravity(rolled["q"][0, 2])
    np.testing.assert_allclose(rolled["tau"][0, 3] - gravity, 3.0 * 2.0 * PERIOD, atol=1e-12)  # held up to step 3
    with pytest.raises(ap.errors.ArgumentError, match="needs the sensor 'push'"):
        ap.rollout(robot, robot.start, steps=5, dt=PERIOD, law=design, reference=robot.start)


def test_designs_with_laws_of_the_whole_state_can_be_pickled():
    for law in ("operational-space", "adaptive", "hybrid-force"):
        design = pickle.loads(pickle.dumps(Design(arm("ur5"), critical(20.0), law)))
        assert design.law.name == law
        assert len(design.parameter_blocks.start)
