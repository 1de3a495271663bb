"""Flexible bodies: a body that deforms in a few modes, described by integrals over its mass.

A point x of the undeformed body is at ρ = Σ_b c_b(δ) f_b(x) in the axes of its link, with the modal coordinates δ:

    c = 1, f = x         c = δ_j, f = mode shape j         c = δ_j δ_k, f = second-order shape of the pair (j, k)   (1)

The second-order shapes of a beam are its foreshortening: a bent beam is shorter along its axis by half the integral of
its squared slope. They cause geometric stiffening. The equations of motion need two families of integrals only,

    h_b = ∫ f_b dm                            P_bc = ∫ f_b f_cᵀ dm                                                  (2)

With b = c = 0 these are the first and second moments of the undeformed, rigid body. A node is a point to which a
joint, a frame or a load is fixed. It moves by (1) and rotates by the Cayley map of θ = Σ_j δ_j Θ_j, which is always
orthonormal.

The kinetic energy is kept to second order in δ if P of a pair is zero except with b = 0 (`ap.shapes.beam` does so by
default); any choice of constant P conserves energy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.vector import Vec3
from appell.errors import DescriptionError, ModelError, unknown_name
from appell.model.body import Body, Inertia

SYMMETRY_TOLERANCE = 1e-9  # largest relative asymmetry of a stiffness or damping matrix
RANK_TOLERANCE = 1e-12  # smallest relative eigenvalue of a regular modal mass or stiffness matrix
MASS_TOLERANCE = 1e-9  # most negative relative eigenvalue of the integrals (2) that rounding explains
ROOT_TOLERANCE = 1e-9  # largest displacement of the root per unit of a mode, relative to the largest of the shape
Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Node:
    """A point of a flexible body that can carry joints, frames and loads.

    `position` is that of the undeformed body in link axes, m. `shapes` has the displacement per unit of every mode and
    then of every pair, `rotations` the rotation vector per unit of every mode.
    """

    name: str
    position: Vec3
    shapes: tuple[Vec3, ...]
    rotations: tuple[Vec3, ...]

    def displacement(self, modal: Sequence[float], pairs: Iterable[tuple[int, int]]) -> np.ndarray:
        """Displacement of the node from its undeformed position in link axes, m, for modal coordinates."""
        weights = [*modal, *(modal[j] * modal[k] for j, k in pairs)]
        return np.array(weights) @ np.array([list(shape) for shape in self.shapes])


@dataclass(frozen=True)
class FlexibleBody:
    """A body that deforms in modes. `ap.shapes.beam` and `FlexibleBody.from_modes` create flexible bodies.

    Parameters
    ----------
    modes : names of the modal coordinates
    units : unit of each modal coordinate: "m", "rad" or "1"
    mass : mass, kg
    first : h_b of (2), kg m, for the undeformed body, every mode and every pair
    second : P_bc of (2), kg m², as rows of 3x3 matrices
    stiffness, damping : modal matrices, N/m and N s/m for modes in m
    nodes : points that carry joints, frames and loads
    pairs : pairs of modes with a second-order shape
    stations : points along the body, for pictures and for the check of small deflections
    description : lines of a robot file from which the body was created

    Examples
    --------
    >>> import appell as ap
    >>> beam = ap.shapes.beam(0.8, EI=(20.0, 30.0), mass_per_length=0.5, bending=(2, 1))
    >>> beam
    <FlexibleBody of 0.4 kg with modes y1, y2, z1 and nodes root, tip>
    >>> beam.frequencies.round(2)  # Hz, clamped
    array([ 5.53,  6.77, 34.66])
    """

    modes: tuple[str, ...]
    units: tuple[str, ...]
    mass: float
    first: tuple[Vec3, ...]
    second: tuple[tuple[Mat3, ...], ...]
    stiffness: Rows
    damping: Rows
    nodes: tuple[Node, ...]
    pairs: tuple[tuple[int, int], ...] = ()
    stations: tuple[Node, ...] = ()
    description: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        nodes = ", ".join(node.name for node in self.nodes) or "none"
        return f"<FlexibleBody of {self.mass:g} kg with modes {', '.join(self.modes)} and nodes {nodes}>"

    @staticmethod
    def from_arrays(
        mass: float,
        first: Any,
        second: Any,
        stiffness: Any,
        damping: Any = None,
        *,
        nodes: Iterable[Node] = (),
        stations: Iterable[Node] = (),
        pairs: Iterable[tuple[int, int]] = (),
        modes: Iterable[str] | None = None,
        units: Iterable[str] | None = None,
        description: tuple[tuple[str, Any], ...] = (),
    ) -> FlexibleBody:
        """Create a body from arrays: first (B, 3), second (B, B, 3, 3), stiffness and damping (N, N) or (N,)."""
        K = _square(stiffness, "the stiffness")
        size, pairs = len(K), tuple((int(j), int(k)) for j, k in pairs)
        D = np.zeros((size, size)) if damping is None else _square(damping, "the damping", size)
        count = 1 + size + len(pairs)
        h = _array(first, "the first moments", (count, 3))
        P = _array(second, "the second moments", (count, count, 3, 3))
        return FlexibleBody(
            tuple(modes) if modes is not None else tuple(f"m{k}" for k in range(1, size + 1)),
            tuple(units) if units is not None else ("m",) * size,
            float(mass),
            tuple(map(Vec3.of, h)),
            tuple(tuple(map(Mat3.of, row)) for row in P),
            _rows(K),
            _rows(D),
            tuple(nodes),
            pairs,
            tuple(stations),
            description,
        )

    @staticmethod
    def from_modes(
        source: str | Path | Mapping[str, Any], *, damping: float = 0.0, damping_ratio: float | None = None
    ) -> FlexibleBody:
        """Create a body of any shape from the modes that a finite-element program exports.

        Parameters
        ----------
        source : path of an .npz file, or a mapping
            nodes (n, 3): positions, m; masses (n): nodal masses, kg; Phi (n, 3, N): displacements of the nodes per unit
            of each mode; Psi (n, 3, N): rotations of the nodes; K (N) or (N, N): modal stiffness. Optional: D, modal
            damping; names (n) of nodes, n1, n2, ... by default; modes (N), names of the modes; foreshortening
            (n, 3, N, N): second-order displacements, whose half is multiplied by δ_j δ_k and added up.
        damping : float
            Structural damping D = damping K, s, if the source has no D.
        damping_ratio : float, optional
            Damping ratio of every mode, instead.

        Raises
        ------
        ModelError
            If the arrays have other shapes or do not describe a flexible body.

        Examples
        --------
        >>> import appell as ap
        >>> x = [0.0, 0.5, 1.0]
        >>> shape = [[[0.0], [s**2], [0.0]] for s in x]  # one mode: displacement along y
        >>> slope = [[[0.0], [0.0], [2 * s]] for s in x]
        >>> arrays = dict(nodes=[[s, 0, 0] for s in x], masses=[0.1, 0.2, 0.1], Phi=shape, Psi=slope, K=[40.0])
        >>> ap.FlexibleBody.from_modes(arrays)
        <FlexibleBody of 0.4 kg with modes m1 and nodes n1, n2, n3>
        """
        arrays = source if isinstance(source, Mapping) else _loaded(Path(source))
        if missing := [key for key in ("nodes", "masses", "Phi", "Psi", "K") if key not in arrays]:
            raise ModelError(
                f"the modes of a flexible body lack {', '.join(missing)}.", expected="nodes, masses, Phi, Psi and K"
            )
        x = _array(arrays["nodes"], "nodes", (None, 3))
        masses = _array(arrays["masses"], "masses", (len(x),))
        K = _square(arrays["K"], "K")
        Phi, Psi = (_array(arrays[key], key, (len(x), 3, len(K))) for key in ("Phi", "Psi"))
        fields, pairs = [x, *np.moveaxis(Phi, 2, 0)], []
        if "foreshortening" in arrays:
            second = _array(arrays["foreshortening"], "foreshortening", (len(x), 3, len(K), len(K)))
            for j in range(len(K)):
                for k in range(j, len(K)):
                    pairs.append((j, k))
                    fields.append(0.5 * (second[:, :, j, k] if j == k else second[:, :, j, k] + second[:, :, k, j]))
        f = np.array(fields)  # (B, n, 3)
        names = [str(name) for name in arrays.get("names", [f"n{k}" for k in range(1, len(x) + 1)])]
        nodes = [
            Node(
                name, Vec3.of(x[k]), tuple(map(Vec3.of, f[1:, k])), tuple(Vec3.of(Psi[k, :, j]) for j in range(len(K)))
            )
            for k, name in enumerate(names)
        ]
        P = np.einsum("n,bni,cnk->bcik", masses, f, f)
        D = arrays.get("D")
        if D is None:
            D = damping_matrix(np.trace(P[1 : 1 + len(K), 1 : 1 + len(K)], axis1=2, axis2=3), K, damping, damping_ratio)
        modes = [str(name) for name in arrays["modes"]] if "modes" in arrays else None
        body = FlexibleBody.from_arrays(
            masses.sum(),
            np.einsum("n,bni->bi", masses, f),
            P,
            K,
            D,
            nodes=nodes,
            stations=nodes,
            pairs=pairs,
            modes=modes,
            description=(("modes", str(source)),) if not isinstance(source, Mapping) else (),
        )
        if flaw := body.flaw():
            raise ModelError(f"a flexible body from modes {flaw}.", expected="modes of a body that can exist")
        return body

    # ---- the undeformed body

    @cached_property
    def undeformed(self) -> Body:
        """The body without deformation, as a rigid body."""
        return Body.from_inertia(self.about_origin)

    @property
    def about_origin(self) -> Inertia:
        """Mass distribution of the undeformed body about the link's origin."""
        return Inertia(self.mass, self.first[0], self.second[0][0])

    @property
    def com(self) -> Vec3:
        """Centre of mass of the undeformed body in link axes, m."""
        return self.undeformed.com

    @property
    def inertia(self) -> Mat3:
        """Inertia of the undeformed body about its centre of mass, kg m²."""
        return self.undeformed.inertia

    @property
    def parameters(self) -> tuple[float, ...]:
        """The ten inertial parameters of the undeformed body."""
        return self.undeformed.parameters

    # ---- modes and nodes

    @property
    def mode_count(self) -> int:
        """Number of modal coordinates."""
        return len(self.modes)

    @cached_property
    def modal_mass(self) -> np.ndarray:
        """Modal mass matrix of the undeformed body, (N, N)."""
        n = range(1, 1 + self.mode_count)
        return np.array([[self.second[j][k].trace for k in n] for j in n], float)

    @property
    def frequencies(self) -> np.ndarray:
        """Natural frequencies with the link's frame at rest, Hz, in ascending order."""
        values = np.linalg.eigvals(np.linalg.solve(self.modal_mass, np.array(self.stiffness))).real
        return np.sort(np.sqrt(values)) / (2.0 * np.pi)

    @property
    def size(self) -> float:
        """Largest distance of a station or node from the link's origin, m."""
        return max((float(np.linalg.norm([*node.position])) for node in (*self.stations, *self.nodes)), default=0.0)

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Random modal coordinates that deflect the body by a few hundredths of its size."""
        return rng.uniform(-0.02, 0.02, self.mode_count) * [self.size if unit == "m" else 1.0 for unit in self.units]

    def node(self, name: str, owner: str = "a flexible body") -> Node:
        """Look up a node by name."""
        known = {node.name: node for node in self.nodes}
        if name not in known:
            raise ModelError(unknown_name("node", name, known, owner))
        return known[name]

    @cached_property
    def terms(self) -> tuple[BodyTerm, ...]:
        """Mass, and stiffness and damping of every mode, with the body per unit of each.

        Stiffness and damping matrices that are not diagonal are one factor each.
        """
        none = np.zeros((self.mode_count, self.mode_count))

        def term(kind: str, value: float, share: float = 0.0, K: np.ndarray = none, D: np.ndarray = none) -> BodyTerm:
            first = share * np.array([list(h) for h in self.first])
            second = share * np.array([[[list(row) for row in P.rows] for P in block] for block in self.second])
            unit = FlexibleBody.from_arrays(share * self.mass, first, second, K, D, pairs=self.pairs, modes=self.modes)
            return BodyTerm(kind, value, unit)

        terms = [term("mass", self.mass, 1.0 / self.mass)]
        for kind, rows in (("stiffness", self.stiffness), ("damping", self.damping)):
            matrix = np.array(rows)
            units = [(f"_{mode}", matrix[k, k], np.diag(np.eye(len(none))[k])) for k, mode in enumerate(self.modes)]
            if (matrix != np.diag(np.diag(matrix))).any():
                units = [("", 1.0, matrix)]
            for mode, value, unit in units:
                K, D = (unit, none) if kind == "stiffness" else (none, unit)
                terms.append(term(kind + mode, float(value), K=K, D=D))
        return tuple(terms)

    # ---- checks

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite."""
        integrals = [x for row in self.second for matrix in row for vector in matrix.rows for x in vector]
        vectors = [*self.first, *(v for node in self.nodes for v in (node.position, *node.shapes, *node.rotations))]
        numbers = [self.mass, *integrals, *(x for v in vectors for x in v)]
        return bool(
            np.isfinite(numbers).all() and np.isfinite(self.stiffness).all() and np.isfinite(self.damping).all()
        )

    def flaw(self) -> str:
        """Return what makes this body impossible, as the end of a sentence; empty if it is possible."""
        if not self.is_finite:
            return "has a mass, integral, stiffness, damping or node that is not finite"
        if self.mass <= 0.0:
            return f"has mass {self.mass:g} kg, which is not positive"
        if len({*self.modes}) < len(self.modes) or len({node.name for node in self.nodes}) < len(self.nodes):
            return "has two modes or two nodes of the same name"
        for name, rows in (("stiffness", self.stiffness), ("damping", self.damping)):
            matrix = np.array(rows)
            error = np.abs(matrix - matrix.T)
            if error.max() > SYMMETRY_TOLERANCE * np.abs(matrix).max():
                j, k = np.unravel_index(error.argmax(), error.shape)
                return f"has a {name} matrix that is not symmetric in modes '{self.modes[j]}' and '{self.modes[k]}'"
        what = {
            "modal mass": (self.modal_mass, "shapes that are linearly dependent"),
            "stiffness": (np.array(self.stiffness), "a mode that is not stiff"),
        }
        for name, (matrix, reason) in what.items():
            value, mode = self._weakest(matrix)
            if value <= RANK_TOLERANCE:
                return (
                    f"has a {name} matrix that is not positive definite (smallest relative eigenvalue {value:.1e}, "
                    f"mode '{mode}'): {reason}"
                )
        value, mode = self._weakest(np.array(self.damping) + RANK_TOLERANCE * np.diag(np.diag(self.stiffness)))
        if value < -SYMMETRY_TOLERANCE:
            return f"has a damping matrix with a negative eigenvalue (mode '{mode}'), which would create energy"
        if (value := self._smallest_integral()) < -MASS_TOLERANCE:
            return f"has integrals that no mass distribution has (smallest relative eigenvalue {value:.1e})"
        return self._root_flaw()

    def rounding_warning(self) -> str:
        """Return a violation that rounded digits explain; none for integrals, which are computed."""
        return ""

    def _weakest(self, matrix: np.ndarray) -> tuple[float, str]:
        """Smallest eigenvalue of a symmetric matrix scaled to a unit diagonal, and the mode with the largest part."""
        diagonal = np.abs(np.diag(matrix))
        scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        values, vectors = np.linalg.eigh(0.5 * scale[:, None] * (matrix + matrix.T) * scale)
        return float(values[0]), self.modes[int(np.abs(vectors[:, 0]).argmax())]

    def _smallest_integral(self) -> float:
        """Smallest eigenvalue of [[m, h], [h, P]] over the body and its modes, relative to its diagonal."""
        count = 1 + self.mode_count
        P = np.array([[[list(r) for r in self.second[b][c].rows] for c in range(count)] for b in range(count)], float)
        h = np.array([list(vector) for vector in self.first[:count]], float).reshape(-1)
        matrix = np.block(
            [[np.array([[self.mass]]), h[None, :]], [h[:, None], P.transpose(0, 2, 1, 3).reshape(3 * count, -1)]]
        )
        diagonal = np.diag(matrix)
        scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        return float(np.linalg.eigvalsh(0.5 * scale[:, None] * (matrix + matrix.T) * scale)[0])

    def _root_flaw(self) -> str:
        """A mode that displaces the link's origin, to which the joint is fixed."""
        for node in self.nodes:
            if np.linalg.norm([*node.position]) > ROOT_TOLERANCE * self.size:
                continue
            for k, mode in enumerate(self.modes):
                largest = max(np.linalg.norm([*other.shapes[k]]) for other in self.nodes)
                if np.linalg.norm([*node.shapes[k]]) > ROOT_TOLERANCE * largest:
                    return f"has mode '{mode}', which displaces node '{node.name}' at the origin, where its joint is"
        return ""


@dataclass(frozen=True)
class BodyTerm:
    """A parameter in which the integrals and matrices of a flexible body are linear, and the body per unit of it."""

    kind: str
    value: float
    unit: FlexibleBody


def damping_matrix(modal_mass: np.ndarray, K: np.ndarray, factor: float, ratio: float | None) -> np.ndarray:
    """D = factor K, or the matrix that gives every mode the damping ratio: M X diag(2 ζ ω) Xᵀ M."""
    if ratio is None:
        return factor * K
    L = np.linalg.cholesky(modal_mass)
    values, vectors = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, K).T))
    half = L @ vectors
    return (half * (2.0 * ratio * np.sqrt(values))) @ half.T


def _loaded(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except FileNotFoundError:
        raise DescriptionError(f"the file '{path}' of a flexible body does not exist.", source=str(path)) from None
    except (OSError, ValueError, EOFError) as error:
        problem = f"the file '{path}' of a flexible body cannot be read: {error}."
        raise DescriptionError(problem, expected="a .npz file of NumPy arrays", source=str(path)) from None


def _array(values: Any, what: str, shape: tuple[int | None, ...]) -> np.ndarray:
    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        expected = f"numbers of shape ({', '.join('n' if n is None else str(n) for n in shape)})"
        raise ModelError(f"{what} of a flexible body has shape {np.shape(values)}.", expected=expected)
    return array


def _square(values: Any, what: str, size: int | None = None) -> np.ndarray:
    array = np.asarray(values, float)
    if array.ndim == 1:
        array = np.diag(array)
    return _array(array, what, (size or len(array), size or len(array)))


def _rows(matrix: np.ndarray) -> Rows:
    return tuple(map(tuple, matrix.tolist()))
