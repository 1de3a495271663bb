"""Steps 6 and 7 of the Appendix: the inertia matrix of a branch.

    ʲF~ⱼ = B₁ⱼ + ʲF~ⱼ₊₁ (Eⱼ Aⱼ₊₁)ᵀ        ⁱF~ⱼ = Eᵢ Aᵢ₊₁ ⁱ⁺¹F~ⱼ, i < j        ʲF₀ = ʲF~₁ A₁ᵀ        ⁰F^₀ = A₁ ¹F~₁ A₁ᵀ
    ᵏΠₖ = B₂ₖ + ᵏΠₖ₊₁ ᵏ⁺¹Rₖ              ʲΠₖ = ʲRⱼ₊₁ ʲ⁺¹Πₖ, j < k                                               (step 6)

    A   I_qq = 2 Tr{T^ⱼ₋₁ U₁ⱼ ʲF~ₖ U₁ₖᵀ T^ₖ₋₁ᵀ} + x₃ᵀ ʲΠₖ x₃
    B   I_qX = 2 Tr{T^ⱼ₋₁ U₁ⱼ ʲF₀ U₃ᵀ T₀ᵀ}
    D   I_XX = 2 Tr{T₀ U₃ ⁰F^₀ U₃ᵀ T₀ᵀ}                                                                        (step 7)

with the letters of the paper's Figure 2; its block C is Bᵀ, and not made again. The two cases in which step
7 leaves out T^₀ are those of a base that does not turn, for which T^₀ U₁ is U₁.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar
from appell.formulate.homogeneous import Mat4
from appell.formulate.shafei.chain import Chain
from appell.formulate.shafei.compound import Compound

Blocks = dict[tuple[str, str], list[list[Scalar]]]
Lines = dict[tuple[int, int], Mat4]
Turns = dict[tuple[int, int], Mat3]


def inertia(chain: Chain, compound: Compound, F: Lines, Pi: Turns) -> Blocks:
    """I_f of a branch, in blocks of two joints or slides, each with its mirror image, step 7."""
    links, n = chain.links, len(chain.links)
    left = [[compound.end(j) @ U for U in link.U1] for j, link in enumerate(links)]
    blocks: Blocks = {}
    for j in range(1, n + 1):
        for k in range(j, n + 1):
            moved = [L @ F[j, k] for L in left[j - 1]]
            turned = [[x.dot(Pi[j, k] @ y) for y in links[k - 1].axes] for x in links[j - 1].axes]
            _put(blocks, links[j - 1].name, links[k - 1].name, _traces(moved, left[k - 1], turned))
    slides = [chain.A0 @ U for U in chain.U3]
    A1 = compound.A(1)
    for j in range(1, n + 1):
        to_base = F[1, j].T @ A1.T  # ʲF₀
        for name, slide in zip(chain.base, slides, strict=True):
            _put(blocks, links[j - 1].name, name, _traces([L @ to_base for L in left[j - 1]], [slide]))
    whole = A1 @ F[1, 1] @ A1.T  # ⁰F^₀
    for j, (name, one) in enumerate(zip(chain.base, slides, strict=True)):
        for other, two in zip(chain.base[j:], slides[j:], strict=True):
            _put(blocks, name, other, _traces([one @ whole], [two]))
    return blocks


def gathered_lines(chain: Chain, compound: Compound) -> Lines:
    """ⁱF~ⱼ for i ≤ j, step 6; the others are their transposes."""
    return _gathered([link.B1 for link in chain.links], compound.step)


def gathered_turns(chain: Chain, compound: Compound) -> Turns:
    """ʲΠₖ for j ≤ k, step 6."""
    return _gathered([link.B2 for link in chain.links], lambda j: compound.R(j, j + 1))


def _gathered(own: Sequence[Any], way: Callable[[int], Any]) -> dict[tuple[int, int], Any]:
    """The recursion of step 6, over matrices of either size: X of `way` leads from a link to the next."""
    n = len(own)
    found: dict[tuple[int, int], Any] = {}
    for j in range(n, 0, -1):
        found[j, j] = own[j - 1] if j == n else own[j - 1] + found[j, j + 1] @ way(j).T
        for i in range(j - 1, 0, -1):
            found[i, j] = way(i) @ found[i + 1, j]
    return found


def _traces(moved: list[Mat4], left: list[Mat4], turned: list[list[Scalar]] | None = None) -> list[list[Scalar]]:
    """2 Tr{M Lᵀ} of every two matrices, plus what turns."""
    lines = [[2.0 * m.trace_with(L) for L in left] for m in moved]
    if turned is None:
        return lines
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(lines, turned, strict=True)]


def _put(blocks: Blocks, one: str, other: str, block: list[list[Scalar]]) -> None:
    blocks[one, other] = block
    if one != other:
        blocks[other, one] = [list(row) for row in zip(*block, strict=True)]
