"""Collecting by constants: a sum of products with constants becomes one product for each constant.

    ω̇_y s_z - ω̇_z s_y + ω_y (ω_x s_y - ω_y s_x) - ω_z (ω_z s_x - ω_x s_z)
        = s_x (-ω_y² - ω_z²) + s_y (ω_x ω_y - ω̇_z) + s_z (ω_x ω_z + ω̇_y)

What a formula is linear in, such as lengths and inertias, then meets coefficients that are the same for every length
and every inertia of a link and are computed once. Every node that is a sum is held as a linear form {constant:
coefficient}. A form is taken into the node that uses it

    by a sum, a change of sign or a product with a constant, if nothing else uses it; by a product with a constant
    in any case if it is only one product itself                                                                   (1)
    by a product with x, if x and all its coefficients stand side by side in some form, as the components of one
    vector do, and if the same is true of everything else that uses it: then x times a coefficient is a square or
    mixed product of that vector, which others need too                                                            (2)

and is summed up before any other use. The pass may lose as well as gain; `simplest` keeps the cheaper tape.
"""

from __future__ import annotations

from collections.abc import Container

from appell.compile.tape.count import count, known
from appell.compile.tape.graph import Graph
from appell.compile.tape.ops import Op
from appell.compile.tape.passes import factor
from appell.compile.tape.tape import Tape

Form = dict[int, int]  # constant -> coefficient, both nodes of the new tape
LINEAR = (Op.ADD, Op.SUB, Op.NEG)


def simplest(tape: Tape, constants: Container[int] = ()) -> Tape:
    """The tape collected by constants if that costs less, else the tape itself."""
    return min(tape, factor(collect(tape, constants)), key=lambda found: count(found, constants).total)


def collect(tape: Tape, constants: Container[int] = ()) -> Tape:
    """The same computation with sums collected by constants; `constants` are inputs that count as such."""
    return _Collector(tape, constants).run()


class _Collector:
    def __init__(self, tape: Tape, constants: Container[int]):
        self.tape, self.graph = tape, Graph()
        self.fixed = known(tape, constants)
        self.uses = tape.uses()
        self.users: dict[int, list[int]] = {}
        for k, (op, *operands) in enumerate(tape.nodes):
            if op > Op.INPUT:
                for operand in operands:
                    self.users.setdefault(operand, []).append(k)
        self.results = set(tape.results)
        self.family = _families(tape, self.fixed)
        self.index: dict[int, int] = {}  # nodes that have been summed up
        self.forms: dict[int, Form] = {}  # nodes that wait for their user
        self.one = self.graph.const(1.0)

    def run(self) -> Tape:
        for k, node in enumerate(self.tape.nodes):
            form = None if self.fixed[k] else self._form(k)
            if form is None:
                if node[0] > Op.INPUT:
                    for j in node[1:]:
                        self._value(j)
                self.index[k] = self.graph.copy(node, self.index)
            else:
                self.forms[k] = form
        tape = self.tape
        return self.graph.tape(tape.name, tape.inputs, tape.outputs, [self._value(k) for k in tape.results])

    def _form(self, k: int) -> Form | None:
        """The node as a linear form; None if it is none, or a plain sum that nothing is gained by holding back."""
        b, (op, *operands) = self.graph, self.tape.nodes[k]
        if op in LINEAR:
            if not any(self._is_taken(j, k) for j in operands):
                return None
            first = self._taken(operands[0], k)
            if op == Op.NEG:
                return {c: b.neg(e) for c, e in first.items()}
            form = dict(first)
            for c, e in self._taken(operands[1], k).items():
                self._join(form, c, e if op == Op.ADD else b.neg(e))
            return form
        if op == Op.MUL:
            x, y = operands
            if self.fixed[y]:
                x, y = y, x
            if self.fixed[x]:
                return self._scaled(self._value(x), self._taken(y, k))  # (1)
            for x, y in (operands, operands[::-1]):
                if self._is_taken(y, k):
                    return {c: b.mul(self._value(x), e) for c, e in self._taken(y, k).items()}  # (2)
        return None

    def _scaled(self, scale: int, form: Form) -> Form:
        scaled: Form = {}
        for c, e in form.items():
            self._join(scaled, self.graph.mul(scale, c), e)
        return scaled

    def _join(self, form: Form, c: int, e: int) -> None:
        """Add c e to a form; twice the same is two c, not two e."""
        if form.get(c) == e:
            del form[c]
            self._join(form, self.graph.mul(self.graph.const(2.0), c), e)
        else:
            form[c] = self.graph.add(form[c], e) if c in form else e

    def _is_taken(self, k: int, by: int) -> bool:
        """Whether the form of a node goes into one that uses it."""
        if k not in self.forms:
            return False
        op, *operands = self.tape.nodes[by]
        scales = op == Op.MUL and any(self.fixed[j] for j in operands)
        if (self.uses[k] == 1 and op in LINEAR) or (scales and (self.uses[k] == 1 or len(self.forms[k]) == 1)):
            return True
        return k not in self.results and all(self._is_quadratic(k, user) for user in self.users[k])

    def _is_quadratic(self, k: int, user: int) -> bool:
        """Whether a product is of a form with a sibling of its coefficients, by (2)."""
        op, *operands = self.tape.nodes[user]
        if op != Op.MUL or operands[0] == operands[1]:
            return False
        other = operands[1] if operands[0] == k else operands[0]
        home = self.family.get(other)
        return home is not None and all(self.family.get(j) == home for j in _terms(self.tape, self.fixed, k))

    def _taken(self, k: int, by: int) -> Form:
        return self.forms[k] if self._is_taken(k, by) else {self.one: self._value(k)}

    def _value(self, k: int) -> int:
        """The node as one number, its form summed up; equal coefficients add their constants first."""
        if k not in self.index:
            b, total = self.graph, self.graph.const(0.0)
            by_coefficient: dict[int, int] = {}
            for c, e in self.forms[k].items():
                positive, sign = (b.nodes[e][1], b.neg) if b.nodes[e][0] == Op.NEG else (e, lambda c: c)
                by_coefficient[positive] = b.add(by_coefficient.get(positive, b.const(0.0)), sign(c))
            for e, c in by_coefficient.items():
                total = b.add(total, b.mul(c, e))
            self.index[k] = total
        return self.index[k]


def _terms(tape: Tape, fixed: list[bool], k: int, depth: int = 3) -> list[int]:
    """The nodes that stand beside constants in a sum of a few products, or nothing if it is something else."""
    op, *operands = tape.nodes[k]
    if op == Op.MUL and fixed[operands[0]] != fixed[operands[1]]:
        return [operands[1] if fixed[operands[0]] else operands[0]]
    if op in LINEAR and depth:
        parts = [_terms(tape, fixed, j, depth - 1) for j in operands]
        return [j for part in parts for j in part] if all(parts) else []
    return []


def _families(tape: Tape, fixed: list[bool]) -> dict[int, int]:
    """For each node that stands in a sum of products with constants, a number it shares with those beside it."""
    leader: dict[int, int] = {}

    def find(j: int) -> int:
        while leader.setdefault(j, j) != j:
            j = leader[j]
        return j

    for k in range(len(tape.nodes)):
        terms = _terms(tape, fixed, k) if tape.nodes[k][0] in LINEAR else []
        for j in terms[1:]:
            leader[find(j)] = find(terms[0])
    return {j: find(j) for j in leader}
