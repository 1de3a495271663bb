"""Derivatives of functions, and their operation counts.

Run it with: python examples/04_derivatives_and_counts.py
"""

import numpy as np

import appell as ap

dyn = ap.Dynamics(ap.load("puma"))
rng = np.random.default_rng(4)
q, v, a = rng.normal(size=(3, 6))

# One kernel for several derivatives; results are in the order of the names.
derivatives = dyn.inverse_dynamics.jacobian("q", "v", "a")
dtau_dq, dtau_dv, dtau_da = derivatives(q, v, a)
assert np.allclose(dtau_da, dyn.mass_matrix(q))
assert np.allclose(derivatives(np.stack([q] * 7), v, a)[0][3], dtau_dq)

# A derivative is a Function again, and can be differentiated: the Hessian of the torques.
hessian = dyn.inverse_dynamics.jacobian("q").jacobian("q")
d2tau = hessian(q, v, a)
assert np.allclose(d2tau, np.swapaxes(d2tau, -1, -2))

# The Gibbs function is the definition: its gradient with respect to a is the inverse dynamics, its
# Hessian the inertia matrix.
S = dyn.gibbs_function
assert np.allclose(S.gradient("a")(q, v, a), dyn.inverse_dynamics(q, v, a))
assert np.allclose(S.gradient("a").jacobian("a")(q, v, a), dyn.mass_matrix(q))

print(f"{'':34} mul    add   div  trig")
for function in (
    dyn.gravity,
    dyn.mass_matrix,
    dyn.inverse_dynamics,
    dyn.forward_dynamics,
    derivatives,
    hessian,
    S.gradient("a"),
):
    count = function.count()
    print(f"{function.name:32} {count.mul:5}  {count.add:5} {count.div:5} {count.trig:5}")

# The tape of a function can be printed.
print()
print(ap.Dynamics(ap.load("pendulum")).inverse_dynamics.tape)
