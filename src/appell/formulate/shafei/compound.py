"""Steps 1 and 2 of the Appendix: compound transformations and rotations between any two links of a branch.

    ⁱTⱼ = ⁱTⱼ₋₁ Eⱼ₋₁ Aⱼ,  ⁱTᵢ₊₁ = Aᵢ₊₁,  ⁱTᵢ = 1              T~: ⁱT~ⱼ = Eᵢ ⁱTⱼ        Tᵢ = T₀ ⁰T~ᵢ,  T₀ = A₀
    T^: T^ᵢ = Tᵢ Eᵢ          ʲRₖ = ʲRₖ₋₁ ᵏ⁻¹Rₖ,  ᵏRⱼ = ʲRₖᵀ,  ⁱ⁻¹Rᵢ the rotation of Eᵢ₋₁ Aᵢ

Link i of the paper is number i here, 0 is the reference. They are the paper's definitions, computed when asked for: the
later steps ask for Tᵢ, T^ᵢ and neighbouring R only, while the Appendix makes all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from appell.algebra.matrix import IDENTITY as UNTURNED
from appell.algebra.matrix import Mat3
from appell.formulate.homogeneous import IDENTITY, Mat4
from appell.formulate.shafei.chain import Chain


@dataclass(frozen=True)
class Compound:
    """T, T~, T^ and R of a branch, each made once."""

    chain: Chain
    _made: dict = field(default_factory=dict, repr=False, compare=False)

    def E(self, i: int) -> Mat4:
        """From link i to the joint after it."""
        return self.chain.links[i].E

    def A(self, i: int) -> Mat4:
        """Of joint i, from 1."""
        return self.chain.links[i - 1].A

    def between(self, i: int, j: int) -> Mat4:
        """ⁱTⱼ."""
        if i == j:
            return IDENTITY
        if j == i + 1:
            return self.A(j)
        return self._once(("T", i, j), lambda: self.between(i, j - 1) @ self.E(j - 1) @ self.A(j))

    def way(self, i: int, j: int) -> Mat4:
        """ⁱT~ⱼ: where link j stands in link i."""
        return IDENTITY if i == j else self._once(("T~", i, j), lambda: self.E(i) @ self.between(i, j))

    def step(self, i: int) -> Mat4:
        """Eᵢ Aᵢ₊₁, which is ⁱT~ᵢ₊₁."""
        return self.way(i, i + 1)

    def T(self, i: int) -> Mat4:
        """Where link i stands in the world."""
        return self.chain.A0 if i == 0 else self._once(("T", i), lambda: self.chain.A0 @ self.way(0, i))

    def end(self, i: int) -> Mat4:
        """T^ᵢ: the end of link i, where the next joint is."""
        return self._once(("T^", i), lambda: self.T(i) @ self.E(i))

    def R(self, j: int, k: int) -> Mat3:
        """ʲRₖ turns coordinates of link k into those of link j."""
        if j == k:
            return UNTURNED
        if k < j:
            return self.R(k, j).T
        if k == j + 1:
            return self._once(("R", j, k), lambda: self.step(j).rotation)
        return self._once(("R", j, k), lambda: self.R(j, k - 1) @ self.R(k - 1, k))

    def _once(self, key, make):
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]
