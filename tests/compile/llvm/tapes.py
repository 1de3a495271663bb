"""Tapes for tests of the emitter: explicit, or random with values of moderate magnitude."""

from __future__ import annotations

import random

import numpy as np

from appell.algebra.loops import Rows
from appell.algebra.scalar import cos, sin
from appell.compile.program.program import Program
from appell.compile.program.roll import roll
from appell.compile.tape.formula import fused
from appell.compile.tape.ops import ARITY, TRANSCENDENTAL, Op
from appell.compile.tape.tape import Array, Node, Tape, arrays, verify

ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.FMA, Op.FMS, Op.FNMA)
EVERYTHING = (*ARITHMETIC, Op.DIV, Op.SQRT, Op.ATAN2, Op.SELECT, Op.SIN, Op.COS)
FUNCTIONS = (Op.ABS, Op.SIGN, Op.MINIMUM, Op.MAXIMUM, *TRANSCENDENTAL)


def tape(inputs: dict, outputs: dict, nodes: list[Node], results: list[int], name: str = "f") -> Tape:
    described = (tuple(Array(key, shape) for key, shape in side.items()) for side in (inputs, outputs))
    return verify(Tape(name, *described, tuple(nodes), tuple(results)))


def unary(op: Op) -> Tape:
    return tape({"x": ()}, {"y": ()}, [(Op.INPUT, 0), (op, 0)], [1], name=op.name.lower())


def binary(op: Op) -> Tape:
    return tape({"x": (), "y": ()}, {"z": ()}, [(Op.INPUT, 0), (Op.INPUT, 1), (op, 0, 1)], [2], name=op.name.lower())


def random_tape(
    seed: int,
    length: int = 120,
    inputs: dict[str, tuple] | None = None,
    outputs: dict[str, tuple] | None = None,
    ops: tuple[Op, ...] = EVERYTHING,
    name: str = "random",
) -> Tape:
    """Operands are among the last values, so that the tape is deep, but none that has grown beyond a thousand."""
    draw = random.Random(seed)
    inputs = inputs or {"q": (3,), "v": (3,), "a": (2, 2)}
    outputs = outputs or {"tau": (3,), "M": (3, 3), "e": ()}
    scalars = sum(Array(key, shape).size for key, shape in inputs.items())
    nodes: list[Node] = [(Op.INPUT, k) for k in range(scalars)]
    nodes += [(Op.CONST, draw.uniform(0.5, 1)) for _ in range(5)]
    leaves = len(nodes)
    size = [2.0] * leaves
    for _ in range(length):
        op = draw.choice(ops)
        operands = [draw.randrange(max(0, len(nodes) - 40), len(nodes)) for _ in range(ARITY[op])]
        operands = [k if size[k] < 1e3 else draw.randrange(leaves) for k in operands]
        if op in (Op.MUL, Op.FMA, Op.FMS, Op.FNMA):
            operands[0] = draw.randrange(leaves)
        elif op == Op.DIV:
            operands[1] = leaves - 1
        nodes.append((op, *operands))
        size.append(1.0 if op in (Op.SIN, Op.COS) else 2.0 * sum(size[k] for k in operands))
    count = sum(Array(key, shape).size for key, shape in outputs.items())
    results = [draw.randrange(len(nodes) - length // 2, len(nodes)) for _ in range(count)]
    return tape(inputs, outputs, nodes, results, name=f"{name}{seed}")


def arm_like(seed: int = 0) -> Tape:
    """Return a tape like the inverse dynamics of a PUMA: five sines and cosines, about 330 fused instructions."""
    inputs = {"q": (6,), "v": (6,), "a": (6,)}
    return random_tape(seed, 340, inputs, {"tau": (6,)}, (*ARITHMETIC, Op.SIN, Op.COS), name="arm")


def arm_looped(seed: int = 0) -> Program:
    """Return a program with the same arguments and results: a loop outward along six links, and one back."""
    draw = np.random.default_rng(seed)
    numbers = draw.uniform(-1, 1, (6, 3)).tolist()

    def out(parent, joint, row):
        q, v, a = joint
        turned = [sin(q) * parent[0] + row[0], cos(q) * parent[1] + v * row[1]]
        return turned, [turned[0] * a + row[2] * turned[1], turned[1] - a]

    def back(link, parent):
        return [link[0] * link[1]], [parent[0] + 0.5 * link[0], parent[1] - link[1]]

    def body(q, v, a, loops):
        state, force, tau = loops.table(7, 2), loops.table(7, 2), loops.table(6, 1)
        loops.each([lambda: [[0.1, 0.2], [0.0, 0.0]]], [0], [], [Rows(state, [6]), Rows(force, [6])])
        joints = loops.given(list(zip(q, v, a, strict=True)))
        parents, inward = [6, 0, 1, 1, 3, 4], range(5, -1, -1)
        every = [Rows(state, range(6)), Rows(force, range(6))]
        loops.each([out], [0] * 6, [Rows(state, parents), Rows(joints, range(6))], every, numbers)
        received = Rows(force, [parents[k] for k in inward])
        loops.each([back], [0] * 6, [Rows(force, inward), received], [Rows(tau, inward), received])
        return {"tau": [row[0] for row in loops.values(tau)]}

    return fused(roll(f"arm{seed}", arrays({"q": 6, "v": 6, "a": 6}), body))
