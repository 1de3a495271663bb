"""Bodies of a system with elastic joints: those of its link side, and the rotors of the motors behind the springs.

q = (coordinates of the bodies, motor positions θ), v likewise; θ is divided by the gear ratio r, B = r²J is the inertia
of the rotor there. In the reduced model only the rotor's own spin counts (Spong 1987):

    M(q) q̈ + h(q, q̇) = Dᵀf         B θ̈ + φ(θ̇) + f = τ         S = S_links + Σ ½ B θ̈² + f (θ̈ - D q̈) + φ θ̈        (1)

The spring forces f, friction φ and B θ̈ are terms of the drives (`formulate.actuation`), so that the bodies do not
depend on θ. Their accelerations are those of the rigid links under the forces of the springs, and those of the motors
cost one division each. Elastic joints thus change no recursion.

In the complete model a rotor with spin s = r θ̇ about the axis z fixed in its carrier p moves with the carrier as well.
Its mass and its inertia with the spin locked belong to the body of the carrier. What is left is exact for every rotor
of axial symmetry:

    S_rotor = J (½ ṡ² + ṡ z·ω̇_p + s ω̇_p·(ω_p × z))            T_rotor = J (½ s² + s z·ω_p)                       (2)
    moment on the carrier  J (ṡ z + s ω_p × z)                  force on the motor  r J (ṡ + z·ω̇_p)              (3)

The first term is B θ̈²/2 of (1); `Rotors` adds the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, final

from appell.algebra.loops import Loops
from appell.algebra.scalar import Matrix, Scalar, Vector, dot
from appell.algebra.vector import Vec3
from appell.errors import ModelError
from appell.formulate.closed_form import ClosedFormBodies
from appell.formulate.flexible.bodies import FlexibleBodies
from appell.formulate.kinematics import FrameKinematics, PointMotion, Wrenches
from appell.formulate.recursion import accelerations, link_transforms
from appell.formulate.tree import Tree
from appell.formulate.tree_bodies import TreeBodies
from appell.model.frame import Frame
from appell.model.robot import Robot
from appell.model.system import System


@dataclass(frozen=True)
class Rotor:
    """A rotor of the complete model: its carrier (None: the world), its axis there, and r J."""

    carrier: str | None
    axis: Vec3
    momentum: float  # per θ̇, kg m²


def rotors_of(robot: Robot) -> list[Rotor]:
    """Rotors of the elastic joints of a tree; ModelError if the axis of one of them is unknown."""
    rotors = []
    for link in (link for link in robot.links if link.joint.name in robot.elastic_joints):
        axis = link.joint.placement.rotation @ link.joint.motion.partials[0].angular
        if axis.dot(axis) == 0.0:
            raise ModelError(
                f"the axis of the rotor of joint '{link.joint.name}' of {robot.owner} is unknown: it is prismatic.",
                expected='revolute elastic joints with rotors="complete"',
                hint="Pass rotors=True for the reduced model.",
            )
        actuator = link.joint.actuator
        rotors.append(Rotor(link.parent, axis, actuator.gear * actuator.rotor_inertia))
    return rotors


@final
class ElasticBodies:
    """Bodies of the link side of a system; without a dependence on its motors in the reduced model.

    `rotors` are those of the complete model; None for the reduced model.
    """

    def __init__(
        self,
        system: System,
        links: TreeBodies | FlexibleBodies | ClosedFormBodies,
        rotors: Sequence[Rotor] | None = None,
    ):
        self.links, self.rotors, self.reference, self.robot = links, rotors, links.reference, system.tree
        self.inertias = [system.drives[name].reflected_inertia for name in system.elastic_joints]
        self.nq, self.nv = system.link_nq, system.link_nv

    def run_by(self, loops: Loops) -> ElasticBodies:
        other = copy(self)
        other.links = self.links.run_by(loops)
        return other

    def weighed(self, factor: Scalar) -> ElasticBodies:
        """Copy with gravity times a factor, for functions that are not loops."""
        other = copy(self)
        other.links = self.links.weighed(factor)
        return other

    @property
    def tree(self) -> Tree:
        """The links with columns for all velocities."""
        return replace(self.links.tree, robot=self.robot)  # type: ignore[union-attr]

    @property
    def idle_joints(self) -> tuple[str, ...]:
        return self.links.idle_joints  # type: ignore[union-attr]

    @property
    def pose_functions(self) -> Any:
        return self.links.pose_functions  # type: ignore[union-attr]

    @property
    def is_regular(self) -> bool:
        return self.links.is_regular  # type: ignore[union-attr]

    def _wide(self, rows: Matrix) -> Matrix:
        """Rows over all velocities from those over the velocities of the bodies."""
        return [[*row, *[0.0] * len(self.inertias)] for row in rows]

    def _padded(self, matrix: Matrix) -> Matrix:
        n, m = self.nv, len(self.inertias)
        return self._wide(matrix) + [[0.0] * (n + m) for _ in range(m)]

    # ---- terms of the bodies, and of (2) and (3)

    def gibbs_function(self, q: Vector, v: Vector, a: Vector) -> Scalar:
        S = self.links.gibbs_function(q[: self.nq], v[: self.nv], a[: self.nv])
        for _, rotor, s, s_rate, omega, alpha in self._spins(q, v, a):
            S = S + rotor.momentum * (s_rate * rotor.axis.dot(alpha) + s * alpha.dot(omega.cross(rotor.axis)))
        return S

    def forces(self, q: Vector, v: Vector, a: Vector, wrenches: Wrenches) -> list[Scalar]:
        forces = self.links.forces(q[: self.nq], v[: self.nv], a[: self.nv], wrenches)
        motors: list[Scalar] = [0.0] * len(self.inertias)
        for k, rotor, s, s_rate, omega, alpha in self._spins(q, v, a):
            moment = rotor.momentum * (s_rate * rotor.axis + s * omega.cross(rotor.axis))
            columns = zip(*self._turning(rotor, q), strict=True)
            forces = [Q + dot(column, list(moment)) for Q, column in zip(forces, columns, strict=True)]
            motors[k] = rotor.momentum * rotor.axis.dot(alpha)
        return [*forces, *motors]

    def mass_matrix(self, q: Vector) -> Matrix:
        M = self._padded(self.links.mass_matrix(q[: self.nq]))
        for k, rotor in self._carried:
            for i, column in enumerate(zip(*self._turning(rotor, q), strict=True)):
                M[i][self.nv + k] = M[self.nv + k][i] = rotor.momentum * dot(list(rotor.axis), column)
        return M

    def damping_forces(self, q: Vector, v: Vector) -> list[Scalar]:
        """Forces of the structural damping of flexible links."""
        damping = self.links.damping_forces(q[: self.nq], v[: self.nv])  # type: ignore[union-attr]
        return [*damping, *(0.0 for _ in self.inertias)]

    def coriolis(self, q: Vector, v: Vector) -> Matrix:
        self._refuse_complete("the Coriolis matrix", "Use bias(q, v)")
        return self._padded(self.links.coriolis(q[: self.nq], v[: self.nv]))

    def kinetic_energy(self, q: Vector, v: Vector) -> Scalar:
        T = self.links.kinetic_energy(q[: self.nq], v[: self.nv])
        for _, rotor, s, _, omega, _ in self._spins(q, v, [0.0] * len(v)):
            T = T + rotor.momentum * s * rotor.axis.dot(omega)
        return T

    def momentum(self, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
        linear, angular = self.links.momentum(q[: self.nq], v[: self.nv])
        for k, rotor in enumerate(self.rotors or (), start=self.nv):
            angular = angular + (rotor.momentum * v[k]) * self._axis(rotor, q)
        return linear, angular

    def centroidal_matrix(self, q: Vector) -> Matrix:
        A = self._wide(self.links.centroidal_matrix(q[: self.nq]))
        for k, rotor in enumerate(self.rotors or (), start=self.nv):
            for row, x in zip(A[3:], rotor.momentum * self._axis(rotor, q), strict=True):
                row[k] = x
        return A

    def forward(self, q: Vector, v: Vector, forces: Vector, wrenches: Wrenches) -> Any:
        """a by the forward dynamics of the links; NotImplemented where the rotors are coupled with their carriers."""
        if self.rotors is not None:
            return NotImplemented
        n = self.nv
        a = self.links.forward(q[: self.nq], v[:n], forces[:n], wrenches)
        if a is NotImplemented:
            return a
        return [*a, *((1.0 / inertia) * force for inertia, force in zip(self.inertias, forces[n:], strict=True))]

    def inverse(self, mass_matrix: Matrix, q: Vector) -> Matrix:
        return self.links.inverse(mass_matrix, q)

    # ---- functions of the links only

    def regressor(self, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None) -> Matrix:
        self._refuse_complete("the regressor", "Use generalized_forces(q, v, a)")
        rows = self.links.regressor(q[: self.nq], v[: self.nv], a[: self.nv], columns)
        return [*rows, *([0.0] * len(rows[0]) for _ in self.inertias)]

    def potential_energy(self, q: Vector) -> Scalar:
        return self.links.potential_energy(q[: self.nq])

    def center_of_mass(self, q: Vector) -> Vec3:
        return self.links.center_of_mass(q[: self.nq])

    def pose(self, frame: Frame, q: Vector) -> Any:
        return self.links.pose(frame, q[: self.nq])

    def jacobian(self, frame: Frame, reference: str, q: Vector) -> Matrix:
        return self._wide(self.links.jacobian(frame, reference, q[: self.nq]))

    def velocity(self, frame: Frame, reference: str, q: Vector, v: Vector) -> list[Scalar]:
        return self.links.velocity(frame, reference, q[: self.nq], v[: self.nv])

    def positions(self, frames: Sequence[Frame], q: Vector) -> list[Vec3]:
        return self.links.positions(frames, q[: self.nq])

    def point_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[PointMotion]:
        points = self.links.point_motions(frames, q[: self.nq], v[: self.nv])
        return [replace(point, J=self._wide(point.J)) for point in points]

    def frame_motions(self, frames: Sequence[Frame], q: Vector, v: Vector) -> list[FrameKinematics]:
        motions = self.links.frame_motions(frames, q[: self.nq], v[: self.nv])  # type: ignore[union-attr]
        return [replace(motion, J=self._wide(motion.J)) for motion in motions]

    # ---- rotors of the complete model

    def _refuse_complete(self, function: str, alternative: str) -> None:
        if self.rotors is not None:
            raise ModelError(
                f"{function} of {self.tree.robot.owner} is not available with rotors='complete'.",
                hint=f"{alternative}, or pass rotors=True for the reduced model.",
            )

    @property
    def _carried(self) -> list[tuple[int, Rotor]]:
        """Numbers of the motors whose rotors are coupled with a moving carrier, and these rotors."""
        return [(k, rotor) for k, rotor in enumerate(self.rotors or ()) if rotor.carrier is not None]

    def _spins(self, q: Vector, v: Vector, a: Vector) -> list[tuple[int, Rotor, Scalar, Scalar, Vec3, Vec3]]:
        """For each carried rotor: number, rotor, θ̇, θ̈, and ω and ω̇ of its carrier in the carrier's axes."""
        if not self._carried:
            return []
        tree = self.links.tree  # type: ignore[union-attr]
        motion = accelerations(tree, link_transforms(tree, q[: self.nq]), v[: self.nv], a[: self.nv])
        carriers = [(k, rotor, motion[rotor.carrier]) for k, rotor in self._carried]
        n = self.nv
        return [(k, rotor, v[n + k], a[n + k], carrier.omega, carrier.alpha) for k, rotor, carrier in carriers]

    def _turning(self, rotor: Rotor, q: Vector) -> Matrix:
        """Jacobian of the angular velocity of a rotor's carrier, in the carrier's axes."""
        return self.links.jacobian(Frame("carrier", rotor.carrier), "LOCAL", q[: self.nq])[3:]

    def _axis(self, rotor: Rotor, q: Vector) -> Vec3:
        """Axis of a rotor in world axes."""
        return self.links.pose(Frame("carrier", rotor.carrier), q[: self.nq]).rotation @ rotor.axis
