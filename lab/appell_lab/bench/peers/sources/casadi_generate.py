"""Generate C of one quantity with CasADi: textbook recursions over its symbols, run as a separate program.

    python casadi_generate.py QUANTITY MODEL TARGET.c            MODEL as written by `pinocchio_text.py`

All quantities are in link axes, with (m, h, I) about the link's origin, s the link's origin in its parent and R its
rotation:

    ω  = Rᵀω_p + ω_J          ω̇ = Rᵀω̇_p + Rᵀω_p × ω_J + Σ b a                                                     (1)
    s̈  = Rᵀ(s̈_p + ω̇_p × s + ω_p × (ω_p × s)) + 2 Rᵀω_p × v_J + ω_J × v_J + Σ u a                                  (2)
    f  = m s̈ + ω̇ × h + ω × (ω × h)          n = I ω̇ + ω × I ω + h × s̈                                              (3)
    τ  = u·f + b·n                           f_p += R f,   n_p += R n + s × R f                                     (4)

for joints with the angular and linear axes (b, u). Composite bodies give the mass matrix, which is factored for forward
dynamics with few joints; with many joints, articulated bodies are used. Derivatives are those of CasADi's jacobian(),
along the velocities of a free base; the regressor is the Jacobian of (4) with respect to (m, h, I). A Runge-Kutta step
of `STEP` seconds evaluates forward dynamics four times in one function.
"""

import sys
from pathlib import Path
from typing import Any

import casadi as ca

STEP = 1e-3  # s
MAX_NV_FACTORED = 12  # up to this nv, factoring the mass matrix is cheaper than articulated bodies


class SymbolicJoint:
    """One line of the model, and the pose of the joint for given coordinates."""

    def __init__(self, line: str, at_q: int, at_v: int):
        kind, parent, *numbers = line.split()
        x = list(map(float, numbers))
        self.kind, self.parent = kind.removeprefix("JointModel"), int(parent) - 1
        self.rotation, self.translation = sparse([x[3:6], x[6:9], x[9:12]]), vector(x[12:15])
        self.mass, com, I = x[15], x[16:19], [x[19:22], x[22:25], x[25:28]]
        square = sum(c * c for c in com)
        about_origin = [[I[i][j] + x[15] * (square * (i == j) - com[i] * com[j]) for j in range(3)] for i in range(3)]
        self.h, self.I = vector([x[15] * c for c in com]), sparse(about_origin)
        self.is_free, self.is_prismatic = self.kind == "FreeFlyer", self.kind.startswith("P")
        axis = [float(self.kind.endswith(name)) for name in "XYZ"] if self.kind[-1] in "XYZ" else x[:3]
        self.axis = vector(axis)
        self.nq, self.nv = (7, 6) if self.is_free else (1, 1)
        self.q, self.v = slice(at_q, at_q + self.nq), slice(at_v, at_v + self.nv)
        zero = ca.SX(3, 1)
        units = [vector([float(i == k) for i in range(3)]) for k in range(3)]
        if self.is_free:
            self.axes = [(zero, unit) for unit in units] + [(unit, zero) for unit in units]
        else:
            self.axes = [(zero, self.axis) if self.is_prismatic else (self.axis, zero)]

    def pose(self, q):
        """Return R and s."""
        if self.is_free:
            return self.rotation @ quaternion(q[3:7]), self.translation + self.rotation @ q[:3]
        if self.is_prismatic:
            return self.rotation, self.translation + self.rotation @ (self.axis * q)
        c, s = ca.cos(q), ca.sin(q)
        K = ca.sparsify(ca.skew(self.axis))
        rotation = ca.sparsify(ca.simplify(ca.SX.eye(3) + s * K + (1 - c) * (K @ K)))
        for k in range(3):  # a coordinate axis: the exact matrix instead of 1 - (1 - cos)
            if float(self.axis[k]) == 1.0:
                i, j = (k + 1) % 3, (k + 2) % 3
                rotation = ca.SX(3, 3)
                rotation[k, k] = 1
                rotation[i, i] = rotation[j, j] = c
                rotation[i, j], rotation[j, i] = -s, s
        return self.rotation @ rotation, self.translation


def vector(x):
    """Return a sparse constant vector."""
    return ca.sparsify(ca.SX(ca.DM(x)))


def sparse(rows):
    """Return a sparse constant matrix; entries below 1e-15 are 0."""
    return ca.sparsify(ca.SX(ca.DM([[0.0 if abs(x) < 1e-15 else x for x in row] for row in rows])))


def quaternion(x):
    """Return the rotation matrix of a unit quaternion x y z w."""
    i, j, k, w = ca.vertsplit(x)
    return ca.vertcat(
        ca.horzcat(1 - 2 * (j * j + k * k), 2 * (i * j - k * w), 2 * (i * k + j * w)),
        ca.horzcat(2 * (i * j + k * w), 1 - 2 * (i * i + k * k), 2 * (j * k - i * w)),
        ca.horzcat(2 * (i * k - j * w), 2 * (j * k + i * w), 1 - 2 * (i * i + j * j)),
    )


def combine(parts, weights):
    """Return the weighted sum of 3-vectors."""
    total = ca.SX(3, 1)
    for part, weight in zip(parts, ca.vertsplit(weights), strict=True):
        total = total + part * weight
    return total


def inverse_dynamics(joints, gravity, q, v, a, bodies):
    """Return tau by (1) to (4); `bodies` are (m, h, I) per link."""
    zero, poses = ca.SX(3, 1), []
    motion: list[Any] = []
    for joint in joints:
        R, s = joint.pose(q[joint.q])
        w_p, dw_p, acc_p = motion[joint.parent] if joint.parent >= 0 else (zero, zero, -gravity)
        w_parent = R.T @ w_p
        spin, slide = (combine([axis[k] for axis in joint.axes], v[joint.v]) for k in (0, 1))
        accelerations = [combine([axis[k] for axis in joint.axes], a[joint.v]) for k in (0, 1)]
        dw = R.T @ dw_p + ca.cross(w_parent, spin) + accelerations[0]  # (1)
        relative = ca.cross(dw_p, s) + ca.cross(w_p, ca.cross(w_p, s))
        acc = R.T @ (acc_p + relative) + 2 * ca.cross(w_parent, slide) + ca.cross(spin, slide) + accelerations[1]  # (2)
        poses.append((R, s))
        motion.append((w_parent + spin, dw, acc))
    wrenches = []
    for (w, dw, acc), (m, h, I) in zip(motion, bodies, strict=True):
        f = m * acc + ca.cross(dw, h) + ca.cross(w, ca.cross(w, h))  # (3)
        wrenches.append([f, I @ dw + ca.cross(w, I @ w) + ca.cross(h, acc)])
    tau = ca.SX(v.shape[0], 1)
    for k in reversed(range(len(joints))):
        joint, (R, s), (f, n) = joints[k], poses[k], wrenches[k]
        tau[joint.v] = ca.vertcat(*(ca.dot(u, f) + ca.dot(b, n) for b, u in joint.axes))  # (4)
        if joint.parent >= 0:
            f_parent = R @ f
            wrenches[joint.parent][0] += f_parent
            wrenches[joint.parent][1] += R @ n + ca.cross(s, f_parent)
    return tau


def mass_matrix(joints, q, bodies):
    """Return the mass matrix by composite bodies."""
    n = joints[-1].v.stop
    M, poses, composite = ca.SX(n, n), [joint.pose(q[joint.q]) for joint in joints], [list(b) for b in bodies]
    for k in reversed(range(len(joints))):
        joint, (R, s), (m, h, I) = joints[k], poses[k], composite[k]
        if joint.parent >= 0:
            h_p, up = R @ h, composite[joint.parent]
            both = ca.skew(s) @ ca.skew(h_p)
            up[0] += m
            up[1] += h_p + m * s
            up[2] += R @ I @ R.T - both - both.T - m * (ca.skew(s) @ ca.skew(s))
        for column, (b, u) in enumerate(joint.axes):
            f, moment, here = m * u + ca.cross(b, h), I @ b + ca.cross(h, u), k
            while here >= 0:
                for row, (b_r, u_r) in enumerate(joints[here].axes):
                    entry = ca.dot(u_r, f) + ca.dot(b_r, moment)
                    i, j = joints[here].v.start + row, joint.v.start + column
                    M[i, j] = M[j, i] = entry
                R_here, s_here = poses[here]
                f = R_here @ f
                moment = R_here @ moment + ca.cross(s_here, f)
                here = joints[here].parent
    return M


def factored_solve(M, b):
    """Return M⁻¹ b by L D Lᵀ, without square roots."""
    n = b.shape[0]
    L = ca.SX.eye(n)
    D: list[Any] = []
    for j in range(n):
        D.append(M[j, j] - sum((L[j, k] * L[j, k] * D[k] for k in range(j)), ca.SX(0)))
        for i in range(j + 1, n):
            L[i, j] = (M[i, j] - sum((L[i, k] * L[j, k] * D[k] for k in range(j)), ca.SX(0))) / D[j]
    x = [b[i] for i in range(n)]
    for i in range(n):
        x[i] -= sum((L[i, k] * x[k] for k in range(i)), ca.SX(0))
    x = [x[i] / D[i] for i in range(n)]
    for i in reversed(range(n)):
        x[i] -= sum((L[k, i] * x[k] for k in range(i + 1, n)), ca.SX(0))
    return ca.vertcat(*x)


def articulated_bodies(joints, gravity, q, v, tau, bodies):
    """Forward dynamics by articulated bodies, with twists and wrenches (linear, angular) at the link's origin."""
    zero6, count = ca.SX(6, 1), len(joints)
    X: list[Any] = []
    S: list[Any] = []
    twist: list[Any] = []
    bias: list[Any] = []
    I: list[Any] = []
    p: list[Any] = []
    for joint, (m, h, inertia) in zip(joints, bodies, strict=True):
        R, s = joint.pose(q[joint.q])
        X.append(ca.sparsify(ca.vertcat(ca.horzcat(R.T, -R.T @ ca.skew(s)), ca.horzcat(ca.SX(3, 3), R.T))))
        S.append(ca.horzcat(*(ca.vertcat(u, b) for b, u in joint.axes)))
        joint_twist = S[-1] @ v[joint.v]
        twist.append((X[-1] @ twist[joint.parent] if joint.parent >= 0 else zero6) + joint_twist)
        bias.append(motion_cross(twist[-1]) @ joint_twist)
        H = ca.skew(h)
        I.append(ca.sparsify(ca.vertcat(ca.horzcat(m * ca.SX.eye(3), -H), ca.horzcat(H, inertia))))
        p.append(-motion_cross(twist[-1]).T @ (I[-1] @ twist[-1]))
    U, D, u = [ca.SX()] * count, [ca.SX()] * count, [ca.SX()] * count
    for k in reversed(range(count)):
        joint = joints[k]
        U[k] = I[k] @ S[k]
        D[k], u[k] = S[k].T @ U[k], tau[joint.v] - S[k].T @ p[k]
        if joint.parent >= 0:
            gain = U[k] / D[k]
            Ia = I[k] - gain @ U[k].T
            pa = p[k] + Ia @ bias[k] + gain * u[k]
            I[joint.parent] = I[joint.parent] + X[k].T @ Ia @ X[k]
            p[joint.parent] = p[joint.parent] + X[k].T @ pa
    world, a = ca.vertcat(-gravity, ca.SX(3, 1)), ca.SX(v.shape[0], 1)
    acc: list[Any] = []
    for k, joint in enumerate(joints):
        from_parent = X[k] @ (acc[joint.parent] if joint.parent >= 0 else world) + bias[k]
        rest = u[k] - U[k].T @ from_parent
        joint_acceleration = rest / D[k] if joint.nv == 1 else factored_solve(D[k], rest)
        a[joint.v] = joint_acceleration
        acc.append(from_parent + S[k] @ joint_acceleration)
    return a


def motion_cross(x):
    """Return the matrix of the cross product of two twists (linear, angular)."""
    w = ca.skew(x[3:6])
    return ca.vertcat(ca.horzcat(w, ca.skew(x[:3])), ca.horzcat(ca.SX(3, 3), w))


def tangent(joints, q):
    """Return the derivative of q with respect to each v: the identity except for a free base."""
    N = ca.SX(joints[-1].q.stop, joints[-1].v.stop)
    for joint in joints:
        if not joint.is_free:
            N[joint.q.start, joint.v.start] = 1
            continue
        i, j, k, w = ca.vertsplit(q[joint.q][3:7])
        N[joint.q.start : joint.q.start + 3, joint.v.start : joint.v.start + 3] = quaternion(q[joint.q][3:7])
        quaternion_rate = 0.5 * ca.vertcat(
            ca.horzcat(w, -k, j), ca.horzcat(k, w, -i), ca.horzcat(-j, i, w), ca.horzcat(-i, -j, -k)
        )
        N[joint.q.start + 3 : joint.q.stop, joint.v.start + 3 : joint.v.stop] = quaternion_rate
    return N


def quantity_of(name, joints, gravity, q, v, w):
    """Return the symbolic results of a quantity; w is a or tau."""
    bodies = [(joint.mass, joint.h, joint.I) for joint in joints]

    def forward(q=q, v=v):
        if len(ca.vertsplit(v)) <= MAX_NV_FACTORED:
            bias = inverse_dynamics(joints, gravity, q, v, ca.SX(v.shape[0], 1), bodies)
            return factored_solve(mass_matrix(joints, q, bodies), w - bias)
        return articulated_bodies(joints, gravity, q, v, w, bodies)

    if name == "mass_matrix":
        return [mass_matrix(joints, q, bodies)]
    if name == "regressor":
        pi = [ca.SX.sym(f"pi{k}", 10) for k in range(len(joints))]
        free = [(x[0], x[1:4], symmetric(x[4:])) for x in pi]
        return [ca.jacobian(inverse_dynamics(joints, gravity, q, v, w, free), ca.vertcat(*pi))]
    if name == "runge_kutta":
        return runge_kutta(forward, q, v)
    f = forward() if name.startswith("forward") else inverse_dynamics(joints, gravity, q, v, w, bodies)
    if not name.endswith("derivatives"):
        return [f]
    return [ca.jacobian(f, q) @ tangent(joints, q), ca.jacobian(f, v), ca.jacobian(f, w)]


def runge_kutta(forward, q, v):
    """Return (q, v) after a step of the classical method, for joints with one coordinate each."""
    a1 = forward(q, v)
    v2 = v + STEP / 2 * a1
    a2 = forward(q + STEP / 2 * v, v2)
    v3 = v + STEP / 2 * a2
    a3 = forward(q + STEP / 2 * v2, v3)
    v4 = v + STEP * a3
    a4 = forward(q + STEP * v3, v4)
    return [q + STEP / 6 * (v + 2 * v2 + 2 * v3 + v4), v + STEP / 6 * (a1 + 2 * a2 + 2 * a3 + a4)]


def symmetric(x):
    """Return the symmetric matrix of (xx, xy, yy, xz, yz, zz)."""
    xx, xy, yy, xz, yz, zz = ca.vertsplit(x)
    return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))


def main(name: str, model: str, target: str) -> None:
    """Read the model, and write the C of one quantity."""
    first, *lines = Path(model).read_text(encoding="utf-8").splitlines()
    gravity = vector(list(map(float, first.split()[1:])))
    joints: list[SymbolicJoint] = []
    for line in lines:
        joints.append(SymbolicJoint(line, *(joints[-1].q.stop, joints[-1].v.stop) if joints else (0, 0)))
    q, v, w = ca.SX.sym("q", joints[-1].q.stop), ca.SX.sym("v", joints[-1].v.stop), ca.SX.sym("w", joints[-1].v.stop)
    results = [ca.sparsify(ca.SX(result)) for result in quantity_of(name, joints, gravity, q, v, w)]
    function = ca.Function("kernel", [q, v, w], results, {"cse": True})
    generator = ca.CodeGenerator("kernel.c", {"with_header": False})
    generator.add(function)
    Path(target).write_text(generator.dump(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
