"""Peers of rollouts: motions of an arm in Runge-Kutta steps, with given torques for every step.

CasadiRollouts    its generated C in a C loop, in four builds: forward dynamics four times per step, or the complete
                  step as one function; each with and without -ffast-math
MujocoRollouts    `mujoco.rollout` on one thread, with contacts and constraints disabled. It computes more per step than
                  appell: poses of all bodies, geometries and sites, centres of mass, actuators, sensors, energy checks;
                  and it stores the complete state of every step
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell_lab.bench.peers.builds import SOURCES, TARGET, BuildFolder, compiler, optimised
from appell_lab.bench.peers.casadi_c import CasadiC
from appell_lab.bench.peers.library import bound, library
from appell_lab.bench.peers.mujoco_text import mjcf
from appell_lab.bench.peers.peer import PeerUnavailableError, Prepared
from appell_lab.bench.subject import Subject

STEP = 1e-3  # s, that of `sources/casadi_generate.py`
BUILDS = {
    "forward dynamics in C": ("forward_dynamics", ()),
    "the whole step": ("runge_kutta", ("-DWHOLE_STEP",)),
    "forward dynamics in C, fast-math": ("forward_dynamics", ("-ffast-math",)),
    "the whole step, fast-math": ("runge_kutta", ("-DWHOLE_STEP", "-ffast-math")),
}


@dataclass(frozen=True)
class DrivenMotions:
    """Initial states (samples, nv) and torques (samples, steps, nv) of motions; results every `every` steps."""

    q: np.ndarray
    v: np.ndarray
    torque: np.ndarray
    every: int

    @property
    def steps(self) -> int:
        """Number of steps per motion."""
        return self.torque.shape[1]

    @property
    def total_steps(self) -> int:
        """Number of steps of all samples."""
        return len(self.q) * self.steps

    def first(self, count: int) -> DrivenMotions:
        """Return the first `count` motions."""
        return DrivenMotions(self.q[:count], self.v[:count], np.ascontiguousarray(self.torque[:count]), self.every)

    def output_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays for q and v after every `every` steps."""
        count, width = self.q.shape
        return tuple(np.zeros((count, self.steps // self.every, width)) for _ in range(2))  # type: ignore[return-value]


class CasadiRollouts(CasadiC):
    """CasADi's C with one of the `BUILDS`."""

    def __init__(self, builds: BuildFolder, build: str):
        super().__init__(builds)
        self.name, self.build = f"CasADi C, {build}", build

    def motions(self, subject: Subject, given: DrivenMotions) -> Prepared:
        """Prepare the motions; raise PeerUnavailableError if they cannot be built."""
        _check_joints(subject)
        quantity, flags = BUILDS[self.build]
        kernel, source = self._kernel(subject, quantity), SOURCES / "casadi_rollout.c"
        command = [compiler("gcc"), *optimised(), *flags, "-fPIC", "-shared", "-w", f'-DKERNEL="{kernel}"']
        command += [f"-DNV={subject.robot.nv}", str(source), "-lm", "-o", TARGET]
        compiled = library(self.builds.make("rollout.so", command, [source, kernel], f"{self.name}, {subject.name}"))
        sizes, results, order = np.array([given.steps, given.every, STEP]), given.output_arrays(), subject.twin.order
        arrays = [np.ascontiguousarray(_theirs(x, order)) for x in (given.q, given.v, given.torque)]
        run = bound(compiled.rollout, None, len(given.q), [sizes, *arrays, *results])
        return Prepared(run, lambda: tuple(x[..., order] for x in results))


class MujocoRollouts:
    """MuJoCo's rollouts, from Python."""

    name = "mujoco.rollout"

    def motions(self, subject: Subject, given: DrivenMotions) -> Prepared:
        """Prepare the motions; raise PeerUnavailableError if MuJoCo is not installed."""
        _check_joints(subject)
        try:
            import mujoco
            from mujoco.rollout import rollout
        except ImportError:
            raise PeerUnavailableError("mujoco is not installed.", hint="pip install 'appell[peers]'") from None
        model = mujoco.MjModel.from_xml_string(mjcf(subject.robot))
        model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
        order = [model.joint(link.joint.name).dofadr[0] for link in subject.robot.moving]
        q, v, torque = (_theirs(x, order) for x in (given.q, given.v, given.torque))
        states = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
        stored = np.zeros((len(q), given.steps, states.shape[1]))
        named = {"control_spec": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED), "skip_checks": True, "state": stored}
        data, models = [mujoco.MjData(model)], [model] * len(q)

        def run() -> Any:
            return rollout(
                models, data, nstep=given.steps, initial_state=states, control=np.ascontiguousarray(torque), **named
            )

        def results() -> tuple[np.ndarray, ...]:
            nv = subject.robot.nv
            selected = stored[:, given.every - 1 :: given.every]
            return selected[..., 1 : 1 + nv][..., order], selected[..., 1 + nv :][..., order]

        return Prepared(run, results)


def _check_joints(subject: Subject) -> None:
    if subject.robot.nq != len(subject.robot.moving):
        raise PeerUnavailableError(
            f"robot '{subject.name}' has a joint with several coordinates, which the C loop does not support."
        )


def _theirs(x: np.ndarray, order: Any) -> np.ndarray:
    """Return columns in the order of a peer, whose column `order[k]` is our column k."""
    reordered = np.empty_like(x)
    reordered[..., order] = x
    return reordered
