"""Energy, momentum and centre of mass.

T = Σᵢ ½ (V·p + ω·L)          p = m V + ω × h,  L = I ω + h × V   about the link's origin O               (1)
U = -g · Σᵢ (m x_O + R h)                                                                                (2)

A velocity vₖ moves everything outboard of its joint as one rigid body, so that column k of the centroidal momentum
matrix is the momentum of the composite of link k in that motion, about the centre of mass c of all links:

A_k = (R p, R L + (x_O - c) × R p)                                                                       (3)
"""

from __future__ import annotations

from appell.algebra.rotation import Twist
from appell.algebra.scalar import Matrix, Scalar, Vector, is_number
from appell.algebra.vector import ZERO, Vec3
from appell.errors import ModelError
from appell.formulate.kinematics import world_poses
from appell.formulate.recursion import composites, link_transforms, velocities
from appell.formulate.tree import Tree
from appell.model.body import Inertia


def kinetic_energy(tree: Tree, q: Vector, v: Vector) -> Scalar:
    """T(q, v), by (1)."""
    velocity = velocities(tree, link_transforms(tree, q), v)
    energy: Scalar = 0.0
    for link in tree.links:
        energy = energy + doubled_energy(link.inertia, velocity[link.name])
    return 0.5 * energy


def doubled_energy(body: Inertia, velocity: Twist) -> Scalar:
    """2 T of one link, by (1)."""
    p, L = body.impulse(velocity)  # (1)
    return velocity.linear.dot(p) + velocity.angular.dot(L)


def potential_energy(tree: Tree, q: Vector) -> Scalar:
    """U(q), by (2); zero where the centre of mass is level with the world's origin."""
    return -tree.gravity.dot(_first_moment(tree, q))  # (2)


def center_of_mass(tree: Tree, q: Vector) -> Vec3:
    """Centre of mass of all links, in world coordinates."""
    return (1.0 / _total_mass(tree)) * _first_moment(tree, q)


def momentum(tree: Tree, q: Vector, v: Vector) -> tuple[Vec3, Vec3]:
    """Linear momentum, and angular momentum about the centre of mass, in world axes."""
    transforms = link_transforms(tree, q)
    pose, velocity = world_poses(tree, transforms), velocities(tree, transforms, v)
    linear, angular, first = ZERO, ZERO, ZERO
    for link in tree.links:
        R, x = pose[link.name].rotation, pose[link.name].translation
        p, L = link.inertia.impulse(velocity[link.name])
        p_world = R @ p
        linear = linear + p_world
        angular = angular + R @ L + x.cross(p_world)
        first = first + link.inertia.mass * x + R @ link.inertia.first
    return linear, angular - (1.0 / _total_mass(tree)) * first.cross(linear)


def centroidal_matrix(tree: Tree, q: Vector) -> Matrix:
    """A_g(q), (6, nv), by (3): A_g v is the linear momentum and the angular momentum about the centre of mass."""
    transforms = link_transforms(tree, q)
    pose, composite, com = world_poses(tree, transforms), composites(tree, transforms), center_of_mass(tree, q)
    columns = {}
    for link in tree.links:
        R, arm = pose[link.name].rotation, pose[link.name].translation - com
        momenta = [composite[link.name].impulse(partial) for partial in link.partials]
        columns[link.name] = [[*(p_world := R @ p), *(R @ L + arm.cross(p_world))] for p, L in momenta]
    return tree.gather_columns(columns, rows=6)


def _total_mass(tree: Tree) -> Scalar:
    mass = sum((link.inertia.mass for link in tree.links), start=0.0)
    if is_number(mass) and mass == 0.0:
        problem = f"robot '{tree.robot.name}' has no centre of mass: its total mass is zero."
        raise ModelError(problem, expected="a link with mass", source=tree.robot.source)
    return mass


def _first_moment(tree: Tree, q: Vector) -> Vec3:
    pose = world_poses(tree, link_transforms(tree, q))
    first = ZERO
    for link in tree.links:
        R, x = pose[link.name].rotation, pose[link.name].translation
        first = first + link.inertia.mass * x + R @ link.inertia.first
    return first
