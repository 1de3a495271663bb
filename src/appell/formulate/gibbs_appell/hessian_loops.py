"""The inertia matrix of a chain by the loops that Provenzano and Mata print (GAH).

With M, φ, ψ the mass, first moment and rotational inertia about O_i of all links from i outward:

    M_i = m_i + M_{i+1}          γ_i = m_i c_i + M_{i+1} s_{i+1}          E_i = I_O,i - M_{i+1} s~ s~                (1)
    φ_i = γ_i + R φ_{i+1}        ψ_i = E_i - s~ (Rφ_{i+1})~ - (s~ (Rφ_{i+1})~)ᵀ + R ψ_{i+1} Rᵀ                       (2)

    z_{k,j} = Rᵀ z_{k,j-1}       the axis of joint k in frame j                                                     (3)
    s_{k,j} = s_{k,k+1} + s_{k+1,j}, each s_{k,k+1} rotated to frame j                                              (4)

    both revolute        M_jk = z_kᵀ [ ψ_j - s_{k,j}~ φ_j~ ] z_j         both prismatic      M_jk = M_j z_k·z_j
    only k revolute      M_jk = (z_k × (M_j s_{k,j} + φ_j))·z_j          only j revolute     M_jk = z_k·(z_j × φ_j)  (5)

For revolute joints (1) is constant and costs nothing at run time. Cost O(n²). Provenzano et al., eqs. 5-20; Mata et
al. 2002, §4.2, with the misprints in eqs. 14 and 22 corrected.
"""

from __future__ import annotations

from appell.algebra.matrix import IDENTITY, Mat3, outer
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.recursion import link_transforms
from appell.formulate.tree import Tree


def mass_matrix(tree: Tree, q: Vector) -> list[list[Scalar]]:
    """M(q) of a chain of revolute and prismatic joints."""
    transforms, links = link_transforms(tree, q), tree.links
    n = len(links)
    R, s = [transforms[link.name].R for link in links], [transforms[link.name].s for link in links]

    mass, phi, psi = [0.0] * n, [ZERO] * n, [IDENTITY] * n
    for i in reversed(range(n)):
        body = links[i].inertia
        mass[i], phi[i], psi[i] = body.mass, body.first, body.rotational
        if i + 1 < n:
            rotated, offset = R[i + 1] @ phi[i + 1], s[i + 1]
            constant = psi[i] + mass[i + 1] * (offset.dot(offset) * IDENTITY - outer(offset, offset))  # (1)
            mass[i] = mass[i] + mass[i + 1]
            phi[i] = (phi[i] + mass[i + 1] * offset) + rotated  # (2)
            psi[i] = constant + _shifted(offset, rotated) + R[i + 1].conjugate(psi[i + 1])

    blocks: dict[tuple[str, str], list[list[Scalar]]] = {}
    axes: list[tuple[Vec3, Vec3]] = []  # angular and linear axis of every joint inboard, in frame j
    spans: list[Vec3] = []  # s_{k,k+1} of the same joints
    for j, link in enumerate(links):
        axes = [(R[j].T @ b, R[j].T @ e) for b, e in axes] + [
            (link.partials[0].angular, link.partials[0].linear)
        ]  # (3)
        if j > 0:
            spans = [R[j].T @ span for span in (*spans, s[j])]
        b_j, e_j = axes[j]
        distance = ZERO
        for k in range(j, -1, -1):
            b, e = axes[k]
            distance = spans[k] + distance if k < j else ZERO  # (4)
            both_revolute = b.dot(psi[j] @ b_j - distance.cross(phi[j].cross(b_j)))
            k_revolute = b.cross(mass[j] * distance + phi[j]).dot(e_j)
            entry = both_revolute + k_revolute + e.dot(b_j.cross(phi[j])) + mass[j] * e.dot(e_j)  # (5)
            blocks[link.name, links[k].name] = blocks[links[k].name, link.name] = [[entry]]
    return tree.gather_symmetric(blocks)


def _shifted(s: Vec3, phi: Vec3) -> Mat3:
    """-s~ φ~ - (s~ φ~)ᵀ = 2 s·φ 1 - s φᵀ - φ sᵀ, every entry computed once."""
    xx, yy, zz = s.x * phi.x, s.y * phi.y, s.z * phi.z
    x, y, z = yy + zz, xx + zz, xx + yy
    return Mat3.symmetric(
        x + x, -(s.x * phi.y + s.y * phi.x), -(s.x * phi.z + s.z * phi.x), y + y, -(s.y * phi.z + s.z * phi.y), z + z
    )
