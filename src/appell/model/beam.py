"""Straight beams along the x axis of their link, as flexible bodies.

A section point (0, y, z) at x is displaced by w(x) + ϑ(x) × (0, y, z). The strain energy is half of

    Euler-Bernoulli    ∫ EI w''²,                       ϑ_z = w_y', ϑ_y = -w_z'                                      (1)
    Timoshenko         ∫ EI ϑ'² + κGA (w' - ϑ)²         w and ϑ independent                                        (2)
    torsion, extension ∫ GJ ϑ_x'²                       ∫ EA w_x'²                                                (3)

Shapes are combinations of polynomials x² P_k(2x/L - 1) with Legendre's P_k (x P_k for (2) and (3)), which are
well-conditioned. The modes are the eigenvectors of lowest frequency of this Ritz problem, scaled so that the tip moves
by one unit; they are those of the clamped beam to rounding errors, or those of the beam with a load at its tip. All
integrals are of polynomials and exact in Gauss quadrature. Second-order shapes are the foreshortening -∫₀ˣ w_j'·w_k'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Legendre

from appell.algebra.scalar import is_number, snap
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, is_finite, value_text
from appell.model.flexible import BodyTerm, FlexibleBody, Node, damping_matrix

EXTRA_POLYNOMIALS = 10  # in the Ritz problem beyond the number of modes; the highest mode is exact to about 1e-10
STATIONS = 16  # points of a beam in pictures
ZERO_TOLERANCE = 1e-13  # integrals below this fraction of the largest of their kind are rounding errors
THEORIES = ("euler-bernoulli", "timoshenko")
SHAPES = ("modes", "polynomials")
STIFFENING = (True, False, "full")
STIFFNESSES = ("EIy", "EIz", "GJ", "EA", "GA")
X = Legendre([0.5, 0.5], domain=[0, 1])


@dataclass(frozen=True)
class Section:
    """Cross-section of a beam: area (m²), second moments ∫y² and ∫z² and torsion constant (m⁴), shear factor.

    >>> import appell as ap
    >>> ap.Section.tube(0.02, 0.018).area.__round__(8)
    0.00023876
    """

    area: float
    yy: float
    zz: float
    torsion: float
    shear_factor: float = 5.0 / 6.0

    def __post_init__(self) -> None:
        _check_positive("a section", **vars(self))

    @staticmethod
    def tube(outer: float, inner: float = 0.0) -> Section:
        """Circular tube with outer and inner radius, m; a round bar if the inner radius is 0."""
        _check_positive("a tube", outer=outer)
        if not (is_number(inner) and 0.0 <= inner < outer):
            raise ArgumentError(
                f"a tube has inner radius {value_text(inner)}.", expected=f"from 0 to below {outer:g} m"
            )
        second = math.pi * (outer**4 - inner**4) / 4.0
        shear = 0.9 if inner == 0.0 else 0.5  # Cowper, thick and thin circular sections
        return Section(math.pi * (outer**2 - inner**2), second, second, 2.0 * second, shear)

    @staticmethod
    def rectangle(y: float, z: float) -> Section:
        """Rectangle with edges y and z, m."""
        _check_positive("a rectangular section", y=y, z=z)
        long, short = max(y, z), min(y, z)
        ratio = short / long
        torsion = long * short**3 * (1.0 / 3.0 - 0.21 * ratio * (1.0 - ratio**4 / 12.0))
        return Section(y * z, z * y**3 / 12.0, y * z**3 / 12.0, torsion)


class BeamShape(NamedTuple):
    """A mode: polynomials of x / L for displacement w and rotation ϑ, each along one axis (or None), and its name."""

    name: str
    unit: str
    w: tuple[int, Legendre] | None
    turn: tuple[int, Legendre] | None


def beam(
    length: float,
    section: Section | None = None,
    E: float | None = None,
    rho: float | None = None,
    *,
    G: float | None = None,
    EI: float | Sequence[float] | None = None,
    GJ: float | None = None,
    EA: float | None = None,
    GA: float | None = None,
    mass_per_length: float | None = None,
    bending: tuple[int, int] = (2, 1),
    torsion: int = 0,
    extension: int = 0,
    theory: str = "euler-bernoulli",
    ends: str = "clamped",
    shapes: str = "modes",
    tip_load: tuple[float, float] = (0.0, 0.0),
    damping: float = 0.0,
    damping_ratio: float | None = None,
    stiffening: bool | str = True,
) -> FlexibleBody:
    """Create a uniform straight beam from the origin of the link along its x axis, with nodes "root" and "tip".

    Parameters
    ----------
    length : float
        Length, m.
    section, E, rho, G
        Section, Young's modulus (Pa), density (kg/m³) and shear modulus (Pa; E / 2.6 by default).
    EI, GJ, EA, GA : float, optional
        Stiffness against bending along y and z (N m², one number or two), torsion (N m²), extension (N) and shear (N),
        instead of a section.
    mass_per_length : float, optional
        Mass per length, kg/m, instead of rho. Without a section, the beam has no rotary inertia except in torsion,
        which requires a section.
    bending : (int, int)
        Number of modes that bend along y and along z, named y1, y2, ... and z1, ...
    torsion, extension : int
        Number of torsional modes (x1r, ...) and of longitudinal modes (x1, ...). They determine the step size of
        simulations, because their frequencies are high.
    theory : {"euler-bernoulli", "timoshenko"}
        Beam theory.
    ends : {"clamped", "pinned"}
        "clamped": the link's frame is tangent to the beam at its root. "pinned": both ends stay on the x axis.
    shapes : {"modes", "polynomials"}
        "modes": natural modes of the beam. "polynomials": the polynomials themselves, of ascending degree, which
        converge faster where loads differ from those of the natural modes.
    tip_load : (float, float)
        Mass (kg) and inertia (kg m²) at the tip for which the mode shapes are computed. The load itself is a link or
        payload on the node "tip"; modes that are computed for it converge faster.
    damping : float
        Structural damping D = damping K (Kelvin-Voigt), s.
    damping_ratio : float, optional
        Damping ratio of every mode, instead of `damping`.
    stiffening : {True, False, "full"}
        Geometric stiffening: True keeps the kinetic energy to second order in the deflection, "full" keeps all terms
        of the foreshortening, False leaves it out.

    Raises
    ------
    ArgumentError
        If a stiffness that a requested mode needs is missing, or a number is not positive.

    Examples
    --------
    >>> import appell as ap
    >>> beam = ap.shapes.beam(0.8, ap.Section.tube(0.02, 0.018), E=7e10, rho=2700, bending=(2, 1), torsion=1)
    >>> beam.modes
    ('y1', 'y2', 'z1', 'x1r')
    >>> beam.frequencies.round(1)  # Hz
    array([ 59.9,  59.9, 373.7, 986.8])
    """
    given = {name: value for name, value in locals().items() if _differs(name, value)}
    plan = _plan(given)
    return _assembled(plan, plan.amounts, description=(("beam", tuple(given.items())),))


class Amounts(NamedTuple):
    """The numbers in which the integrals and matrices of a beam are linear, for given shapes."""

    mu: float = 0.0  # mass per length
    rotary: tuple[float, float] = (0.0, 0.0)  # rotary inertia per length, ρ∫y² and ρ∫z²
    stiff: Mapping[str, float] = MappingProxyType(dict.fromkeys(STIFFNESSES, 0.0))


class Plan(NamedTuple):
    """Shapes of a beam, the numbers that its integrals contain, and its options."""

    shapes: tuple[BeamShape, ...]
    length: float
    amounts: Amounts
    theory: str
    stiffening: bool | str
    damping: float
    damping_ratio: float | None


def _plan(given: Mapping[str, Any]) -> Plan:
    """Check the arguments of `beam` and compute its shapes."""
    o = SimpleNamespace(**{**_DEFAULTS, **given})
    _check_options(o.bending, o.torsion, o.extension, o.theory, o.ends, o.shapes, o.stiffening)
    _check_positive("a beam", length=o.length)
    stiff, mu, rotary = _properties(o.length, o.section, o.E, o.rho, o.G, o.EI, o.GJ, o.EA, o.GA, o.mass_per_length)
    for name, value in (("damping", o.damping), ("damping_ratio", o.damping_ratio or 0.0)):
        if not (is_number(value) and is_finite(value) and value >= 0.0):
            raise ArgumentError(f"a beam has {name} {value_text(value)}.", expected="a number from 0 on")

    L, load = float(o.length), tuple(map(float, o.tip_load))
    made: list[BeamShape] = []
    for axis, number, label in ((1, o.bending[0], "y"), (2, o.bending[1], "z")):
        sign, about = (1.0, 2) if axis == 1 else (-1.0, 1)  # ϑ_z = w_y', ϑ_y = -w_z'
        constants = _required(stiff, f"EI{label}", "EI"), mu, rotary[axis - 1]
        shear = _required(stiff, "GA", "GA") if o.theory == "timoshenko" and number else 0.0
        for k, (w, turn) in enumerate(_bending(number, L, *constants, shear, load, o.ends, o.shapes), start=1):
            made.append(BeamShape(f"{label}{k}", "m", (axis, w), (about, sign * turn)))
    if o.torsion:
        polar = sum(rotary)
        if not polar:
            raise ArgumentError("a beam with torsional modes has no section.", expected="a Section and rho")
        for k, turn in enumerate(_axial(o.torsion, L, _required(stiff, "GJ", "GJ"), polar, 0.0), start=1):
            made.append(BeamShape(f"x{k}r", "rad", None, (0, turn)))
    if o.extension:
        for k, w in enumerate(_axial(o.extension, L, _required(stiff, "EA", "EA"), mu, load[0]), start=1):
            made.append(BeamShape(f"x{k}", "m", (0, w), None))
    return Plan(tuple(made), L, Amounts(mu, rotary, stiff), o.theory, o.stiffening, float(o.damping), o.damping_ratio)


def beam_terms(given: Mapping[str, Any]) -> tuple[BodyTerm, ...]:
    """Physical parameters of a beam, from the arguments of `beam`, with the body per unit of each.

    The shapes of the modes are fixed: integrals, stiffness and damping are linear in these parameters.
    """
    plan = _plan(given)
    mu, rotary, stiff = plan.amounts

    def term(kind: str, value: float, damping: Any = 0.0, **amounts: Any) -> BodyTerm:
        size = len(plan.shapes)
        return BodyTerm(kind, value, _assembled(plan, Amounts(**amounts), damping * np.ones((size, size))))

    density, section = given.get("rho"), given.get("section")
    seconds = {} if not any(rotary) else {"rotary": (section.yy, section.zz)}  # type: ignore[union-attr]
    if given.get("mass_per_length") is None:
        terms = [term("rho", density, mu=section.area, **seconds)]  # type: ignore[arg-type, union-attr]
    else:
        terms = [term("mass_per_length", mu, mu=1.0)]
        terms += [term("rho", density, **seconds)] if seconds else []  # type: ignore[arg-type]
    letters = {shape.name[0] if shape.turn is None or shape.w else "r" for shape in plan.shapes}
    used = {"EIy": "y" in letters, "EIz": "z" in letters, "GJ": "r" in letters, "EA": "x" in letters}
    used["GA"] = plan.theory == "timoshenko" and ("y" in letters or "z" in letters)
    for kind in (kind for kind in STIFFNESSES if used[kind]):
        terms.append(term(kind, stiff[kind], stiff=dict.fromkeys(STIFFNESSES, 0.0) | {kind: 1.0}))
    body, by_ratio = _assembled(plan, plan.amounts), plan.damping_ratio is not None
    D = damping_matrix(body.modal_mass, np.array(body.stiffness), 1.0, 1.0 if by_ratio else None)
    kind, value = ("damping_ratio", plan.damping_ratio) if by_ratio else ("damping", plan.damping)
    return (*terms, term(kind, float(value), D))  # type: ignore[arg-type]


# ---- mode shapes


def _bending(
    number: int, L: float, EI: float, mu: float, rotary: float, shear: float, load: Sequence[float], *how: str
) -> list[tuple[Legendre, Legendre]]:
    """Displacement and rotation of the lowest modes of bending, as polynomials of x / L."""
    if not number:
        return []
    ends, shapes = how
    count = number + EXTRA_POLYNOMIALS
    nil = Legendre([0.0], domain=[0, 1])
    legendre = [Legendre.basis(k, domain=[0, 1]) for k in range(count)]
    if shear:
        inner = X * (1 - X) if ends == "pinned" else X
        turning = [p for p in legendre] if ends == "pinned" else [X * p for p in legendre]
        trial = [(inner * p, nil) for p in legendre] + [(nil, p) for p in turning]
    else:
        trial = [(w, w.deriv() / L) for p in legendre for w in ((X * (1 - X) if ends == "pinned" else X * X) * p,)]
        if shapes == "polynomials":
            return trial[:number]
    K = _gram([turn.deriv() / L for _, turn in trial], L) * EI
    if shear:
        K += shear * _gram([w.deriv() / L - turn for w, turn in trial], L)
    M = mu * _gram([w for w, _ in trial], L) + rotary * _gram([turn for _, turn in trial], L)
    tip_w, tip_turn = (np.array([pair[i](1.0) for pair in trial]) for i in (0, 1))
    M += load[0] * np.outer(tip_w, tip_w) + load[1] * np.outer(tip_turn, tip_turn)
    modes = []
    for vector in _lowest(K, M, number):
        w = sum((c * pair[0] for c, pair in zip(vector, trial, strict=True)), start=nil)
        turn = sum((c * pair[1] for c, pair in zip(vector, trial, strict=True)), start=nil)
        size = w(1.0) if ends == "clamped" else np.abs(w(np.linspace(0, 1, 201))).max() * np.sign(w(1e-3))
        modes.append((w / size, turn / size))
    return modes


def _axial(number: int, L: float, stiffness: float, inertia: float, load: float) -> list[Legendre]:
    """Lowest torsional or longitudinal modes, as polynomials of x / L."""
    trial = [X * Legendre.basis(k, domain=[0, 1]) for k in range(number + EXTRA_POLYNOMIALS)]
    tip = np.array([shape(1.0) for shape in trial])
    K, M = stiffness * _gram([u.deriv() / L for u in trial], L), inertia * _gram(trial, L) + load * np.outer(tip, tip)
    shapes = (sum((c * u for c, u in zip(vector, trial, strict=True)), start=0 * X) for vector in _lowest(K, M, number))
    return [shape / shape(1.0) for shape in shapes]


def _lowest(K: np.ndarray, M: np.ndarray, number: int) -> np.ndarray:
    """Eigenvectors of the lowest frequencies, as rows, by Cholesky factors of the stiffness: K⁻¹M has the largest."""
    L = np.linalg.cholesky(K)
    inverse = np.linalg.inv(L)
    _, vectors = np.linalg.eigh(inverse @ M @ inverse.T)
    return (inverse.T @ vectors[:, ::-1][:, :number]).T


def _gram(functions: Sequence[Legendre], L: float) -> np.ndarray:
    """∫ u v dx over the beam."""
    points, weights = _quadrature(max(u.degree() for u in functions) + 1)
    values = np.array([u(points) for u in functions])
    return L * (values * weights) @ values.T


def _quadrature(number: int) -> tuple[np.ndarray, np.ndarray]:
    points, weights = np.polynomial.legendre.leggauss(number)
    return 0.5 * (points + 1.0), 0.5 * weights


# ---- integrals


def _assembled(plan: Plan, amounts: Amounts, damping: Any = None, **options: Any) -> FlexibleBody:
    """Return the body of a plan with other amounts; `damping` is D instead of that of the plan."""
    shapes, L, (mu, rotary, stiff) = plan.shapes, plan.length, amounts
    size = len(shapes)
    bent = [k for k, shape in enumerate(shapes) if shape.w and shape.w[0]]
    pairs, psi = [], []
    if plan.stiffening:
        for j in bent:
            for k in (k for k in bent if k >= j and shapes[k].w[0] == shapes[j].w[0]):  # type: ignore[index]
                slopes = shapes[j].w[1].deriv() * shapes[k].w[1].deriv() / (L * L)  # type: ignore[index]
                pairs.append((j, k))
                psi.append(-(0.5 if j == k else 1.0) * L * slopes.integ(lbnd=0.0))

    degree = max([shape.w[1].degree() for shape in shapes if shape.w] + [1])
    points, weights = _quadrature(2 * degree + 2)
    a, by, bz = (np.zeros((1 + size + len(pairs), len(points), 3)) for _ in range(3))  # f = a + y by + z bz
    a[0, :, 0], by[0, :, 1], bz[0, :, 2] = L * points, 1.0, 1.0
    for k, shape in enumerate(shapes, start=1):
        w, turn = _vectors(shape, points)
        a[k], by[k], bz[k] = w, np.cross(turn, [0.0, 1.0, 0.0]), np.cross(turn, [0.0, 0.0, 1.0])
    for k, second in enumerate(psi, start=1 + size):
        a[k, :, 0] = second(points)
    dx = L * weights
    first = mu * np.einsum("g,bgi->bi", dx, a)
    second = sum(
        density * np.einsum("g,bgi,cgk->bcik", dx, f, f) for density, f in ((mu, a), (rotary[0], by), (rotary[1], bz))
    )
    if plan.stiffening is True:
        second[1 + size :, 1:] = second[1:, 1 + size :] = 0.0
    second = 0.5 * (second + second.transpose(1, 0, 3, 2))
    second[np.abs(second) < ZERO_TOLERANCE * np.abs(second).max()] = 0.0

    K = np.zeros((size, size))
    for j, one in enumerate(shapes):
        for k, other in enumerate(shapes):
            K[j, k] = _strain_energy(one, other, L, stiff, plan.theory)
    K[np.abs(K) < ZERO_TOLERANCE * np.sqrt(np.outer(np.diag(K), np.diag(K)))] = 0.0
    if damping is None:
        masses = np.trace(second[1 : 1 + size, 1 : 1 + size], axis1=2, axis2=3)
        damping = damping_matrix(masses, K, plan.damping, plan.damping_ratio)
    D = np.array(damping)
    D[np.abs(D) < ZERO_TOLERANCE * np.abs(D).max(initial=0.0)] = 0.0

    def node(name: str, s: float) -> Node:
        at = np.array([s])
        parts = [_vectors(shape, at) for shape in shapes]
        along = [np.array([second(s), 0.0, 0.0]) for second in psi]
        displacements = [_clean(w[0]) for w, _ in parts] + [_clean(x) for x in along]
        return Node(name, Vec3(s * L, 0.0, 0.0), tuple(displacements), tuple(_clean(turn[0]) for _, turn in parts))

    return FlexibleBody.from_arrays(
        mu * L,
        first,
        second,
        K,
        D,
        nodes=(node("root", 0.0), node("tip", 1.0)),
        stations=[node("", s) for s in np.linspace(0.0, 1.0, STATIONS)],
        pairs=pairs,
        modes=[shape.name for shape in shapes],
        units=[shape.unit for shape in shapes],
        **options,
    )


def _vectors(shape: BeamShape, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Displacement and rotation vectors of a mode at points, (n, 3)."""
    vectors = np.zeros((2, len(points), 3))
    for out, part in zip(vectors, (shape.w, shape.turn), strict=True):
        if part is not None:
            out[:, part[0]] = part[1](points)
    return vectors[0], vectors[1]


def _clean(vector: np.ndarray) -> Vec3:
    return Vec3.of(snap(float(x), ZERO_TOLERANCE) for x in vector)


def _strain_energy(one: BeamShape, other: BeamShape, L: float, stiff: Mapping[str, float], theory: str) -> float:
    """Entry of the stiffness matrix, by (1) to (3)."""
    points, weights = _quadrature(max(p[1].degree() for p in (*one[2:], *other[2:]) if p is not None) + 1)

    def integral(f: Legendre, g: Legendre) -> float:
        return float(L * np.sum(weights * f(points) * g(points)))

    energy = 0.0
    if one.turn and other.turn and one.turn[0] == other.turn[0]:
        axis = one.turn[0]
        modulus = stiff["GJ"] if axis == 0 else stiff["EIz" if axis == 1 else "EIy"]
        energy += modulus * integral(one.turn[1].deriv() / L, other.turn[1].deriv() / L)
    if one.w and other.w and one.w[0] == other.w[0]:
        if one.w[0] == 0:
            energy += stiff["EA"] * integral(one.w[1].deriv() / L, other.w[1].deriv() / L)
        elif theory == "timoshenko":
            sign = 1.0 if one.w[0] == 1 else -1.0
            shears = [s.w[1].deriv() / L - sign * s.turn[1] for s in (one, other)]  # type: ignore[index]
            energy += stiff["GA"] * integral(*shears)
    return energy


# ---- checks


def _properties(
    length: float,
    section: Section | None,
    E: float | None,
    rho: float | None,
    G: float | None,
    EI: float | Sequence[float] | None,
    GJ: float | None,
    EA: float | None,
    GA: float | None,
    mass_per_length: float | None,
) -> tuple[dict[str, float], float, tuple[float, float]]:
    """Stiffnesses by name, mass per length, and rotary inertia per length ρ∫y² and ρ∫z²."""
    numbers = {"E": E, "rho": rho, "G": G, "GJ": GJ, "EA": EA, "GA": GA, "mass_per_length": mass_per_length}
    _check_positive("a beam", **{name: x for name, x in numbers.items() if x is not None})
    stiff, rotary = {}, (0.0, 0.0)
    if section is not None:
        if not isinstance(section, Section):
            raise ArgumentError(f"the section of a beam is {value_text(section)}.", expected="a Section")
        if E is not None:
            shear = G if G is not None else E / 2.6
            stiff = {"EIy": E * section.yy, "EIz": E * section.zz, "EA": E * section.area}
            stiff |= {"GJ": shear * section.torsion, "GA": section.shear_factor * shear * section.area}
        if rho is not None:
            rotary = rho * section.yy, rho * section.zz
            mass_per_length = rho * section.area if mass_per_length is None else mass_per_length
    if EI is not None:
        both: tuple[Any, ...] = (EI, EI) if is_number(EI) else tuple(EI)  # type: ignore[arg-type]
        if len(both) != 2:
            raise ArgumentError(f"a beam has EI {value_text(EI)}.", expected="one number, or two for y and z")
        _check_positive("a beam", EI=both[0])
        _check_positive("a beam", EI=both[1])
        stiff |= {"EIy": both[0], "EIz": both[1]}
    stiff |= {name: float(x) for name, x in (("GJ", GJ), ("EA", EA), ("GA", GA)) if x is not None}
    if mass_per_length is None:
        raise ArgumentError("a beam has no mass.", expected="a section with rho, or mass_per_length")
    return stiff, float(mass_per_length), rotary


def _required(stiff: dict[str, float], name: str, argument: str) -> float:
    if name not in stiff:
        raise ArgumentError(f"a beam has no {argument}.", expected=f"a section with E, or {argument}")
    return stiff[name]


def _check_options(
    bending: Any, torsion: int, extension: int, theory: str, ends: str, shapes: str, stiffening: Any
) -> None:
    counts = [*bending, torsion, extension] if isinstance(bending, (tuple, list)) and len(bending) == 2 else [None]
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in counts) or not any(counts):
        problem = f"a beam has bending={bending!r}, torsion={torsion!r}, extension={extension!r}."
        raise ArgumentError(problem, expected="numbers of modes, at least one: bending=(2, 1), torsion=0, extension=0")
    options = ("theory", theory, THEORIES), ("ends", ends, ("clamped", "pinned")), ("shapes", shapes, SHAPES)
    for name, value, known in options:
        if value not in known:
            raise ArgumentError(f"a beam has {name} {value!r}.", expected=" or ".join(map(repr, known)))
    if shapes == "polynomials" and theory == "timoshenko":
        raise ArgumentError("a Timoshenko beam has shapes 'polynomials'.", expected="shapes='modes'")
    if not any(stiffening is known or stiffening == known == "full" for known in STIFFENING):
        raise ArgumentError(f"a beam has stiffening {stiffening!r}.", expected="True, False or 'full'")


def _check_positive(owner: str, **numbers: Any) -> None:
    for name, x in numbers.items():
        if isinstance(x, bool) or not is_number(x) or not (is_finite(x) and x > 0.0):
            raise ArgumentError(f"{owner} has {name} {value_text(x)}.", expected="a positive number")


_DEFAULTS = {**(beam.__kwdefaults__ or {}), "section": None, "E": None, "rho": None}


def _differs(name: str, value: Any) -> bool:
    """Whether an argument of `beam` differs from its default."""
    return name not in _DEFAULTS or (_DEFAULTS[name] is not value and _DEFAULTS[name] != value)
