"""Peers of rollouts: whole motions of an arm in steps of Runge and Kutta, torques given for every step.

CasadiRollouts    its generated C in a loop in C, in four builds: forward dynamics four times a step, or the whole
                  step as one function; each as gcc compiles it, and with -ffast-math
MujocoRollouts    `mujoco.rollout` on one thread, contacts and constraints off. It does more in a step than ours:
                  poses of all bodies, geometries and sites, centres of mass, actuators, sensors, energy checks; and
                  it writes down the whole state of every step
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from appell_lab.bench.peers.casadi_c import CasadiC
from appell_lab.bench.peers.library import bound, library
from appell_lab.bench.peers.mujoco_text import mjcf
from appell_lab.bench.peers.peer import Prepared, PeerUnavailableError
from appell_lab.bench.peers.builds import OPTIMISED, SOURCES, TARGET, BuildFolder, compiler
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
    """Where motions of joints with one coordinate each start, and the torques (samples, steps, nv) that drive them."""

    q: np.ndarray
    v: np.ndarray
    torque: np.ndarray
    every: int

    @property
    def steps(self) -> int:
        return self.torque.shape[1]

    @property
    def taken(self) -> int:
        """Steps of all samples."""
        return len(self.q) * self.steps

    def first(self, count: int) -> DrivenMotions:
        return DrivenMotions(self.q[:count], self.v[:count], np.ascontiguousarray(self.torque[:count]), self.every)

    def room(self) -> tuple[np.ndarray, np.ndarray]:
        """For q and v after every `every`-th step."""
        count, width = self.q.shape
        return tuple(np.zeros((count, self.steps // self.every, width)) for _ in range(2))  # type: ignore[return-value]


class CasadiRollouts(CasadiC):
    """One of its builds."""

    def __init__(self, workshop: BuildFolder, build: str):
        super().__init__(workshop)
        self.name, self.build = f"CasADi C, {build}", build

    def motions(self, subject: Subject, given: DrivenMotions) -> Prepared:
        """Raises UnableError where it cannot be built."""
        _refuse_others(subject)
        quantity, flags = BUILDS[self.build]
        kernel, source = self._kernel(subject, quantity), SOURCES / "casadi_rollout.c"
        command = [compiler("gcc"), *OPTIMISED, *flags, "-fPIC", "-shared", "-w", f'-DKERNEL="{kernel}"']
        command += [f"-DNV={subject.robot.nv}", str(source), "-lm", "-o", TARGET]
        made = library(self.workshop.make("rollout.so", command, [source, kernel], f"{self.name}, {subject.name}"))
        sizes, results, order = np.array([given.steps, given.every, STEP]), given.room(), subject.twin.order
        arrays = [np.ascontiguousarray(_theirs(x, order)) for x in (given.q, given.v, given.torque)]
        run = bound(made.rollout, None, len(given.q), [sizes, *arrays, *results])
        return Prepared(run, lambda: tuple(x[..., order] for x in results))


class MujocoRollouts:
    """Its own rollouts, from Python."""

    name = "mujoco.rollout"

    def motions(self, subject: Subject, given: DrivenMotions) -> Prepared:
        """Raises UnableError where it is not installed."""
        _refuse_others(subject)
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
        room = np.zeros((len(q), given.steps, states.shape[1]))
        named = {"control_spec": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED), "skip_checks": True, "state": room}
        data, models = [mujoco.MjData(model)], [model] * len(q)

        def run() -> Any:
            return rollout(
                models, data, nstep=given.steps, initial_state=states, control=np.ascontiguousarray(torque), **named
            )

        def results() -> tuple[np.ndarray, ...]:
            nv = subject.robot.nv
            told = room[:, given.every - 1 :: given.every]
            return told[..., 1 : 1 + nv][..., order], told[..., 1 + nv :][..., order]

        return Prepared(run, results)


def _refuse_others(subject: Subject) -> None:
    if subject.robot.nq != len(subject.robot.moving):
        raise PeerUnavailableError(
            f"robot '{subject.name}' has a joint of several coordinates, which the loop in C cannot step."
        )


def _theirs(x: np.ndarray, order: Any) -> np.ndarray:
    """Columns in the order of a peer, of which our k-th column is the `order[k]`-th."""
    found = np.empty_like(x)
    found[..., order] = x
    return found
