"""MuJoCo as the robot: a plant that is independent of the equations of appell.

The model is the MJCF that `to_mjcf` writes for a system, or a user's MJCF file. Torques act on the joints directly:
MuJoCo's own actuators are switched off. A wrench sensor measures, like a real one, what acts on its link and on those
beyond it, at the origin and in the axes of the frame: contact forces and weight, less inertia. Modes that need the
torque for an acceleration are offered if every joint is an actuator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from appell.describe.write import to_mjcf
from appell.errors import ArgumentError, DescriptionError, ModelWarning, needed_package, unknown_name
from appell.hardware.clock import Clock
from appell.hardware.device import DeviceInfo, JointCommand, JointState
from appell.hardware.devices.drives import DrivenRobot, SimulatedDrives, declared
from appell.model.system import System


class MujocoArm(DrivenRobot):
    """A robot that MuJoCo simulates.

    Parameters
    ----------
    system : the robot, or an MJCF file
    clock : the clock of the loop; the simulation follows it in whole steps
    period : time between two states, in s; also the integration step of MuJoCo
    start : initial positions of joints by name, in rad or m; the others are at the start of the system or model
    wrench : frame (site of the model) whose wrench is measured, as sensor "wrench": force in N, moment in N m
    edit : callable, optional
        `edit(spec)` changes the `mujoco.MjSpec` before it is compiled, for example to add a floor.
    heartbeat : time in s without a command after which the drives enter their safe state
    safe_state : "zero torque" or "hold"

    Examples
    --------
    >>> import appell as ap
    >>> clock = ap.hardware.VirtualClock()
    >>> arm = MujocoArm(ap.load("planar-2r"), clock)
    >>> arm.info.modes
    ('torque', 'impedance', 'position', 'velocity')
    """

    def __init__(
        self,
        system: System | str | Path,
        clock: Clock,
        *,
        period: float = 1e-3,
        start: dict[str, float] | None = None,
        wrench: str | None = None,
        edit: Callable[[Any], object] | None = None,
        heartbeat: float = 0.02,
        safe_state: str = "zero torque",
    ):
        mujoco = self._mujoco = needed_package("mujoco", "the device 'mujoco'", "appell[mjcf]")
        self.clock = clock
        spec = _specification(mujoco, system)
        if edit is not None:
            edit(spec)
        if wrench is not None:
            sites = [site.name for site in spec.sites]
            if wrench not in sites:
                raise ArgumentError(unknown_name("frame", wrench, sites, f"model '{spec.modelname}'"))
            for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
                spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=wrench, name=f"appell_{kind}")
        try:
            model = spec.compile()
        except ValueError as error:
            raise DescriptionError(f"MuJoCo cannot compile model '{spec.modelname}': {error}.") from None
        model.opt.timestep = period
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
        self.model, self.data = model, mujoco.MjData(model)
        names = system.actuator_names if isinstance(system, System) else _actuated(mujoco, model)
        joints = [model.joint(name) for name in names]
        self._q, self._v = ([int(getattr(joint, field)[0]) for joint in joints] for field in ("qposadr", "dofadr"))
        positions = dict(zip(system.coordinate_names, system.start, strict=True)) if isinstance(system, System) else {}
        for name, value in (positions | (start or {})).items():
            kind = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
            if kind >= 0:
                self.data.joint(name).qpos[0] = value
            elif name in (start or {}):
                raise ArgumentError(unknown_name("joint", name, names, f"model '{spec.modelname}'"))
        limits = np.array(
            [model.jnt_range[joint.id] if model.jnt_limited[joint.id] else (-np.inf, np.inf) for joint in joints]
        )
        modes = ("torque", "impedance") + (("position", "velocity") if model.nv == len(names) else ())
        self._first_sensor = model.nsensordata - 6
        self.info = DeviceInfo(
            f"mujoco {spec.modelname}",
            tuple(names),
            modes,
            period,
            heartbeat=heartbeat,
            safe_state=safe_state,
            lower=declared(limits[:, 0]),
            upper=declared(limits[:, 1]),
            torque=declared(_torque_limits(model, [joint.id for joint in joints])),
            sensors={"wrench": 6} if wrench is not None else {},
        )
        self.drives = SimulatedDrives(self.info)
        self.tau = np.zeros(len(names))
        self._origin = self._seen = -np.inf

    def open(self) -> None:
        """Start the simulation at the current time of the clock."""
        self._origin = self.clock.now() - self.data.time
        self._mujoco.mj_forward(self.model, self.data)

    def read(self, state: JointState) -> bool:
        """Simulate up to the time of the clock and measure; return False if no step has passed."""
        data, step = self.data, self.model.opt.timestep
        for _ in range(int((self.clock.now() - self._origin - data.time) / step + 1e-6)):
            self._advance()
        state.stamp = self._origin + data.time
        state.q[:], state.v[:], state.tau[:] = data.qpos[self._q], data.qvel[self._v], self.tau
        state.status, state.faults[:] = self.drives.status, self.drives.faults
        if self.info.sensors:
            np.negative(data.sensordata[self._first_sensor :], out=state.sensors["wrench"])  # MuJoCo: on the link
        fresh, self._seen = state.stamp > self._seen, state.stamp
        return fresh

    def _advance(self) -> None:
        mujoco, model, data = self._mujoco, self.model, self.data
        mujoco.mj_step1(model, data)
        self.tau = self.drives.torque(self._origin + data.time, data.qpos[self._q], data.qvel[self._v], self._forces)
        data.qfrc_applied[self._v] = self.tau
        mujoco.mj_step2(model, data)

    def _forces(self, acceleration: np.ndarray) -> np.ndarray:
        desired, product = np.zeros(self.model.nv), np.zeros(self.model.nv)
        desired[self._v] = acceleration
        self._mujoco.mj_mulM(self.model, self.data, product, desired)
        return (product + self.data.qfrc_bias - self.data.qfrc_passive)[self._v]

    def write(self, command: JointCommand) -> None:
        """Set the command of the drives."""
        self.drives.write(command, self.clock.now())


def _specification(mujoco, system: System | str | Path):
    if not isinstance(system, System):
        try:
            return mujoco.MjSpec.from_file(str(system))
        except ValueError as error:
            raise DescriptionError(f"MuJoCo cannot read the model: {error}.", source=str(system)) from None
    with warnings.catch_warnings():  # of visuals and joint types that a simulation does not need
        warnings.simplefilter("ignore", ModelWarning)
        return mujoco.MjSpec.from_string(to_mjcf(system))


def _actuated(mujoco, model) -> list[str]:
    """Return the names of the hinges and slides that have an actuator; of all of them if none has."""
    single = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    by_joint = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)
    driven = sorted(set(model.actuator_trnid[by_joint, 0].tolist())) or range(model.njnt)
    names = [model.joint(k).name for k in driven if model.jnt_type[k] in single]
    if not names:
        raise DescriptionError("the MJCF model has no hinge or slide that could be driven.")
    return names


def _torque_limits(model, joints: list[int]) -> list[float]:
    """Return the force limits of the motors of joints, infinite without a limit."""
    limits = {
        int(model.actuator_trnid[k, 0]): float(
            np.abs(model.actuator_forcerange[k]).min() * abs(model.actuator_gear[k, 0])
        )
        for k in range(model.nu)
        if model.actuator_forcelimited[k]
    }
    return [limits.get(joint, np.inf) for joint in joints]
