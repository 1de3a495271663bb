"""Random robots, compiled, against Pinocchio and against the differentiated Gibbs function.

A case is a tree and one of its functions, by one of the formulations, compiled for float64 or float32 and called on a
batch, on single samples and, in some cases, bound. Errors are relative to the size of the terms that a result is a sum
of: for joint forces Σ |Y π|, every parameter's share without its sign, and what Pinocchio itself rounds; for the
inertia matrix √(Mᵢᵢ Mⱼⱼ); for forward dynamics the joint forces that its answer misses (12 decades of mass leave no
other measure). `BOUND` is some hundred roundings. The second judge of joint forces is ∂S/∂a, the gradient of the
Gibbs function by the tape's own differentiation, run by the interpreter; it is held to Σ |Y π| alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.compile.evaluate import evaluate
from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.formulate.formulations import FORMULATIONS
from appell.lab.campaigns.fuzz.hunt import Case, Hunt, Verdict
from appell.lab.campaigns.fuzz.random_robots import fewer_links, plainer_links, random_links
from appell.lab.judges.peer_tree import PeerTree, our_robot, pinocchio

BOUND = {"d": 2.0**-52 * 512, "f": 2.0**-23 * 512}
FUNCTIONS = {"inverse": 30, "matrix": 15, "forward": 20, "energy": 5, "derivatives": 20, "forward derivatives": 10}
SAMPLES = 5  # more than a vector of four doubles and less than one of eight floats: every tail is met
LINKS = {"derivatives": 3, "forward derivatives": 2}  # at most, four for the others; one robot in ten has up to eight


class Robots(Hunt):
    """Random robots against Pinocchio."""

    name = "robots"
    about = "random trees compiled in f64 and f32, against Pinocchio and the differentiated Gibbs function"
    seconds = 60.0
    megabytes = 2000
    share = 2.0

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 2])
        weights = np.array(list(FUNCTIONS.values()), float)
        function = str(rng.choice(list(FUNCTIONS), p=weights / weights.sum()))
        links = random_links(rng, LINKS.get(function, 4 if rng.random() < 0.9 else 8))
        formulation = "gibbs-appell" if rng.random() < 0.5 else str(rng.choice(list(FORMULATIONS)))
        gravity = [0.0, 0.0, 0.0] if rng.random() < 0.1 else rng.normal(0.0, 5.0, 3).tolist()
        kind = {"dtype": "f" if rng.random() < 0.4 else "d", "bound": bool(rng.random() < 0.1)}
        what = {"function": function, "formulation": formulation, **kind}
        return {**what, "links": links, "gravity": gravity, "states": seed}

    def check(self, case: Case) -> Verdict:
        try:
            robot = our_robot(case["links"], case["gravity"])
            dyn = Dynamics(robot, case["formulation"], rotors=True)
        except ModelError as error:
            if "Pinocchio" in str(error):
                raise
            return Verdict(counts={"not for this formulation": 1})
        peer, rng = PeerTree(case["links"], case["gravity"], robot), np.random.default_rng([case["states"], 3])
        q = np.array([robot.random_configuration(rng, within_limits=False) for _ in range(SAMPLES)])
        v, a = rng.normal(size=(2, SAMPLES, robot.nv))
        if rng.random() < 0.1:
            v, a = v * 0.0, a * 0.0
        given, found = [x.astype(case["dtype"]) for x in (q, v, a)], {}
        measure = Measure(dyn, peer, case["bound"])
        found[f"{case['function']}, {np.dtype(case['dtype'])}"] = measure.error(case["function"], *given)
        if case["function"] == "inverse" and case["dtype"] == "d":
            found["inverse against the Gibbs gradient, float64"] = _gibbs_error(dyn, peer, q, v, a)
        counts = dict.fromkeys((case["formulation"], case["function"], str(np.dtype(case["dtype"]))), 1)
        counts |= {"links": len(case["links"]), "compiled and compared": 1}
        for name, error in found.items():
            bound = BOUND["f" if "float32" in name else "d"]
            if not error <= bound:
                return Verdict(f"{name}: error {error:.3g} relative to its terms, bound {bound:.3g}", name, found)
        return Verdict(figures=found, counts=counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for links in (*fewer_links(case["links"]), *plainer_links(case["links"])):
            yield case | {"links": links}
        for change in ({"gravity": [0.0, 0.0, 0.0]}, {"formulation": "gibbs-appell"}):
            if not change.items() <= case.items():
                yield case | change


class Measure:
    """How wrong the functions of a robot are, relative to their terms."""

    def __init__(self, dyn: Dynamics, peer: PeerTree, bound: bool):
        self.dyn, self.peer, self.bound = dyn, peer, bound

    def error(self, function: str, q, v, a) -> float:
        """The largest error of a function over the batch."""
        exact = [x.astype(float) for x in (q, v, a)]
        states = list(zip(*exact, strict=True))
        if function in ("matrix", "energy"):
            return getattr(self, f"_{function}")(q, v, states)
        terms = np.array([self.peer.judge_terms(*state) for state in states]).max(axis=0)  # a row's over all samples
        theirs = np.array([self.peer.inverse_dynamics(*state) for state in states])
        if function == "inverse":
            return _largest(self._called(self.dyn.inverse_dynamics, q, v, a)[0] - theirs, terms)
        if function == "derivatives":
            return self._derivatives(q, v, a, states, terms)
        tau = theirs.astype(q.dtype)
        if function == "forward":
            found = self._called(self.dyn.forward_dynamics, q, v, tau)[0].astype(float)
            return max(_missed(self.peer, *row) for row in zip(*exact[:2], tau.astype(float), found, strict=True))
        return self._inverse_inertia(q, v, tau, states)

    def _matrix(self, q, v, states) -> float:
        ours, theirs = self._called(self.dyn.mass_matrix, q)[0], [self.peer.mass_matrix(x) for x, _, _ in states]
        sizes = np.sqrt(np.diagonal(theirs, axis1=1, axis2=2))
        return _largest(ours - np.array(theirs), sizes[:, :, None] * sizes[:, None, :])

    def _energy(self, q, v, states) -> float:
        kinetic, potential = self._called(self.dyn.energy, q, v)
        theirs = np.array([self.peer.energy(x, y) for x, y, _ in states])
        matrices = [self.peer.mass_matrix(x) for x, _, _ in states]
        sizes = [(np.abs(y) * np.sqrt(np.diag(M))).sum() ** 2 for (_, y, _), M in zip(states, matrices, strict=True)]
        heights = np.array([self.peer.potential_terms(x) for x, _, _ in states])
        return max(_largest(kinetic - theirs[:, 0], np.array(sizes)), _largest(potential - theirs[:, 1], heights))

    def _derivatives(self, q, v, a, states, terms) -> float:
        ours = self._called(self.dyn.inverse_dynamics.jacobian("q", "v"), q, v, a)
        theirs = [np.array(part) for part in zip(*(self.peer.inverse_derivatives(*s) for s in states), strict=True)]
        sizes = terms[:, None] / _shortest(self.peer)
        return max(_largest(x - y, sizes) for x, y in zip(ours, theirs, strict=True))

    def _inverse_inertia(self, q, v, tau, states) -> float:
        """∂a/∂τ is M⁻¹, so that M times it is 1."""
        ours, worst = self._called(self.dyn.forward_dynamics.jacobian("tau"), q, v, tau)[0].astype(float), 0.0
        for (x, _, _), inverse in zip(states, ours, strict=True):
            M = self.peer.mass_matrix(x)
            size = np.sqrt(np.diag(M))
            scaled, back = M / np.outer(size, size), inverse * np.outer(size, size)
            worst = max(worst, _largest(scaled @ back - np.eye(len(M)), (np.abs(scaled) @ np.abs(back)).max()))
        return worst

    def _called(self, function: Function, *arguments: np.ndarray) -> list[np.ndarray]:
        """The results of a batch; samples alone, and bound, must give the same bits."""
        whole = function(*arguments)
        results = [np.asarray(x) for x in (whole if isinstance(whole, tuple) else (whole,))]
        bound = function.bind(arguments[0].dtype) if self.bound else None
        for k in range(SAMPLES):
            alone = function(*(x[k] for x in arguments))
            ways = [("called alone", alone if isinstance(alone, tuple) else (alone,))]
            if bound is not None:
                for x, array in zip(arguments, function.inputs, strict=True):
                    getattr(bound, array.name)[...] = x[k]
                bound()
                ways.append(("bound", tuple(getattr(bound, array.name) for array in function.outputs)))
            for way, values in ways:
                if not all(np.array_equal(x[k], y, equal_nan=True) for x, y in zip(results, values, strict=True)):
                    raise AssertionError(f"{function.name} {way} differs from its batch in sample {k}")
        return results


def _missed(peer: PeerTree, q, v, tau, a) -> float:
    """How far an acceleration is from needing these forces."""
    size = np.sqrt(np.diag(peer.mass_matrix(q)))
    terms = np.maximum(peer.judge_terms(q, v, a), size * (size @ np.abs(a)))
    return _largest(peer.inverse_dynamics(q, v, a) - tau, terms)


def _gibbs_error(dyn: Dynamics, peer: PeerTree, q, v, a) -> float:
    gradient = dyn.gibbs_function.jacobian("a").tape
    ours = dyn.inverse_dynamics(q[0], v[0], a[0])
    terms = np.array([peer.torque_terms(*state) for state in zip(q, v, a, strict=True)]).max(axis=0)
    return _largest(ours - evaluate(gradient, q[0], v[0], a[0])[0].ravel(), terms)


def _shortest(peer: PeerTree) -> float:
    """A length that places of the tree are not much below: derivatives by a slide divide by one."""
    lengths = [float(np.linalg.norm(link[key])) for link in peer.links for key in ("xyz", "com")]
    return min(0.05, *[x for x in lengths if x > 0.0] or [0.05])


def _largest(error: np.ndarray, size) -> float:
    """The largest error over its size; what should be nothing and is not counts as infinite."""
    size = np.broadcast_to(size, np.shape(error))
    with np.errstate(all="ignore"):
        ratio = np.where(error == 0.0, 0.0, np.abs(error) / size)
    return float(np.where(np.isnan(ratio), np.inf, ratio).max(initial=0.0))
