"""Gibbs function of trees with flexible links, and recursions for forces and inertia matrix.

A point of a flexible body accelerates with s̈ + Σ A_b f_b, A_b = W c_b + 2 ω~ ċ_b + c̈_b 1, so that

    S = ½ m s̈·s̈ + s̈·Σ A_b h_b + ½ Σ_bc tr(A_b P_bc A_cᵀ) + (K δ + D δ̇)·δ̈                                           (1)

summed over all bodies. Its gradient is gathered inward. With G_b = Σ c_c P_bc and H = Σ c_b h_b, a body requires

    f   = m s̈ + W H + 2 ω × Ḣ + Σ c̈_b h_b
    n   = axial(s̈ Hᵀ + W Σ c_b G_b + 2 ω~ Σ ċ_b G_b + Σ c̈_b G_b)                                                     (2)
    F_b = h_b·s̈ + ⟨W, G_b⟩ + 2 ω·Σ_c ċ_c axial(P_bc) + Σ_c c̈_c tr P_bc
    Q_j = Σ_b ∂c_b/∂δ_j F_b + (K δ + D δ̇)_j

Sums over ċ_b, and over the modal part of c̈_b, are sums over δ̇_j and δ̈_j of the slopes L_j = Σ_b ∂c_b/∂δ_j h_b and
T_j = Σ_b ∂c_b/∂δ_j G_b, which the modal forces contain as well.

and a child on a node adds its wrench (F, N) about the node to f and n + ρ × F, and u_j·F + b_j·N to Q_j. Cost O(n).

For the inertia matrix, a link with everything outboard of it is one body that moves with the link and its modes: the
inertia, the momentum L_j, A_j per unit of each modal velocity, and the modal mass, to which a child adds its composite
in the motion of the node. The wrenches of unit accelerations are carried inward as for rigid links.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.derivative import gradient
from appell.algebra.matrix import IDENTITY, ZEROS, Mat3, axial, axial_of_product, skew
from appell.algebra.rotation import Rotation, Twist
from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.flexible.kinematics import Configuration, Deformation
from appell.formulate.gibbs_appell.inverse import required_wrench
from appell.formulate.recursion import (
    Acceleration,
    ExternalWrenches,
    LinkTransform,
    Wrench,
    along,
    combine,
    inertia_on_parent,
)
from appell.formulate.tree import Tree, TreeLink
from appell.model.body import Inertia
from appell.model.frame import WORLD

NO_ROTATION = Rotation((IDENTITY,))


def gibbs_function(tree: Tree, q: Vector, v: Vector, a: Vector) -> Scalar:
    """S(q, v, a), by (1)."""
    configuration = Configuration(tree, q)
    motion = configuration.accelerations(v, a, tree.gravity)
    S: Scalar = 0.0
    first: tuple[Vec3, ...]
    second: tuple[tuple[Mat3, ...], ...]
    for link in tree.links:
        acc, W = motion[link.name].acc, motion[link.name].W
        if (deformation := configuration.deformation.get(link.name)) is None:
            fields, first, second = [W], (link.inertia.first,), ((link.inertia.second,),)  # one field, x
        else:
            rates, second_rates = configuration.modal(link.name, v), configuration.modal(link.name, a)
            spin = 2.0 * skew(motion[link.name].omega)
            c, c1, c2 = deformation.weights, deformation.rates(rates), deformation.second_rates(rates, second_rates)
            fields = [x * W + y * spin + z * IDENTITY for x, y, z in zip(c, c1, c2, strict=True)]
            first, second = deformation.body.first, deformation.body.second
            for force, x in zip(deformation.elastic_forces(rates), second_rates, strict=True):
                S = S + force * x
        S = S + 0.5 * link.inertia.mass * acc.dot(acc)
        for field, h, row in zip(fields, first, second, strict=True):
            S = S + acc.dot(field @ h)
            for other, P in zip(fields, row, strict=True):
                if any(x != 0.0 for r in P.rows for x in r):
                    weighted = field @ P
                    S = S + 0.5 * sum((r.dot(o) for r, o in zip(weighted.rows, other.rows, strict=True)), start=0.0)
    return S


def gibbs_gradient(tree: Tree, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
    """∂S/∂a, by differentiation of (1)."""
    return gradient(lambda acceleration: gibbs_function(tree, q, v, acceleration), a)


def forces(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """Q(q, v, a) along all velocities, by (2), minus the external wrenches on links."""
    configuration = Configuration(tree, q)
    motion = configuration.accelerations(v, a, tree.gravity)
    required: dict[str | None, Wrench] = {WORLD: (ZERO, ZERO)}
    modal: dict[str | None, list[Scalar]] = {WORLD: []}
    for link in tree.links:
        required[link.name], modal[link.name] = required_by_body(configuration, link, motion[link.name], v, a)
    return gathered(configuration, required, modal, wrenches)


def gathered(
    configuration: Configuration,
    required: dict[str | None, Wrench],
    modal: dict[str | None, list[Scalar]],
    wrenches: ExternalWrenches = None,
) -> list[Scalar]:
    """Forces along all velocities from the wrenches and modal forces that the links require."""
    tree = configuration.tree
    for name, (force, moment) in (wrenches or {}).items():
        required[name] = required[name][0] - force, required[name][1] - moment
    for link in reversed(tree.links):
        (force, moment), on_modes = configuration.on_parent(link, required[link.name])
        required[link.parent] = required[link.parent][0] + force, required[link.parent][1] + moment
        if on_modes:
            modal[link.parent] = [x + y for x, y in zip(modal[link.parent], on_modes, strict=True)]
    return tree.gather(
        {link.name: [*along(link.partials, required[link.name]), *modal[link.name]] for link in tree.links}
    )


def required_by_body(
    configuration: Configuration, link: TreeLink, motion: Acceleration, v: Vector, a: Vector
) -> tuple[Wrench, list[Scalar]]:
    """Force, moment and modal forces that the motion of one body requires, by (2)."""
    if (body := configuration.deformation.get(link.name)) is None:
        return required_wrench(link.inertia, motion), []
    return required_by_deformation(body, motion, configuration.modal(link.name, v), configuration.modal(link.name, a))


def required_by_deformation(
    body: Deformation, motion: Acceleration, rates: Vector, second_rates: Vector
) -> tuple[Wrench, list[Scalar]]:
    """Force, moment and modal forces that the motion of a flexible body requires, by (2)."""
    count, c1, drifts = 1 + body.body.mode_count, body.rates(rates), body.drifts(rates)
    h, P, omega, acc, W = body.body.first, body.body.second, motion.omega, motion.acc, motion.W
    c2 = [0.0, *body.second_rates(rates, second_rates)[1:]]
    L, T = body.linear_coupling, body.tangents
    force = body.body.mass * acc + W @ body.first + 2.0 * omega.cross(combine(L, rates))
    force = force + combine(L, second_rates) + combine(h[count:], drifts)
    stretching = sum((x * tangent for x, tangent in zip(rates, T, strict=True)), start=ZEROS)
    moment = body.first.cross(acc) + axial_of_product(W, body.second) + 2.0 * axial(skew(omega) @ stretching)
    moment = moment + combine(body.angular_coupling, second_rates)
    moment = moment + combine((axial(G) for G in body.moments[count:]), drifts)

    def along_field(b: int) -> Scalar:
        spinning = combine((axial(P[b][c]) for c in range(1, len(c1))), c1[1:])
        accelerating = sum((x * P[b][c].trace for c, x in enumerate(c2) if c), start=0.0)
        return 2.0 * omega.dot(spinning) + accelerating

    fields = [0.0, *(along_field(b) for b in range(1, len(h)))]
    modal = []
    for coupling, tangent, slope, elastic in zip(L, T, body.slopes, body.elastic_forces(rates), strict=True):
        inner = sum((row.dot(other) for row, other in zip(W.rows, tangent.rows, strict=True)), start=elastic)
        modal.append(sum((x * fields[b] for b, x in slope.items()), start=inner + coupling.dot(acc)))
    return (force, moment), modal


@dataclass(frozen=True)
class FlexibleComposite:
    """A link with everything outboard of it, in the motions of the link and its modes."""

    inertia: Inertia
    linear: list[Vec3]  # L_j: momentum per unit of each modal velocity
    angular: list[Vec3]  # A_j: angular momentum about the link's origin
    modal: Matrix  # modal mass

    @staticmethod
    def of(link: TreeLink, deformation: Deformation | None) -> FlexibleComposite:
        if deformation is None:
            return FlexibleComposite(link.inertia, [], [], [])
        return FlexibleComposite(
            deformation.inertia, deformation.linear_coupling, deformation.angular_coupling, deformation.modal_mass
        )

    def plus(self, child: Inertia, node) -> FlexibleComposite:
        """With a rigid body about the carrier's origin, in link axes."""
        if node is None:
            return FlexibleComposite(self.inertia + child, self.linear, self.angular, self.modal)
        momenta = [child.impulse(p) for p in node.partials]
        at_origin = inertia_on_parent(child, LinkTransform(NO_ROTATION, node.rho))
        modal = [
            [m + p.linear.dot(f) + p.angular.dot(n) for m, (f, n) in zip(row, momenta, strict=True)]
            for row, p in zip(self.modal, node.partials, strict=True)
        ]
        symmetric = [[modal[max(j, k)][min(j, k)] for k in range(len(modal))] for j in range(len(modal))]
        return FlexibleComposite(
            self.inertia + at_origin,
            [L + f for L, (f, _) in zip(self.linear, momenta, strict=True)],
            [A + n + node.rho.cross(f) for A, (f, n) in zip(self.angular, momenta, strict=True)],
            symmetric,
        )

    def impulse(self, velocity: Twist, rates: Vector) -> tuple[Wrench, list[Scalar]]:
        """Momentum, angular momentum about the origin, and modal momentum."""
        p, L = self.inertia.impulse(velocity)
        p, L = p + combine(self.linear, rates), L + combine(self.angular, rates)
        rows = zip(self.linear, self.angular, self.modal, strict=True)
        modal = [
            l.dot(velocity.linear)
            + a.dot(velocity.angular)
            + sum((m * x for m, x in zip(row, rates, strict=True)), start=0.0)
            for l, a, row in rows
        ]
        return (p, L), modal


def composites(configuration: Configuration) -> dict[str, FlexibleComposite]:
    """FlexibleComposite of every link."""
    tree = configuration.tree
    bodies = {link.name: FlexibleComposite.of(link, configuration.deformation.get(link.name)) for link in tree.links}
    for link in reversed(tree.links):
        if link.parent is not None:
            child = inertia_on_parent(bodies[link.name].inertia, configuration.transform[link.name])
            bodies[link.parent] = bodies[link.parent].plus(child, configuration.carrier[link.name])
    return bodies


def mass_matrix(tree: Tree, q: Vector) -> Matrix:
    """M(q)."""
    configuration = Configuration(tree, q)
    composite = composites(configuration)
    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    for link in tree.links:
        body = composite[link.name]
        columns = [body.impulse(p, [0.0] * len(body.linear)) for p in link.partials]
        columns += [((L, A), row) for L, A, row in zip(body.linear, body.angular, body.modal, strict=True)]
        carried = [wrench for wrench, _ in columns]
        rows = [*zip(*(along(link.partials, wrench) for wrench in carried), strict=True)]
        rows += [*zip(*(modal for _, modal in columns), strict=True)]
        blocks[link.name, link.name] = [list(row) for row in rows]
        here = link
        for inboard in tree.ancestors(link):
            moved = [configuration.on_parent(here, wrench) for wrench in carried]
            carried = [wrench for wrench, _ in moved]
            modes = len(configuration.modal(inboard.name, configuration.zero))
            entries = [[*along(inboard.partials, w), *(on_modes or [0.0] * modes)] for w, on_modes in moved]
            blocks[link.name, inboard.name] = entries
            blocks[inboard.name, link.name] = [list(column) for column in zip(*entries, strict=True)]
            here = inboard
    return tree.gather_symmetric({names: block for names, block in blocks.items() if block})
