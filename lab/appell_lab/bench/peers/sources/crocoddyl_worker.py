"""crocoddyl in its own environment: reads one JSON request per line, writes one JSON answer per line.

    {"do": "versions"}
    {"do": "accelerations", "problem": {...}, "q": [...], "v": [...], "tau": [...]}     of appell's problem statement
    {"do": "solve", "problem": {...}}              cost, iterations, states and torques, to convergence
    {"do": "iteration", "problem": {...}}          processor time of an iteration from the first guess, best of turns
    {"do": "walking"}                              crocoddyl's own problem of a walking ANYmal, with times

An iteration is `computeDirection(True)` (calc, calcDiff, backward pass) and `tryStep(1)` (forward pass), which is what
FDDP executes if the first step length is accepted.
"""

import json
import sys
import time
from importlib.metadata import version

import crocoddyl
import numpy as np
import pinocchio

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
STOP, MAX_ITERATIONS = 1e-12, 1000  # STOP is about the square of a gradient


def build(statement):
    """Return the shooting problem of a statement and its first guess."""
    model = pinocchio.buildModelFromXML(statement["urdf"])
    model.gravity.linear = np.array(statement["gravity"])
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    goal = np.r_[np.array(statement["goal"]), np.zeros(model.nv)]

    def costs(weights, control):
        total = crocoddyl.CostModelSum(state)
        diagonal = np.r_[np.full(model.nv, weights[0]), np.full(model.nv, weights[1])]
        activation = crocoddyl.ActivationModelWeightedQuad(diagonal)
        residual = crocoddyl.ResidualModelState(state, goal, actuation.nu)
        total.addCost("state", crocoddyl.CostModelResidual(state, activation, residual), 1.0)
        if control:
            residual = crocoddyl.ResidualModelControl(state, np.zeros(model.nv))
            total.addCost("control", crocoddyl.CostModelResidual(state, residual), control)
        elif statement["tool"]:
            frame, target = model.getFrameId(statement["tool"]), np.array(statement["target"])
            residual = crocoddyl.ResidualModelFrameTranslation(state, frame, target, actuation.nu)
            total.addCost("tool", crocoddyl.CostModelResidual(state, residual), statement["tool_weight"])
        return total

    def step(total, dt):
        differential = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, total)
        return crocoddyl.IntegratedActionModelEuler(differential, dt)

    running = step(costs(statement["running"], statement["running"][2]), statement["dt"])
    last = step(costs(statement["final"], 0.0), 0.0)
    if statement["torque"]:
        running.u_lb, running.u_ub = -np.array(statement["torque"]), np.array(statement["torque"])
    q0 = np.array(statement["q0"])
    x0, N = np.r_[q0, np.zeros(model.nv)], statement["steps"]
    problem = crocoddyl.ShootingProblem(x0, [running] * N, last)
    problem.nthreads = 1
    u0 = pinocchio.computeGeneralizedGravity(model, model.createData(), q0)
    if statement["torque"]:
        u0 = np.clip(u0, running.u_lb, running.u_ub)
    return problem, [x0] * (N + 1), [u0] * N


def solver_of(problem, bounded):
    solver = crocoddyl.SolverBoxFDDP(problem) if bounded else crocoddyl.SolverFDDP(problem)
    solver.th_stop = STOP
    return solver


def best_time(function, budget=2.0):
    """Return the least processor time of a call, s, in turns that take `budget` seconds together."""
    function()
    times: list[float] = []
    begin = time.process_time()
    while time.process_time() - begin < budget or len(times) < 3:
        before = time.process_time()
        function()
        times.append(time.process_time() - before)
    return min(times)


def accelerations(request):
    problem, _, _ = build(request["problem"])
    model = problem.runningModels[0].differential
    data = model.createData()
    results = []
    for q, v, tau in zip(request["q"], request["v"], request["tau"], strict=True):
        model.calc(data, np.r_[q, v], np.array(tau))
        results.append(data.xout.tolist())
    return {"a": results}


def solve(request):
    statement = request["problem"]
    problem, xs, us = build(statement)
    solver = solver_of(problem, bool(statement["torque"]))

    def run():
        solver.solve(xs, us, MAX_ITERATIONS, False)

    seconds = best_time(run, request.get("budget", 2.0))
    result = {"cost": solver.cost, "iterations": solver.iter, "seconds": seconds, "stop": solver.stop}
    return result | {"x": np.array(solver.xs).tolist(), "u": np.array(solver.us).tolist()}


def iteration_times(solver, xs, us):
    """Return the times of the parts of an iteration from a guess, s."""
    problem = solver.problem
    solver.setCandidate(xs, us, False)

    def complete():
        solver.computeDirection(True)
        solver.tryStep(1.0)

    parts = {
        "calc": lambda: problem.calc(xs, us),
        "calcDiff": lambda: problem.calcDiff(xs, us),
        "backwardPass": solver.backwardPass,
        "forwardPass": lambda: solver.forwardPass(1.0),
    }
    result = {"iteration": best_time(complete)}
    return result | {name: best_time(part, 0.5) for name, part in parts.items()}


def iteration(request):
    problem, xs, us = build(request["problem"])
    return iteration_times(solver_of(problem, bool(request["problem"]["torque"])), xs, us)


def walking(request):
    import example_robot_data
    from crocoddyl.utils.quadruped import SimpleQuadrupedalGaitProblem

    robot = example_robot_data.load("anymal")
    x0 = np.r_[robot.model.referenceConfigurations["standing"], np.zeros(robot.model.nv)]
    gait = SimpleQuadrupedalGaitProblem(robot.model, *FEET)
    problem = gait.createWalkingProblem(x0, 0.25, 0.15, 1e-2, 25, 2)  # as in crocoddyl's example
    problem.nthreads = 1
    solver = crocoddyl.SolverFDDP(problem)
    xs = [x0] * (problem.T + 1)
    us = problem.quasiStatic([x0] * problem.T)
    times = iteration_times(solver, xs, us)
    solver.solve(xs, us, 100, False)
    knots = []
    for model in problem.runningModels:
        impulse = model.nu == 0
        inner = model if impulse else model.differential
        knot = {"impulse": impulse}
        if not impulse:
            knot["contacts"] = [name.removesuffix("_contact") for name in inner.contacts.active_set]
        for name, item in inner.costs.costs.todict().items():
            if name == "comTrack" or name.endswith("_footTrack"):
                knot[name.removesuffix("Track").removesuffix("_foot")] = item.cost.residual.reference.tolist()
        knots.append(knot)
    bounds = [x[-robot.model.nv - 12 :].tolist() for x in (gait.state.lb, gait.state.ub)]  # of the twelve joints and v
    sizes = {"knots": problem.T, "ndx": gait.state.ndx, "nu": 12, "course": knots, "bounds": bounds}
    data = robot.model.createData()
    pinocchio.framesForwardKinematics(robot.model, data, x0[: robot.model.nq])
    feet = {name: data.oMf[robot.model.getFrameId(name)].translation.tolist() for name in FEET}
    start = {"x0": x0.tolist(), "joints": list(robot.model.names[2:]), "feet": feet}
    return sizes | times | start | {"cost": solver.cost, "iterations": solver.iter}


def versions(request):
    return {name: version(name) for name in ("crocoddyl", "pin", "example-robot-data")}


def main():
    actions = {f.__name__: f for f in (accelerations, solve, iteration, walking, versions)}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = actions[request["do"]](request)
        except Exception as error:  # the other side raises it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
