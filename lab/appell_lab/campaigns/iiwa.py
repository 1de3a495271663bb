"""An arm of seven axes identified from logs that Pinocchio made, again and again: what a user may rely on.

The KUKA LBR iiwa 14 with the numbers of its published URDF (iiwa_stack, `iiwa_description/urdf/iiwa14.xacro`). Torques
are Pinocchio's inverse dynamics of the true arm along a Fourier series, with friction added here, by the letter of
`model.friction` but not by its code: every joint has its own levels and its own width, some change sign at once. The
description that identification starts from has every mass, centre of mass and size wrong by 15 %, up or down by chance,
and no friction. Noise is white, of positions and of torques.

    excitation   five sines a joint, 20 s at 200 Hz: reach 1 rad, 0.5 rad, and weak, 0.15 rad
    noise        of torque 1, 5 and 20 % of its change in a strong motion; of position 5, 20 and 100 µrad
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import pi

import numpy as np

from appell.describe.load import load_text
from appell.identify import ParameterSet, PhysicallyConsistent, dead_zones, judge, process, select_parameters, split
from appell.model.body import Body
from appell.model.system import System
from appell.motion.paths.fourier import Fourier
from appell.motion.record import Record
from appell_lab.bench.subject import pinocchio

# mass, centre of mass, principal moments; then the joint below: place and roll, pitch, yaw; range in degrees
LINKS = (
    (4.0, (0, -0.03, 0.12), (0.1, 0.09, 0.02), (0, 0, 0.1575), (0, 0, 0), 170),
    (4.0, (0.0003, 0.059, 0.042), (0.05, 0.018, 0.044), (0, 0, 0.2025), (pi / 2, 0, pi), 120),
    (3.0, (0, 0.03, 0.13), (0.08, 0.075, 0.01), (0, 0.2045, 0), (pi / 2, 0, pi), 170),
    (2.7, (0, 0.067, 0.034), (0.03, 0.01, 0.029), (0, 0, 0.2155), (pi / 2, 0, 0), 120),
    (1.7, (0.0001, 0.021, 0.076), (0.02, 0.018, 0.005), (0, 0.1845, 0), (-pi / 2, pi, 0), 170),
    (1.8, (0, 0.0006, 0.0004), (0.005, 0.0036, 0.0047), (0, 0, 0.2155), (pi / 2, 0, 0), 120),
    (0.3, (0, 0, 0.02), (0.001, 0.001, 0.001), (0, 0.081, 0), (-pi / 2, pi, 0), 175),
)
OFF = 0.15  # of masses, centres and sizes in the description
EXCITATIONS = {"strong": (1.0, 0.1), "usual": (0.5, 0.1), "weak": (0.15, 0.1)}  # rad, and Hz of the first of five sines
NOISE = {"low": (0.01, 5e-6), "middle": (0.05, 2e-5), "high": (0.2, 1e-4)}
RATE, SECONDS = 200.0, 20.0
HELD = 1e9  # a pull that no data move


def urdf() -> str:
    """The published arm, bare of meshes."""
    lines = ['<robot name="iiwa14">', '  <link name="link_0"/>']
    for k, (mass, com, moments, place, rpy, reach) in enumerate(LINKS, start=1):
        inertia = dict(zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), (*moments, 0, 0, 0), strict=True))
        lines += [
            f'  <link name="link_{k}">',
            "    <inertial>",
            f'      <origin xyz="{_text(com)}" rpy="0 0 0"/>',
            f'      <mass value="{mass}"/>',
            "      <inertia " + " ".join(f'{key}="{x}"' for key, x in inertia.items()) + "/>",
            "    </inertial>",
            "  </link>",
            f'  <joint name="joint_{k}" type="revolute">',
            f'    <parent link="link_{k - 1}"/> <child link="link_{k}"/>',
            f'    <origin xyz="{_text(place)}" rpy="{_text(rpy)}"/>',
            '    <axis xyz="0 0 1"/>',
            f'    <limit lower="{-reach * pi / 180}" upper="{reach * pi / 180}" effort="300" velocity="10"/>',
            "  </joint>",
        ]
    return "\n".join([*lines, "</robot>", ""])


@lru_cache(maxsize=4)
def described(seed: int) -> System:
    """The arm as identification is told: every body off by `OFF`, up or down."""
    rng, arm, bodies = np.random.default_rng(seed), load_text(urdf(), "urdf"), {}
    for name, body in arm.bodies.items():
        assert body is not None
        mass, size, away = 1.0 + OFF * rng.choice([-1.0, 1.0], 3)
        bodies[name] = Body(mass * body.mass, away * body.com, (mass * size * size) * body.inertia)
    return arm.with_bodies(bodies)


@dataclass(frozen=True)
class Case:
    """One log: which excitation, which noise, which chance."""

    excitation: str
    noise: str
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 7])

    def friction(self) -> dict[str, np.ndarray]:
        """The true levels and widths of the seven joints."""
        rng, size = self.rng, np.array([4.0, 4.0, 2.0, 2.0, 1.0, 0.6, 0.4])
        return {
            "coulomb": 0.25 * size * rng.uniform(0.5, 1.5, 7),
            "viscous": 0.25 * size * rng.uniform(0.5, 1.5, 7),
            "offset": 0.05 * size * rng.normal(size=7),
            "width": np.where(rng.uniform(size=7) < 0.3, 0.0, np.exp(rng.uniform(np.log(0.005), np.log(0.05), 7))),
        }

    def path(self, part: int = 0) -> Fourier:
        """A series about a bent pose, of chance phases; each `part` is another."""
        reach, first = EXCITATIONS[self.excitation]
        rng = np.random.default_rng([self.seed, part, 3])
        size = reach * rng.uniform(0.5, 1.0, (5, 7)) / np.sqrt(np.arange(1, 6))[:, None]
        size *= reach / np.abs(size).sum(axis=0)
        phase = rng.uniform(0.0, 2.0 * pi, (5, 7))
        speed = size * 2.0 * pi * first * np.arange(1, 6)[:, None]
        bent = np.array([0.3, 0.5, -0.4, -1.2, 0.5, 0.9, 0.2])
        return Fourier(first, speed * np.cos(phase), speed * np.sin(phase), bent, SECONDS)

    def log(self, part: int = 0) -> Record:
        """What the joints would have recorded: t, q and tau."""
        pin, rng = pinocchio(), np.random.default_rng([self.seed, part, 11])
        model = pin.buildModelFromXML(urdf())
        data, law = model.createData(), self.friction()
        t = np.arange(0.0, SECONDS, 1.0 / RATE)
        q, v, a = self.path(part)(t)
        tau = np.array([pin.rnea(model, data, *sample) for sample in zip(q, v, a, strict=True)])
        with np.errstate(invalid="ignore"):
            sign = np.nan_to_num(v / np.sqrt(v * v + law["width"] ** 2))
        tau += law["coulomb"] * sign + law["viscous"] * v + law["offset"]
        share, angle = NOISE[self.noise]
        loads = np.array([2.5, 15.0, 2.5, 2.5, 0.5, 0.5, 0.2])  # N m, about the rms of their changes in a strong motion
        tau += share * loads * rng.normal(size=tau.shape)
        names = [f"joint_{k}" for k in range(1, 8)]
        return Record.of(t, {"q": q + angle * rng.normal(size=q.shape), "tau": tau}, names)


@lru_cache(maxsize=4)
def _parameter_set(seed: int) -> ParameterSet:
    return select_parameters(described(seed), friction=True)


@dataclass(frozen=True)
class ArmFound:
    """What identification made of a log, with the settings of the command line."""

    case: Case
    masses: np.ndarray  # distance from the truth, relative to it
    described: np.ndarray  # the same, of the description
    off: float  # how far the description was found to be off
    error: float  # of held-out torque, relative to its range, of what is kept
    error_described: float  # of the description
    error_bodies: float  # of the described bodies with the friction that fits them best
    covered: dict[str, np.ndarray]  # of friction: whether the 95 % interval of every joint holds the truth
    passed: bool

    @property
    def further(self) -> float:
        """How much further from the truth than the description the worst mass is, as a share of the mass."""
        return float((self.masses - self.described).max())

    @property
    def worst_ratio(self) -> float:
        """The largest distance of a mass from the truth in units of the description's."""
        return float((self.masses / self.described).max())


def identified(case: Case) -> ArmFound:
    """One log, fitted on its first part and judged on the rest."""
    log, parameter_set = case.log(), _parameter_set(case.seed)
    fit_on, rest = split(process(log))[0], split(process(log, smooth=True))[1]
    options = {"dead_zone": dead_zones(parameter_set, fit_on)}
    fit = PhysicallyConsistent(parameter_set, **options).fit_record(fit_on)
    held = PhysicallyConsistent(fit.parameter_set_, prior_weight=HELD, **options).fit_record(fit_on)
    verdict = judge(fit, rest)
    truth, kept = case.friction(), verdict.best.estimator
    bounds = dict(zip(fit.base_.names, fit.intervals(), strict=True))
    covered = {}
    for kind, symbol in (("coulomb", "fc"), ("viscous", "fv"), ("offset", "fo")):
        low, high = np.array([bounds[f"{symbol}{k}"] for k in range(1, 8)]).T
        covered[kind] = (low <= truth[kind]) & (truth[kind] <= high)
    masses = np.array([link[0] for link in LINKS])
    return ArmFound(
        case,
        np.abs(kept.parameters_[:70:10] / masses - 1.0),
        np.abs(parameter_set.nominal[:70:10] / masses - 1.0),
        fit.result("description_error_"),
        verdict.best.error,
        verdict.described.error,
        judge(held, rest).judgements[0].error,
        covered,
        verdict.passed,
    )


def _text(numbers) -> str:
    return " ".join(repr(float(x)) for x in numbers)
