"""The regressor of trees with flexible links: forces are linear in the parameters of all bodies.

For given shapes, the integrals h, P and the matrices K, D of a beam are linear in its mass per length or density, its
stiffnesses (EI, GJ, EA, GA) and its damping; those of any other body in its mass and in the stiffness and damping of
its modes. The column of a parameter contains the wrench and the modal forces of a body with one unit of it, along all
velocities at the link or inboard of it. A rigid link has the ten columns of `formulate.regressor`; a load at the tip is
a rigid link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from appell.algebra.scalar import Matrix, Scalar, Vector
from appell.formulate.flexible.dynamics import required_by_deformation
from appell.formulate.flexible.kinematics import Configuration, Deformation
from appell.formulate.recursion import Acceleration, Wrench
from appell.formulate.regressor import columns_of_body
from appell.formulate.tree import Tree, TreeLink
from appell.model.beam import beam_terms
from appell.model.flexible import BodyTerm, FlexibleBody


def body_terms(body: FlexibleBody) -> tuple[BodyTerm, ...]:
    """Parameters of a flexible body: those of a beam, or mass, stiffness and damping of its modes."""
    kind, description = body.description[0] if body.description else ("", ())
    return beam_terms(dict(description)) if kind == "beam" else body.terms


Terms = Mapping[str, tuple[BodyTerm, ...]]  # by flexible link


def terms_of_links(tree: Tree) -> Terms:
    """Parameters of all flexible links."""
    return {link.name: body_terms(link.body) for link in tree.robot.flexible}


def regressor(
    tree: Tree, terms: Terms, q: Vector, v: Vector, a: Vector, columns: Sequence[int] | None = None
) -> Matrix:
    """Y(q, v, a) with nv rows and the columns of all links, or some of its columns."""
    configuration = Configuration(tree, q)
    motion, partials = configuration.accelerations(v, a, tree.gravity), configuration.partials
    selected = None if columns is None else set(columns)
    rows: list[list[Scalar]] = [[] for _ in range(tree.robot.nv)]
    number = 0
    for link in tree.links:
        for (force, moment), modal in _columns(configuration, terms, link, motion[link.name], v, a):
            number += 1
            if selected is not None and number - 1 not in selected:
                continue
            entries = {other.name: [0.0] * len(partials[other.name][other.name]) for other in tree.links}
            for name, inboard in partials[link.name].items():
                entries[name] = [p.linear.dot(force) + p.angular.dot(moment) for p in inboard]
            entries[link.name][len(link.partials) :] = modal
            for row, entry in zip(rows, tree.gather(entries), strict=True):
                row.append(entry)
    return rows


def _columns(
    configuration: Configuration, terms: Terms, link: TreeLink, motion: Acceleration, v: Vector, a: Vector
) -> Iterator[tuple[Wrench, list[Scalar]]]:
    """Wrench about the link's origin and modal forces per unit of every parameter of a link."""
    deformation = configuration.deformation.get(link.name)
    if deformation is None:
        yield from ((wrench, []) for wrench in columns_of_body(motion))
        return
    rates, second_rates = configuration.modal(link.name, v), configuration.modal(link.name, a)
    for term in terms[link.name]:
        unit = Deformation(term.unit, deformation.modal)
        yield required_by_deformation(unit, motion, rates, second_rates)
