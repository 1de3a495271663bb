"""Rigid bodies with named points, and a leg, for tests of contacts."""

from __future__ import annotations

from appell import Actuator, Builder, Friction, Prismatic, Revolute, Robot


def free_body(points, mass=1.0, inertia=(0.1, 0.1, 0.1), gravity=(0.0, 0.0, -9.81), name="body") -> Robot:
    """Return a body with its centre of mass at the origin and points c0, c1, ... on it."""
    builder = Builder(name, base="floating", root="body", gravity=gravity)
    builder.root_body(mass, (0.0, 0.0, 0.0), inertia)
    for k, point in enumerate(points):
        builder.frame(f"c{k}", on="body", xyz=point)
    return builder.build()


def box(gravity=(0.0, 0.0, -9.81)) -> Robot:
    """Return a box with its four lower corners as points, 0.1 m below the centre."""
    return free_body([(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.3, 0.3)], 2.0, (0.05, 0.04, 0.06), gravity, "box")


def damped_leg(damped_by="law"):
    """Return a leg of light links below a heavy body, a law of springs, and a start above the floor.

    Without the floor the leg moves fast, so that damping by the law, or by the friction of the knee, must not act on
    the motion that the floor prevents.
    """
    builder, stance = Builder("leg", root=None), (-0.5, 1.0)
    knee = Actuator(friction=Friction(viscous=0.6 if damped_by == "friction" else 0.0))
    shin = {"mass": 0.1, "com": (0, 0, -0.1), "inertia": (1e-3, 1e-3, 1e-3), "actuator": knee}
    builder.link("body", Prismatic((0, 0, 1)), mass=8.0, inertia=(0.1, 0.1, 0.1))
    builder.link("thigh", Revolute((0, 1, 0)), parent="body", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    builder.link("shin", Revolute((0, 1, 0)), parent="thigh", xyz=(0, 0, -0.2), **shin)
    builder.frame("foot", on="shin", xyz=(0, 0, -0.2))
    gain = 0.6 if damped_by == "law" else 0.0

    def law(t, q, v):
        angles = zip(stance, q[1:], v[1:], strict=True)
        return [0.0] + [60.0 * (target - angle) - gain * rate for target, angle, rate in angles]

    return builder.build(), law, [0.37, *stance]
