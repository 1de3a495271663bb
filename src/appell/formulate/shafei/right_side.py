"""Steps 3 to 5 of the Appendix: the right-hand side ℜ of a branch, forces of gravity and velocity.

    ωᵢ = ⁱRᵢ₋₁ ωᵢ₋₁ + x₃ q̇ᵢ          ω̇ᵥ,ᵢ = ⁱRᵢ₋₁ (ω~ᵢ₋₁ ⁱ⁻¹Rᵢ x₃ q̇ᵢ + ω̇ᵥ,ᵢ₋₁)                                (step 3)
    T¨ᵥ,ᵢ = T^¨ᵥ,ᵢ₋₁ Aᵢ + 2 T^˙ᵢ₋₁ Ȧᵢ + T^ᵢ₋₁ U₂ q̇ᵢ²                                                                (30)

    pⱼ = cⱼ + Eⱼ Aⱼ₊₁ pⱼ₊₁           Qⱼ = B₁ T¨ᵥᵀ + Eⱼ Aⱼ₊₁ Qⱼ₊₁
    tⱼ = B₂ ω̇ᵥ + ω × B₂ ω            χⱼ = tⱼ + ʲRⱼ₊₁ χⱼ₊₁                                                        (step 4)

    ℜ_q = gᵀ T^ⱼ₋₁ U₁ pⱼ - 2 Tr{T^ⱼ₋₁ U₁ Qⱼ} - x₃·χⱼ
    ℜ_X = gᵀ U₃ A₁ p₁ - 2 Tr{U₃ A₁ Q₁}                                                                           (step 5)

Put right: the paper's tⱼ lacks ω × B₂ ω, which planar motion does not show; ℜ_X lacks A₁ in its trace, and so does not
suit its own (42). The Appendix uses T¨ᵥ without saying how it is made; (30) is summed here as a recursion. Torques are
not part of it: ℜ is what the branch needs at τ = 0, with the other sign.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.matrix import skew
from appell.algebra.scalar import Scalar, Vector
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.homogeneous import NOTHING, Mat4
from appell.formulate.shafei.chain import Chain, rate, spin, swing
from appell.formulate.shafei.compound import Compound


def right_side(chain: Chain, compound: Compound) -> dict[str, list[Scalar]]:
    """ℜ of every joint, and of every slide of the base."""
    n, g = len(chain.links), chain.gravity
    omega, alpha = spins(chain, compound)
    gains = velocity_gains(chain, compound)

    found: dict[str, list[Scalar]] = {}
    p, Q, chi = (), NOTHING, ZERO
    for j in range(n, 0, -1):
        link = chain.links[j - 1]
        own = link.B2 @ alpha[j - 1] + skew(omega[j - 1]) @ (link.B2 @ omega[j - 1])
        last = j == n
        p = link.c if last else _plus(link.c, compound.step(j).apply(p))  # step 4
        Q = link.B1 @ gains[j - 1].T if last else link.B1 @ gains[j - 1].T + compound.step(j) @ Q
        chi = own if last else own + compound.R(j, j + 1) @ chi
        left = [compound.end(j - 1) @ U for U in link.U1]
        found[link.name] = [_force(g, L, p, Q) - axis.dot(chi) for L, axis in zip(left, link.axes, strict=True)]
    for name, U in zip(chain.base, chain.U3, strict=True):
        left = U @ compound.A(1)
        found[name] = [_force(g, left, p, Q)]
    return found


def spins(chain: Chain, compound: Compound) -> tuple[list[Vec3], list[Vec3]]:
    """ω and ω̇ᵥ of every link, step 3."""
    omega, alpha = [spin(chain.links[0])], [ZERO]
    for i, link in enumerate(chain.links[1:], start=2):
        out, back, turn = compound.R(i - 1, i), compound.R(i, i - 1), spin(link)
        alpha.append(back @ (skew(omega[-1]) @ (out @ turn) + alpha[-1]))
        omega.append(back @ omega[-1] + turn)
    return omega, alpha


def velocity_gains(chain: Chain, compound: Compound) -> list[Mat4]:
    """T¨ᵥ of every link, (30). The base slides evenly, which no acceleration shows."""
    found = []
    rates, gains = NOTHING, NOTHING  # T^˙ and T^¨ᵥ of the link before
    for i, link in enumerate(chain.links, start=1):
        before, own = compound.end(i - 1), rate(link)
        gain = gains @ link.A + 2.0 * (rates @ own) + before @ swing(link)
        found.append(gain)
        if i < len(chain.links):
            rates, gains = (rates @ link.A + before @ own) @ compound.E(i), gain @ compound.E(i)
    return found


def _force(g: Vector, left: Mat4, p: Vector, Q: Mat4) -> Scalar:
    """gᵀ L p - 2 Tr{L Q}."""
    return _dot(g, left.apply(p)) - 2.0 * left.trace_with(Q.T)


def _dot(a: Vector, b: Vector) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), start=0.0)


def _plus(a: Sequence[Scalar], b: Sequence[Scalar]) -> tuple[Scalar, ...]:
    return tuple(x + y for x, y in zip(a, b, strict=True))
