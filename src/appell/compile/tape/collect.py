"""Collecting by constants: a sum of products with constants becomes one product per constant.

    ω̇_y s_z - ω̇_z s_y + ω_y (ω_x s_y - ω_y s_x) - ω_z (ω_z s_x - ω_x s_z)
        = s_x (-ω_y² - ω_z²) + s_y (ω_x ω_y - ω̇_z) + s_z (ω_x ω_z + ω̇_y)

Constants in which a formula is linear, such as lengths and inertias, are then multiplied by coefficients that are the
same for all lengths and inertias of a link and are computed once. Every node that is a sum is represented as a linear
form {constant: coefficient}. A form is merged into a node that uses it

    if that node is a sum, a change of sign or a product with a constant and is the only user; and into a product with
    a constant in any case if the form is a single product                                                         (1)
    if that node is a product with x, where x and all coefficients of the form are side by side in another form, as
    the components of one vector are, and the same holds for all other users of the form: then x times a coefficient
    is a square or mixed product of that vector, which other nodes use as well                                     (2)

and is summed up before any other use. The pass may increase the cost; `simplest` returns the cheaper tape.
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
    """Return the tape collected by constants if that costs less, otherwise the tape itself."""
    return min(tape, factor(collect(tape, constants)), key=lambda candidate: count(candidate, constants).total)


def collect(tape: Tape, constants: Container[int] = ()) -> Tape:
    """Return the same computation with sums collected by constants; `constants` are inputs treated as constants."""
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
        self.index: dict[int, int] = {}  # nodes of the new tape, by node, once they are computed
        self.forms: dict[int, Form] = {}  # forms by node, not summed up yet
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
        """Return the node as a linear form; None if it is not one, or a plain sum into which no form is merged."""
        b, (op, *operands) = self.graph, self.tape.nodes[k]
        if op in LINEAR:
            if not any(self._is_merged(j, k) for j in operands):
                return None
            first = self._operand_form(operands[0], k)
            if op == Op.NEG:
                return {c: b.neg(e) for c, e in first.items()}
            form = dict(first)
            for c, e in self._operand_form(operands[1], k).items():
                self._join(form, c, e if op == Op.ADD else b.neg(e))
            return form
        if op == Op.MUL:
            x, y = operands
            if self.fixed[y]:
                x, y = y, x
            if self.fixed[x]:
                return self._scaled(self._value(x), self._operand_form(y, k))  # (1)
            for x, y in (operands, operands[::-1]):
                if self._is_merged(y, k):
                    return {c: b.mul(self._value(x), e) for c, e in self._operand_form(y, k).items()}  # (2)
        return None

    def _scaled(self, scale: int, form: Form) -> Form:
        scaled: Form = {}
        for c, e in form.items():
            self._join(scaled, self.graph.mul(scale, c), e)
        return scaled

    def _join(self, form: Form, c: int, e: int) -> None:
        """Add c e to a form; if it has c e already, the sum is (2 c) e, not c (2 e)."""
        if form.get(c) == e:
            del form[c]
            self._join(form, self.graph.mul(self.graph.const(2.0), c), e)
        else:
            form[c] = self.graph.add(form[c], e) if c in form else e

    def _is_merged(self, k: int, user: int) -> bool:
        """Return whether the form of node k is merged into the node `user`."""
        if k not in self.forms:
            return False
        op, *operands = self.tape.nodes[user]
        scales = op == Op.MUL and any(self.fixed[j] for j in operands)
        if (self.uses[k] == 1 and op in LINEAR) or (scales and (self.uses[k] == 1 or len(self.forms[k]) == 1)):
            return True
        return k not in self.results and all(self._is_quadratic(k, other) for other in self.users[k])

    def _is_quadratic(self, k: int, user: int) -> bool:
        """Return whether `user` is a product of form k with a sibling of its coefficients, as in (2)."""
        op, *operands = self.tape.nodes[user]
        if op != Op.MUL or operands[0] == operands[1]:
            return False
        other = operands[1] if operands[0] == k else operands[0]
        family = self.family.get(other)
        return family is not None and all(self.family.get(j) == family for j in _terms(self.tape, self.fixed, k))

    def _operand_form(self, k: int, user: int) -> Form:
        return self.forms[k] if self._is_merged(k, user) else {self.one: self._value(k)}

    def _value(self, k: int) -> int:
        """Return the node as one value, its form summed up; constants of equal coefficients are added first."""
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
    """Return the nodes multiplied by constants in a sum of a few products; empty if node k is something else."""
    op, *operands = tape.nodes[k]
    if op == Op.MUL and fixed[operands[0]] != fixed[operands[1]]:
        return [operands[1] if fixed[operands[0]] else operands[0]]
    if op in LINEAR and depth:
        parts = [_terms(tape, fixed, j, depth - 1) for j in operands]
        return [j for part in parts for j in part] if all(parts) else []
    return []


def _families(tape: Tape, fixed: list[bool]) -> dict[int, int]:
    """Return, for each node in a sum of products with constants, an index that it shares with the others there."""
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
