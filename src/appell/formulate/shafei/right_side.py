"""Steps 3 to 5 of the Appendix: the right-hand side ℜ of a branch, forces of gravity and velocity.

    ωᵢ = ⁱRᵢ₋₁ ωᵢ₋₁ + x₃ q̇ᵢ          ω̇ᵥ,ᵢ = ⁱRᵢ₋₁ (ω~ᵢ₋₁ ⁱ⁻¹Rᵢ x₃ q̇ᵢ + ω̇ᵥ,ᵢ₋₁)                                (step 3)
    T¨ᵥ,ᵢ = T^¨ᵥ,ᵢ₋₁ Aᵢ + 2 T^˙ᵢ₋₁ Ȧᵢ + T^ᵢ₋₁ U₂ q̇ᵢ²                                                                (30)

    pⱼ = cⱼ + Eⱼ Aⱼ₊₁ pⱼ₊₁           Qⱼ = B₁ T¨ᵥᵀ + Eⱼ Aⱼ₊₁ Qⱼ₊₁
    tⱼ = B₂ ω̇ᵥ + ω × B₂ ω            χⱼ = tⱼ + ʲRⱼ₊₁ χⱼ₊₁                                                       (step 4)

    ℜ_q = gᵀ T^ⱼ₋₁ U₁ pⱼ - 2 Tr{T^ⱼ₋₁ U₁ Qⱼ} - x₃·χⱼ
    ℜ_X = gᵀ U₃ A₁ p₁ - 2 Tr{U₃ A₁ Q₁}                                                                         (step 5)

Put right: the paper's tⱼ lacks ω × B₂ ω, which planar motion does not show; ℜ_X lacks A₁ in its trace, and so does not
suit its own (42). The Appendix uses T¨ᵥ without saying how it is made; (30) is summed here as a recursion. Torques are
not part of it: ℜ is what the branch needs at τ = 0, with the other sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import skew
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.homogeneous import NOTHING, Mat4
from appell.formulate.shafei.chain import Chain, rate, spin, swing
from appell.formulate.shafei.compound import Compound


@dataclass(frozen=True)
class Outboard:
    """Of a link and all outboard of it: first moments p, Q of the 4x4 matrices and χ of the 3x3 ones."""

    p: Vector
    Q: Mat4
    chi: Vec3


def right_side(chain: Chain, compound: Compound, outboard: Sequence[Outboard]) -> dict[str, list[Scalar]]:
    """ℜ of every joint, and of every slide of the base, step 5."""
    found: dict[str, list[Scalar]] = {}
    for j, (link, own) in enumerate(zip(chain.links, outboard, strict=True)):
        left = [compound.end(j) @ U for U in link.U1]
        found[link.name] = [
            _force(chain.gravity, L, own) - axis.dot(own.chi) for L, axis in zip(left, link.axes, strict=True)
        ]
    for name, U in zip(chain.base, chain.U3, strict=True):
        found[name] = [_force(chain.gravity, U @ compound.A(1), outboard[0])]
    return found


def spins(chain: Chain, compound: Compound) -> list[tuple[Vec3, Vec3]]:
    """ω and ω̇ᵥ of every link, step 3."""
    found = [(spin(chain.links[0]), ZERO)]
    for i, link in enumerate(chain.links[1:], start=2):
        (omega, alpha), turn = found[-1], spin(link)
        out, back = compound.R(i - 1, i), compound.R(i, i - 1)
        found.append((back @ omega + turn, back @ (skew(omega) @ (out @ turn) + alpha)))
    return found


def velocity_gains(chain: Chain, compound: Compound) -> list[Mat4]:
    """T¨ᵥ of every link, (30). The base slides evenly, which no acceleration shows."""
    found = []
    rates, gains = NOTHING, NOTHING  # T^˙ and T^¨ᵥ of the link before
    for i, link in enumerate(chain.links, start=1):
        before, own = compound.end(i - 1), rate(link)
        found.append(gains @ link.A + 2.0 * (rates @ own) + before @ swing(link))
        if i < len(chain.links):
            rates, gains = (rates @ link.A + before @ own) @ compound.E(i), found[-1] @ compound.E(i)
    return found


def outboard_terms(
    chain: Chain, compound: Compound, turning: Sequence[tuple[Vec3, Vec3]], gains: Sequence[Mat4]
) -> list[Outboard]:
    """p, Q and χ of every link, step 4."""
    found: list[Outboard] = []
    for j in range(len(chain.links), 0, -1):
        link, (omega, alpha) = chain.links[j - 1], turning[j - 1]
        p, Q = link.c, link.B1 @ gains[j - 1].T
        chi = link.B2 @ alpha + skew(omega) @ (link.B2 @ omega)
        if found:
            next_one, step = found[-1], compound.step(j)
            p = tuple(x + y for x, y in zip(p, step.apply(next_one.p), strict=True))
            Q, chi = Q + step @ next_one.Q, chi + compound.R(j, j + 1) @ next_one.chi
        found.append(Outboard(p, Q, chi))
    return found[::-1]


def _force(g: Vector, left: Mat4, own: Outboard) -> Scalar:
    """gᵀ L p - 2 Tr{L Q}."""
    weight = sum((x * y for x, y in zip(g, left.apply(own.p), strict=True)), start=0.0)
    return weight - 2.0 * left.trace_with(own.Q.T)
