"""Units of columns: what each quantity is in unless a record says otherwise, and other sizes of those units."""

from __future__ import annotations

import numpy as np

from appell.errors import ArgumentError

# the quantities that columns are named after, each with its unit; those of q, v, a, tau depend on the joint
QUANTITIES = {
    "q": "rad or m",
    "v": "rad/s or m/s",
    "w": "rad/s or m/s",
    "a": "rad/s² or m/s²",
    "tau": "N m or N",
    "qd": "rad or m",
    "vd": "rad/s or m/s",
    "ad": "rad/s² or m/s²",
    "integral": "rad s or m s",
    "gap": "rad or m",
    "memory": "",  # of a law
    "impulse": "N s",
    "code": "1",
    "counts": "1",
    "index_counts": "1",
    "index_seen": "1",
    "volts": "V",
    "hot": "1",
}
SCALARS = {"t": "s", "energy": "J"}

# unit -> its SI unit and how many of those it is
SI = {
    "rad": ("rad", 1.0),
    "deg": ("rad", np.pi / 180.0),
    "m": ("m", 1.0),
    "mm": ("m", 1e-3),
    "Nm": ("N m", 1.0),
    "N": ("N", 1.0),
    "mNm": ("N m", 1e-3),
    "kNm": ("N m", 1e3),
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
}
RATES = {"v": "/s", "vd": "/s", "a": "/s²", "ad": "/s²"}


def in_si(unit: str) -> tuple[str, float]:
    """The SI unit of a unit such as deg or mm/s, and how many of it that is; an unknown unit stands for itself."""
    base, slash, rate = unit.partition("/")
    name, factor = SI.get(base, (base, 1.0))
    return name + slash + rate, factor


def declared(quantity: str, unit: str) -> str:
    """The unit of a quantity that is said to be in, for example, deg: deg/s if it is a velocity."""
    if unit.partition("/")[0] not in SI:
        raise ArgumentError(f"column '{quantity}' in '{unit}' is not understood.", expected=", ".join(SI))
    return unit if "/" in unit else unit + RATES.get(quantity, "")
