"""Random robots, compared with Pinocchio and with the differentiated Gibbs function.

A case is a tree and one of its functions, in one of the formulations, compiled for float64 or float32 and called with a
batch, with single samples and, in some cases, as a bound function. Errors are relative to the magnitude of the terms
that a result is a sum of (`robot_errors`); `BOUND` is several hundred roundings. Joint forces are also compared with
∂S/∂a, the gradient of the Gibbs function by differentiation of its tape, evaluated by the interpreter, relative to
Σ |Y π| alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.formulate.formulations import FORMULATIONS
from appell_lab.fuzz.random_robots import fewer_links, plainer_links, random_links
from appell_lab.fuzz.robot_errors import Measure, gibbs_error
from appell_lab.fuzz.target import Case, Target, Verdict
from appell_lab.references.peer_tree import PeerTree, our_robot, pinocchio

BOUND = {"d": 2.0**-52 * 512, "f": 2.0**-23 * 512}
FUNCTIONS = {"inverse": 30, "matrix": 15, "forward": 20, "energy": 5, "derivatives": 20, "forward derivatives": 10}
SAMPLES = 5  # more than a vector of four doubles and less than one of eight floats, so that incomplete vectors occur
MAX_LINKS = {"derivatives": 3, "forward derivatives": 2}  # 4 for other functions; 8 for one robot in ten


class Robots(Target):
    """Random robots, compared with Pinocchio."""

    name = "robots"
    about = "random trees in float64 and float32, compared with Pinocchio and the differentiated Gibbs function"
    seconds = 60.0
    megabytes = 2000
    share = 2.0

    def prepare(self) -> None:
        pinocchio()

    def case(self, seed: int) -> Case:
        rng = np.random.default_rng([seed, 2])
        weights = np.array(list(FUNCTIONS.values()), float)
        function = str(rng.choice(list(FUNCTIONS), p=weights / weights.sum()))
        links = random_links(rng, MAX_LINKS.get(function, 4 if rng.random() < 0.9 else 8))
        formulation = "gibbs-appell" if rng.random() < 0.5 else str(rng.choice(list(FORMULATIONS)))
        gravity = [0.0, 0.0, 0.0] if rng.random() < 0.1 else rng.normal(0.0, 5.0, 3).tolist()
        call = {"dtype": "f" if rng.random() < 0.4 else "d", "bound": bool(rng.random() < 0.1)}
        choice = {"function": function, "formulation": formulation, **call}
        return {**choice, "links": links, "gravity": gravity, "states": seed}

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
        arguments, errors = [x.astype(case["dtype"]) for x in (q, v, a)], {}
        measure = Measure(dyn, peer, case["bound"])
        errors[f"{case['function']}, {np.dtype(case['dtype'])}"] = measure.error(case["function"], *arguments)
        if case["function"] == "inverse" and case["dtype"] == "d":
            errors["inverse against the Gibbs gradient, float64"] = gibbs_error(dyn, peer, q, v, a)
        counts = dict.fromkeys((case["formulation"], case["function"], str(np.dtype(case["dtype"]))), 1)
        counts |= {"links": len(case["links"]), "compiled and compared": 1}
        for name, value in errors.items():
            bound = BOUND["f" if "float32" in name else "d"]
            if not value <= bound:
                return Verdict(f"{name}: error {value:.3g} relative to its terms, bound {bound:.3g}", name, errors)
        return Verdict(figures=errors, counts=counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for links in (*fewer_links(case["links"]), *plainer_links(case["links"])):
            yield case | {"links": links}
        for change in ({"gravity": [0.0, 0.0, 0.0]}, {"formulation": "gibbs-appell"}):
            if not change.items() <= case.items():
                yield case | change
