"""Dynamics branch by branch with 3x3 and 4x4 matrices, as printed in the Appendix of Shafei, Shafei 2018.

**Branches.** A tree is divided into branches: each path from the ground to a tip is a chain. A link that several
branches share has its inertia in the first of them and is massless in the others. Forces and inertia matrix are linear
in the inertias, so that the sums over the branches are those of the tree.

**Matrices of one branch** (equation numbers of the paper):

    A   joint i, and E   from link i - 1 to it: the pose of the link in the one before it is E A               (4) (5)
    U₁ = ∂A/∂q           U₂ = ∂²A/∂q²           Ȧ = U₁ q̇           Ä = U₁ q̈ + U₂ q̇²                            (7) (8)
    E₀(X)                U₃ = ∂E₀/∂X, constant: the base translates and does not rotate                        (10) (11)
    B₁ = ½ ∫ r rᵀ dm, r = (η, 0, 0, 1) along the link          B₂ = ∫ J dη, the remaining inertia              (15) (16)
    c = ∫ r dm                                                                                                     (20)

The paper has revolute joints on straight links. Here any joint is supported: a joint of several v has one U₁ per v and
one U₂ per pair, with A ξ and A ξ ξ for its derivatives, and E may rotate. For a body that is not a straight rod, the
4x4 matrix B₁ contains the mass, the first moment and ∫ x² dm, and the 3x3 matrix B₂ the remaining inertia. Prismatic
joints of massless links at the start of a branch are its base.

**Steps 1 and 2 of the Appendix:** compound transformations and rotations between any two links of a branch.

    ⁱTⱼ = ⁱTⱼ₋₁ Eⱼ₋₁ Aⱼ,  ⁱTᵢ₊₁ = Aᵢ₊₁,  ⁱTᵢ = 1              T~: ⁱT~ⱼ = Eᵢ ⁱTⱼ        Tᵢ = T₀ ⁰T~ᵢ,  T₀ = A₀
    T^: T^ᵢ = Tᵢ Eᵢ          ʲRₖ = ʲRₖ₋₁ ᵏ⁻¹Rₖ,  ᵏRⱼ = ʲRₖᵀ,  ⁱ⁻¹Rᵢ the rotation of Eᵢ₋₁ Aᵢ

Link i of the paper has index i here, 0 is the reference. The definitions are those of the paper, computed on demand:
the later steps need only Tᵢ, T^ᵢ and neighbouring R, while the Appendix computes all pairs.

**Steps 3 to 5 of the Appendix:** the right-hand side ℜ of a branch, forces of gravity and velocity.

    ωᵢ = ⁱRᵢ₋₁ ωᵢ₋₁ + x₃ q̇ᵢ          ω̇ᵥ,ᵢ = ⁱRᵢ₋₁ (ω~ᵢ₋₁ ⁱ⁻¹Rᵢ x₃ q̇ᵢ + ω̇ᵥ,ᵢ₋₁)                                (step 3)
    T¨ᵥ,ᵢ = T^¨ᵥ,ᵢ₋₁ Aᵢ + 2 T^˙ᵢ₋₁ Ȧᵢ + T^ᵢ₋₁ U₂ q̇ᵢ²                                                                (30)

    pⱼ = cⱼ + Eⱼ Aⱼ₊₁ pⱼ₊₁           Qⱼ = B₁ T¨ᵥᵀ + Eⱼ Aⱼ₊₁ Qⱼ₊₁
    tⱼ = B₂ ω̇ᵥ + ω × B₂ ω            χⱼ = tⱼ + ʲRⱼ₊₁ χⱼ₊₁                                                       (step 4)

    ℜ_q = gᵀ T^ⱼ₋₁ U₁ pⱼ - 2 Tr{T^ⱼ₋₁ U₁ Qⱼ} - x₃·χⱼ
    ℜ_X = gᵀ U₃ A₁ p₁ - 2 Tr{U₃ A₁ Q₁}                                                                         (step 5)

Correction: the paper's tⱼ lacks ω × B₂ ω, which vanishes in planar motion. The printed trace of ℜ_X omits A₁, unlike
(42); this has no effect, because U₃ A₁ = U₃. The Appendix uses T¨ᵥ without a formula; here (30) is evaluated as a
recursion. ℜ does not include torques: it is minus the force that the branch requires at zero acceleration.

**Steps 6 and 7 of the Appendix:** the inertia matrix of a branch.

    ʲF~ⱼ = B₁ⱼ + ʲF~ⱼ₊₁ (Eⱼ Aⱼ₊₁)ᵀ        ⁱF~ⱼ = Eᵢ Aᵢ₊₁ ⁱ⁺¹F~ⱼ, i < j        ʲF₀ = ʲF~₁ A₁ᵀ        ⁰F^₀ = A₁ ¹F~₁ A₁ᵀ
    ᵏΠₖ = B₂ₖ + ᵏΠₖ₊₁ ᵏ⁺¹Rₖ              ʲΠₖ = ʲRⱼ₊₁ ʲ⁺¹Πₖ, j < k                                               (step 6)

    A   I_qq = 2 Tr{T^ⱼ₋₁ U₁ⱼ ʲF~ₖ U₁ₖᵀ T^ₖ₋₁ᵀ} + x₃ᵀ ʲΠₖ x₃
    B   I_qX = 2 Tr{T^ⱼ₋₁ U₁ⱼ ʲF₀ U₃ᵀ T₀ᵀ}
    D   I_XX = 2 Tr{T₀ U₃ ⁰F^₀ U₃ᵀ T₀ᵀ}                                                                        (step 7)

with the letters of the paper's Figure 2; its block C is Bᵀ and is not computed. The two cases in which step 7 omits T^₀
are those of a base that does not rotate, for which T^₀ U₁ is U₁.

**Assembly.** The equations of a tree, I_f(θ) θ̈ = ℜ(θ, θ̇) + τ, (25), follow from those of its branches. Every branch has
an inertia matrix (Figure 2) and a right-hand side (Figure 3) in its own coordinates: its joints in order, then the
translations of the base. They are added to those of the tree at the coordinates of the branch (Figures 5 to 8):

    I_f = Σ_branches I_m          ℜ = Σ_branches ℜ_m                                                               (1)

Inverse dynamics is τ = I_f θ̈ - ℜ. Cost O(n_b n_m²), more than that of one pass over the tree, because shared links are
computed in every branch. Shafei, Shafei 2018, Appendix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from appell.algebra.matrix import IDENTITY as IDENTITY_3X3
from appell.algebra.matrix import ZEROS, Mat3, skew
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Matrix, Scalar, Vector, is_number
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.homogeneous import IDENTITY, ZEROS_4X4, Mat4, twist
from appell.formulate.recursion import ExternalWrenches, combine, link_transforms, minus_external
from appell.formulate.tree import Tree, TreeLink
from appell.model.body import Inertia, rotational_inertia
from appell.model.joints import Prismatic


def branches(tree: Tree) -> list[Tree]:
    """Branches of a tree, with the inertia of each link in the first branch that contains it."""
    parents = {link.parent for link in tree.links}
    chains, seen = [], set()
    for tip in tree.links:
        if tip.name in parents:
            continue
        path = [tip, *tree.ancestors(tip)][::-1]
        links = tuple(replace(link, inertia=Inertia()) if link.name in seen else link for link in path)
        seen |= {link.name for link in path}
        chains.append(replace(tree, links=links))
    return chains


@dataclass(frozen=True)
class ChainLink:
    """Matrices of one link: A with its derivatives, E before it, B₁, B₂ and c; axes of ω and rates v of its joint."""

    name: str
    E: Mat4
    A: Mat4
    U1: Sequence[Mat4]
    U2: Sequence[Sequence[Mat4]]
    B1: Mat4
    B2: Mat3
    c: Vector
    axes: Sequence[Vec3]
    v: Vector


@dataclass(frozen=True)
class Chain:
    """Matrices of one branch: its links, the links of its base with U₃ of each, and gravity as (g, 0)."""

    links: tuple[ChainLink, ...]
    base: tuple[str, ...]
    U3: tuple[Mat4, ...]
    gravity: Vector
    A0: Mat4 = IDENTITY


def chain(branch: Tree, q: Vector, v: Vector) -> Chain:
    """Matrices of a branch at (q, v)."""
    base = _base(branch)
    pose, U3 = Pose(), []
    for link in base:
        pose = pose @ link.placement
        axis = pose.rotation @ link.partials[0].linear
        U3.append(Mat4.of(ZEROS, axis, ZERO, 0.0))
        pose = pose @ link.joint.motion.pose(branch.position(link, q))
    links: list[ChainLink] = []
    for link in branch.links[len(base) :]:
        E = link.placement if links else pose @ link.placement
        links.append(_chain_link(link, E, branch.position(link, q), branch.velocity(link, v)))
    return Chain(tuple(links), tuple(link.name for link in base), tuple(U3), (*branch.gravity, 0.0))


def _base(branch: Tree) -> list[TreeLink]:
    """Massless links on prismatic joints at the root; never the tip."""
    base: list[TreeLink] = []
    for link in branch.links[:-1]:
        if not isinstance(link.joint.motion, Prismatic) or not _has_no_inertia(link.inertia):
            break
        base.append(link)
    return base


def _has_no_inertia(body: Inertia) -> bool:
    """Whether all parameters of a body are the number 0; False if some are inputs."""
    return all(is_number(x) and x == 0.0 for row in body.pseudo for x in row)


def _chain_link(link: TreeLink, E: Pose, q: Vector, v: Vector) -> ChainLink:
    A = _transformation(link.joint.motion.pose(q))
    xi = [twist(p) for p in link.partials]
    body = link.inertia
    B1, B2 = split(body)
    U1, U2 = [A @ x for x in xi], [[A @ x @ y for y in xi] for x in xi]
    axes = [p.angular for p in link.partials]
    return ChainLink(link.name, _transformation(E), A, U1, U2, B1, B2, (*body.first, body.mass), axes, v)


def split(body: Inertia) -> tuple[Mat4, Mat3]:
    """B₁ and B₂ of a body: a rod along x, and the remaining inertia."""
    xx, xy, xz, yy, yz, zz = body.second.upper
    rod, rest = Mat3.symmetric(xx, 0.0, 0.0, 0.0, 0.0, 0.0), Mat3.symmetric(0.0, xy, xz, yy, yz, zz)
    return 0.5 * Mat4.of(rod, body.first, body.first, body.mass), rotational_inertia(rest)


def _transformation(pose: Pose) -> Mat4:
    return Mat4.of(pose.rotation, pose.translation, ZERO, 1.0)


def rate(link: ChainLink) -> Mat4:
    """Ȧ, (7)."""
    return _sum([x * U for x, U in zip(link.v, link.U1, strict=True)])


def velocity_term(link: ChainLink) -> Mat4:
    """Part of Ä that does not depend on accelerations, (8)."""
    return _sum([(x * y) * link.U2[k][m] for k, x in enumerate(link.v) for m, y in enumerate(link.v)])


def spin(link: ChainLink) -> Vec3:
    """Angular velocity of the joint, x₃ q̇."""
    return combine(link.axes, link.v)


def _sum(terms: Sequence[Mat4]) -> Mat4:
    return reduce(Mat4.__add__, terms)


@dataclass(frozen=True)
class Compound:
    """T, T~, T^ and R of a branch, each computed once on demand."""

    chain: Chain
    _computed: dict = field(default_factory=dict, repr=False, compare=False)

    def E(self, i: int) -> Mat4:
        """E from link i to the joint after it."""
        return self.chain.links[i].E

    def A(self, i: int) -> Mat4:
        """A of joint i, from 1."""
        return self.chain.links[i - 1].A

    def between(self, i: int, j: int) -> Mat4:
        """ⁱTⱼ."""
        if i == j:
            return IDENTITY
        if j == i + 1:
            return self.A(j)
        return self._once(("T", i, j), lambda: self.between(i, j - 1) @ self.E(j - 1) @ self.A(j))

    def transform(self, i: int, j: int) -> Mat4:
        """ⁱT~ⱼ: pose of link j in link i."""
        return IDENTITY if i == j else self._once(("T~", i, j), lambda: self.E(i) @ self.between(i, j))

    def next_transform(self, i: int) -> Mat4:
        """Eᵢ Aᵢ₊₁, which is ⁱT~ᵢ₊₁."""
        return self.transform(i, i + 1)

    def T(self, i: int) -> Mat4:
        """Tᵢ: pose of link i in the world."""
        return self.chain.A0 if i == 0 else self._once(("T", i), lambda: self.chain.A0 @ self.transform(0, i))

    def end(self, i: int) -> Mat4:
        """T^ᵢ: pose of the end of link i, where the next joint is."""
        return self._once(("T^", i), lambda: self.T(i) @ self.E(i))

    def R(self, j: int, k: int) -> Mat3:
        """ʲRₖ: rotation from coordinates of link k to those of link j."""
        if j == k:
            return IDENTITY_3X3
        if k < j:
            return self.R(k, j).T
        if k == j + 1:
            return self._once(("R", j, k), lambda: self.next_transform(j).rotation)
        return self._once(("R", j, k), lambda: self.R(j, k - 1) @ self.R(k - 1, k))

    def _once(self, key, compute):
        if key not in self._computed:
            self._computed[key] = compute()
        return self._computed[key]


@dataclass(frozen=True)
class Outboard:
    """Sums over a link and all links outboard of it: first moments p, Q of the 4x4 matrices and χ of the 3x3 ones."""

    p: Vector
    Q: Mat4
    chi: Vec3


def right_side(chain: Chain, compound: Compound, outboard: Sequence[Outboard]) -> dict[str, list[Scalar]]:
    """ℜ of every joint, and of every translation of the base, step 5."""
    forces: dict[str, list[Scalar]] = {}
    for j, (link, sums) in enumerate(zip(chain.links, outboard, strict=True)):
        left = [compound.end(j) @ U for U in link.U1]
        forces[link.name] = [
            _force(chain.gravity, L, sums) - axis.dot(sums.chi) for L, axis in zip(left, link.axes, strict=True)
        ]
    for name, U in zip(chain.base, chain.U3, strict=True):
        forces[name] = [_force(chain.gravity, U @ compound.A(1), outboard[0])]
    return forces


def spins(chain: Chain, compound: Compound) -> list[tuple[Vec3, Vec3]]:
    """ω and ω̇ᵥ of every link, step 3."""
    result = [(spin(chain.links[0]), ZERO)]
    for i, link in enumerate(chain.links[1:], start=2):
        (omega, alpha), joint_spin = result[-1], spin(link)
        outward, inward = compound.R(i - 1, i), compound.R(i, i - 1)
        result.append((inward @ omega + joint_spin, inward @ (skew(omega) @ (outward @ joint_spin) + alpha)))
    return result


def velocity_second_rates(chain: Chain, compound: Compound) -> list[Mat4]:
    """T¨ᵥ of every link, (30). A constant velocity of the base causes no acceleration."""
    result = []
    rates, second_rates = ZEROS_4X4, ZEROS_4X4  # T^˙ and T^¨ᵥ of the link before
    for i, link in enumerate(chain.links, start=1):
        before, A_rate = compound.end(i - 1), rate(link)
        result.append(second_rates @ link.A + 2.0 * (rates @ A_rate) + before @ velocity_term(link))
        if i < len(chain.links):
            rates, second_rates = (rates @ link.A + before @ A_rate) @ compound.E(i), result[-1] @ compound.E(i)
    return result


def outboard_terms(
    chain: Chain, compound: Compound, turning: Sequence[tuple[Vec3, Vec3]], second_rates: Sequence[Mat4]
) -> list[Outboard]:
    """p, Q and χ of every link, step 4; `turning` are ω and ω̇ᵥ, `second_rates` are T¨ᵥ of every link."""
    sums: list[Outboard] = []
    for j in range(len(chain.links), 0, -1):
        link, (omega, alpha) = chain.links[j - 1], turning[j - 1]
        p, Q = link.c, link.B1 @ second_rates[j - 1].T
        chi = link.B2 @ alpha + skew(omega) @ (link.B2 @ omega)
        if sums:
            next_one, transform = sums[-1], compound.next_transform(j)
            p = tuple(x + y for x, y in zip(p, transform.apply(next_one.p), strict=True))
            Q, chi = Q + transform @ next_one.Q, chi + compound.R(j, j + 1) @ next_one.chi
        sums.append(Outboard(p, Q, chi))
    return sums[::-1]


def _force(g: Vector, left: Mat4, sums: Outboard) -> Scalar:
    """gᵀ L p - 2 Tr{L Q}."""
    weight = sum((x * y for x, y in zip(g, left.apply(sums.p), strict=True)), start=0.0)
    return weight - 2.0 * left.trace_with(sums.Q.T)


Blocks = dict[tuple[str, str], list[list[Scalar]]]
GatheredB1 = dict[tuple[int, int], Mat4]
GatheredB2 = dict[tuple[int, int], Mat3]


def inertia(chain: Chain, compound: Compound, F: GatheredB1, Pi: GatheredB2) -> Blocks:
    """I_f of a branch, in blocks for two joints or translations of the base, each with its transpose, step 7."""
    links, n = chain.links, len(chain.links)
    left = [[compound.end(j) @ U for U in link.U1] for j, link in enumerate(links)]
    blocks: Blocks = {}
    for j in range(1, n + 1):
        for k in range(j, n + 1):
            products = [L @ F[j, k] for L in left[j - 1]]
            rotational = [[x.dot(Pi[j, k] @ y) for y in links[k - 1].axes] for x in links[j - 1].axes]
            _put(blocks, links[j - 1].name, links[k - 1].name, _traces(products, left[k - 1], rotational))
    slides = [chain.A0 @ U for U in chain.U3]
    A1 = compound.A(1)
    for j in range(1, n + 1):
        to_base = F[1, j].T @ A1.T  # ʲF₀
        for name, slide in zip(chain.base, slides, strict=True):
            _put(blocks, links[j - 1].name, name, _traces([L @ to_base for L in left[j - 1]], [slide]))
    total = A1 @ F[1, 1] @ A1.T  # ⁰F^₀
    for j, (name, one) in enumerate(zip(chain.base, slides, strict=True)):
        for other, two in zip(chain.base[j:], slides[j:], strict=True):
            _put(blocks, name, other, _traces([one @ total], [two]))
    return blocks


def gathered_B1(chain: Chain, compound: Compound) -> GatheredB1:
    """ⁱF~ⱼ for i ≤ j, step 6; the others are their transposes."""
    return _gathered([link.B1 for link in chain.links], compound.next_transform)


def gathered_B2(chain: Chain, compound: Compound) -> GatheredB2:
    """ʲΠₖ for j ≤ k, step 6."""
    return _gathered([link.B2 for link in chain.links], lambda j: compound.R(j, j + 1))


def _gathered(matrices: Sequence[Any], transform: Callable[[int], Any]) -> dict[tuple[int, int], Any]:
    """Recursion of step 6 for matrices of either size; `transform(j)` is that from link j + 1 to link j."""
    n = len(matrices)
    sums: dict[tuple[int, int], Any] = {}
    for j in range(n, 0, -1):
        sums[j, j] = matrices[j - 1] if j == n else matrices[j - 1] + sums[j, j + 1] @ transform(j).T
        for i in range(j - 1, 0, -1):
            sums[i, j] = transform(i) @ sums[i + 1, j]
    return sums


def _traces(products: list[Mat4], left: list[Mat4], rotational: list[list[Scalar]] | None = None) -> list[list[Scalar]]:
    """2 Tr{P Lᵀ} for every pair of matrices, plus the rotational terms."""
    traces = [[2.0 * product.trace_with(L) for L in left] for product in products]
    if rotational is None:
        return traces
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(traces, rotational, strict=True)]


def _put(blocks: Blocks, one: str, other: str, block: list[list[Scalar]]) -> None:
    blocks[one, other] = block
    if one != other:
        blocks[other, one] = [list(row) for row in zip(*block, strict=True)]


@dataclass(frozen=True)
class BranchEquations:
    """I_m θ̈_m = ℜ_m of one branch; `order` are the links of its joints, then those of its base."""

    branch: Tree
    order: tuple[str, ...]
    base: tuple[str, ...]
    inertia: Blocks
    right: dict[str, list[Scalar]]

    @property
    def matrix(self) -> Matrix:
        """I_m in the branch's own coordinates, as in Figure 2."""
        rows = []
        for one in self.order:
            for k in range(len(self.right[one])):
                rows.append([x for other in self.order for x in self.inertia[one, other][k]])
        return rows

    @property
    def vector(self) -> list[Scalar]:
        """ℜ_m in the branch's own coordinates, as in Figure 3."""
        return [x for name in self.order for x in self.right[name]]


def branch_equations(tree: Tree, q: Vector, v: Vector) -> list[BranchEquations]:
    """Steps 1 to 7 for every branch."""
    equations = []
    for branch in branches(tree):
        matrices = chain(branch, q, v)
        compound = Compound(matrices)  # steps 1 and 2
        turning, second_rates = spins(matrices, compound), velocity_second_rates(matrices, compound)  # step 3
        outboard = outboard_terms(matrices, compound, turning, second_rates)  # step 4
        F, Pi = gathered_B1(matrices, compound), gathered_B2(matrices, compound)  # step 6
        equations.append(
            BranchEquations(
                branch,
                (*(link.name for link in matrices.links), *matrices.base),
                matrices.base,
                inertia(matrices, compound, F, Pi),  # step 7
                right_side(matrices, compound, outboard),  # step 5
            )
        )
    return equations


def assembled_matrix(tree: Tree, parts: Sequence[BranchEquations]) -> Matrix:
    """I_f, by (1)."""
    matrix: Matrix = [[0.0] * tree.robot.nv for _ in range(tree.robot.nv)]
    for part in parts:
        term = part.branch.gather_matrix(part.inertia)
        matrix = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(matrix, term, strict=True)]
    return matrix


def assembled_vector(tree: Tree, parts: Sequence[BranchEquations]) -> list[Scalar]:
    """ℜ, by (1)."""
    vector: list[Scalar] = [0.0] * tree.robot.nv
    for part in parts:
        vector = [x + y for x, y in zip(vector, part.branch.gather(part.right), strict=True)]
    return vector


def mass_matrix(tree: Tree, q: Vector) -> Matrix:
    """I_f(θ)."""
    return assembled_matrix(tree, branch_equations(tree, q, [0.0] * tree.robot.nv))


def inverse_dynamics(tree: Tree, q: Vector, v: Vector, a: Vector, wrenches: ExternalWrenches = None) -> list[Scalar]:
    """τ(q, v, a) = I_f a - ℜ."""
    parts = branch_equations(tree, q, v)
    tau = [
        sum((x * y for x, y in zip(row, a, strict=True)), start=0.0) - right
        for row, right in zip(assembled_matrix(tree, parts), assembled_vector(tree, parts), strict=True)
    ]
    return minus_external(tree, link_transforms(tree, q), tau, wrenches)
