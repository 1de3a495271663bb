"""fatrop from CasADi's wheel, with the functions of the problem as CasADi's C, compiled with gcc.

CasADi writes the functions of all knots as one straight text, which gcc -O2 compiles in 200 s for a PUMA and 100 knots.
Here, cost, step and their first and second derivatives of one knot are symbolic functions (`SX`, without structural
zeros), and maps call them for all knots. The text is much shorter, is compiled in 20 s, and is also faster. The names
of the functions are those that `nlpsol` looks up in a library. The dynamics are appell's, exported to CasADi.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from appell_lab.bench.peers.builds import TARGET, BuildFolder, compiler
from appell_lab.references.reaching import Reaching

FLAGS = ("-O2", "-march=native", "-fPIC", "-shared")
TOLERANCE, MAX_ITERATIONS = 1e-8, 1000


class FatropC:
    """A reaching problem for fatrop.

    Parameters
    ----------
    problem : the problem
    builds : folder of compiled functions
    """

    def __init__(self, problem: Reaching, builds: BuildFolder):
        import casadi as ca

        self.problem, self.nv, self.knots = problem, problem.system.nv, problem.steps
        library = self._library(builds, ca)
        options: dict[str, Any] = {
            "structure_detection": "auto",
            "equality": [True] * (2 * self.nv * self.knots),
            "fatrop": {"print_level": 0, "tol": TOLERANCE, "max_iter": MAX_ITERATIONS},
            "print_time": False,
        }
        self.solver = ca.nlpsol("solver", "fatrop", str(library), options)
        self._numbers = self._bounds_and_guess()

    def solve(self) -> dict[str, Any]:
        """Solve the problem from its first guess; return cost, iterations, states, torques and processor time, s."""
        lower, upper, guess = self._numbers
        before = time.process_time()
        answer = self.solver(x0=guess, lbx=lower, ubx=upper, lbg=0.0, ubg=0.0)
        seconds = time.process_time() - before
        stats, z, nv = self.solver.stats(), np.array(answer["x"]).ravel(), self.nv
        stages = z[: 3 * nv * self.knots].reshape(self.knots, 3 * nv)
        return {
            "cost": float(answer["f"]),
            "iterations": stats["iter_count"],
            "converged": bool(stats["success"]),
            "seconds": seconds,
            "seconds in functions": sum(x for name, x in stats.items() if name.startswith("t_proc_nlp")),
            "x": np.vstack([stages[:, : 2 * nv], z[-2 * nv :]]),
            "u": stages[:, 2 * nv :],
        }

    def _bounds_and_guess(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        problem, free = self.problem, np.full(self.nv, np.inf)
        speed, torque = (np.array(x) if x else free for x in (problem.speed, problem.torque))
        low = np.r_[problem.lower or -free, -speed]
        high = np.r_[problem.upper or free, speed]
        start = np.r_[problem.q0, np.zeros(self.nv)]
        later = self.knots - 1
        lower = np.r_[start, -torque, np.tile(np.r_[low, -torque], later), low]
        upper = np.r_[start, torque, np.tile(np.r_[high, torque], later), high]
        gravity = np.clip(problem.dyn.gravity(np.array(problem.q0)), -torque, torque)
        return lower, upper, np.r_[np.tile(np.r_[start, gravity], self.knots), start]

    def _library(self, builds: BuildFolder, ca: Any) -> Path:
        generator = ca.CodeGenerator("nlp", {"with_header": False})
        for function in self._functions(ca):
            generator.add(function)
        text = builds.keep("fatrop.c", generator.dump())
        command = [compiler("gcc"), *FLAGS, str(text), "-o", TARGET, "-lm"]
        return builds.make("fatrop.so", command, [text], f"fatrop's functions of {self.problem.name}")

    def _functions(self, ca: Any) -> list[Any]:
        p, h, N, nv = self.problem, self.problem.dt, self.knots, self.nv
        nx, nz = 2 * nv, 3 * nv
        y, x = ca.SX.sym("y", nz), ca.SX.sym("x", nx)  # a knot: q, v, tau
        weight, costate = ca.SX.sym("w"), ca.SX.sym("c", nx)
        q, v, tau = y[:nv], y[nv:nx], y[nx:]
        v_next = v + h * p.dyn.forward_dynamics.to_casadi()(q, v, tau)
        following = ca.vertcat(q + h * v_next, v_next)
        goal, (wq, wv, wu), (Wq, Wv) = ca.DM(p.goal), p.running, p.final
        running = 0.5 * h * (wq * ca.sumsqr(q - goal) + wv * ca.sumsqr(v) + wu * ca.sumsqr(tau))
        final = 0.5 * (Wq * ca.sumsqr(x[:nv] - goal) + Wv * ca.sumsqr(x[nv:]))
        if p.tool:
            position = p.dyn.pose(p.tool).to_casadi()(x[:nv])[:3, 3]
            final += 0.5 * p.tool_weight * ca.sumsqr(position - ca.DM(p.target))
        second, first = ca.hessian(weight * running - ca.dot(costate, following), y)
        second_final, first_final = ca.hessian(weight * final, x)

        step = ca.Function("step", [y], [following])
        step_jacobian = ca.Function("step_jacobian", [y], [following, ca.jacobian(-following, y)])
        cost = ca.Function("cost", [y], [running])
        gradient = ca.Function("gradient", [y], [ca.gradient(running, y)])
        adjoint = ca.Function("adjoint", [y, weight, costate], [first])
        hessian = ca.Function("hessian", [y, weight, costate], [first, second])
        last = ca.Function("last", [x], [final])
        last_adjoint = ca.Function("last_adjoint", [x, weight], [first_final])
        last_hessian = ca.Function("last_hessian", [x, weight], [first_final, second_final])

        z, none = ca.MX.sym("x", nz * N + nx), ca.MX.sym("p", 0)
        factor, multiplier = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", nx * N)
        Y, end = ca.reshape(z[: nz * N], nz, N), z[nz * N :]
        after = ca.horzcat(Y[:nx, 1:], end)
        columns = [(k + 1) * nz + i for k in range(N) for i in range(nx)]  # of the state after each knot, in z
        shift = ca.DM(ca.Sparsity.triplet(nx * N, nz * N + nx, list(range(nx * N)), columns), 1.0)
        f, g = ca.sum2(cost.map(N)(Y)) + last(end), ca.vec(after - step.map(N)(Y))
        reached, blocks = step_jacobian.map(N)(Y)
        diagonal = ca.sparsity_cast(blocks, ca.diagcat(*[step_jacobian.sparsity_out(1)] * N))
        jacobian = ca.horzcat(diagonal, ca.MX(nx * N, nx)) + shift
        of_knots = (Y, ca.repmat(factor, 1, N), ca.reshape(multiplier, nx, N))
        grad_f = ca.vertcat(ca.vec(gradient.map(N)(Y)), last_adjoint(end, 1.0))
        grad_gamma = ca.vertcat(ca.vec(adjoint.map(N)(*of_knots)), last_adjoint(end, factor)) + shift.T @ multiplier
        firsts, seconds = hessian.map(N)(*of_knots)
        first_end, second_end = last_hessian(end, factor)
        lagrangian_gradient = ca.vertcat(ca.vec(firsts), first_end) + shift.T @ multiplier
        curvature = ca.diagcat(ca.sparsity_cast(seconds, ca.diagcat(*[hessian.sparsity_out(1)] * N)), second_end)
        plain, weighted = ([z, none], ["x", "p"]), ([z, none, factor, multiplier], ["x", "p", "lam_f", "lam_g"])
        table = {
            "nlp": (plain, {"f": f, "g": g}),
            "nlp_f": (plain, {"f": f}),
            "nlp_g": (plain, {"g": g}),
            "nlp_grad_f": (plain, {"grad_f_x": grad_f}),
            "nlp_jac_g": (plain, {"g": ca.vec(after - reached), "jac_g_x": jacobian}),
            "nlp_hess_l": (weighted, {"grad_gamma_x": lagrangian_gradient, "hess_gamma_x_x": curvature}),
            "nlp_grad": (weighted, {"f": f, "g": g, "grad_gamma_x": grad_gamma, "grad_gamma_p": ca.MX(0, 1)}),
        }
        return [
            ca.Function(name, given, list(results.values()), names, list(results))
            for name, ((given, names), results) in table.items()
        ]
