"""Steps of scans, and the reference for their repetition: a Python loop over the function of one step."""

import numpy as np

from appell.algebra.loops import Rows
from appell.algebra.scalar import cos, sin
from appell.compile.scan import Scan


def repeated(scan, arguments, every):
    """Return the results of a scan, by calling its step repeatedly."""
    count, fixed = len(scan.arguments.carried), len(scan.arguments.carried) + len(scan.arguments.held)
    arguments = [np.asarray(x) for x in arguments]
    state, held, driven = arguments[:count], arguments[count:fixed], arguments[fixed:]
    axes = [x.ndim - 1 - len(array.shape) for x, array in zip(driven, scan.arguments.driven, strict=True)]
    stored = []
    for k in range(driven[0].shape[axes[0]]):
        now = [np.take(x, k, axis) for x, axis in zip(driven, axes, strict=True)]
        results = scan.step(*state, *held, *now)
        results = results if isinstance(results, tuple) else (results,)
        state = results[:count]
        if (k + 1) % every == 0:
            stored.append(results)
    ndims = [len(array.shape) for array in scan.outputs]
    return [
        np.stack([row[k] for row in stored], axis=stored[0][k].ndim - ndim) if stored else None
        for k, ndim in enumerate(ndims)
    ]


def pendulums(name="pendulums", size=3):
    """Return a scan of coupled pendulums under a force, with held damping, and with their energy as a result."""

    def body(q, v, p, t, u):
        last, force = q[-1], [x * cos(3.0 * t) for x in u]
        a = [f - sin(x) - p[0] * y + p[1] * sin(last - x) for f, x, y in zip(force, q, v, strict=True)]
        v = [y + 0.05 * z for y, z in zip(v, a, strict=True)]
        q = [x + 0.05 * y for x, y in zip(q, v, strict=True)]
        return {"energy": sum(y * y for y in v) - 2.0 * sum(cos(x) for x in q), "q": q, "v": v, "p0": p[0]}

    return Scan.of(name, {"q": size, "v": size}, {"p": 2}, {"t": (), "u": size}, body)


def rolled(iterations=4, size=3):
    """Return a scan whose step has a loop."""

    def body(q, v, p, t, u, loops):
        start = [*q, *(x * p[0] for x in v)]
        now, force = loops.table(1, 2 * size), loops.table(1, size)
        first = loops.given([[x + 0.1 * p[1] for x in start]])
        push = loops.given([[x * cos(t) for x in u]])
        loops.each([lambda y, u: [y, u]], [0], [Rows(first, [0]), Rows(push, [0])], [Rows(now, [0]), Rows(force, [0])])

        def loop_body(y, u, numbers):
            x, z = y[:size], y[size:]
            z = [w + numbers[0] * (f - sin(s)) for f, s, w in zip(u, x, z, strict=True)]
            return [[s + 0.01 * w for s, w in zip(x, z, strict=True)] + z]

        here = [0] * iterations
        steps = [[0.1 / (k + 1)] for k in range(iterations)]
        loops.each([loop_body], here, [Rows(now, here), Rows(force, here)], [Rows(now, here)], steps)
        x = loops.values(now)[0]
        return {"q": x[:size], "v": x[size:], "sum": sum(x)}

    return Scan.of("rolled", {"q": size, "v": size}, {"p": 2}, {"t": (), "u": size}, body, loops=True)


def drawn(scan, count, steps, kind="d", seed=0):
    """Return random arguments of a scan."""
    draw = np.random.default_rng(seed)
    fixed = len(scan.arguments.carried) + len(scan.arguments.held)
    shapes = [(count, *(steps,) * (k >= fixed), *array.shape) for k, array in enumerate(scan.inputs)]
    return [draw.uniform(-1, 1, shape).astype(kind) for shape in shapes]


def assert_same(got, want):
    got = got if isinstance(got, tuple) else (got,)
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
