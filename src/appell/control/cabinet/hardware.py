"""The hardware interface: all that a loop may do to an arm. Whoever has a cabinet of their own writes such a class.

open      take hold of the cards; outputs stay off
read      fill an array with the signals (see `signals`); False if nothing new came
write     give the codes of the output converters; this is also the loop's sign of life
enable    switch the amplifiers on and release the brakes
disable   switch the amplifiers off and let the brakes fall in; must work at any time, and twice
clear     set a tripped watchdog back, when a person says so
close     let go; outputs off
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from appell.control.cabinet.wiring import Wiring


class Hardware(Protocol):
    """A cabinet, real or simulated."""

    wiring: Wiring

    def open(self) -> None: ...

    def read(self, into: np.ndarray) -> bool: ...

    def write(self, codes: np.ndarray) -> None: ...

    def write_tool(self, outputs: int) -> None: ...

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def clear(self) -> None: ...

    def close(self) -> None: ...


class Mute:
    """Hardware that does nothing when it is told to; who derives from it says what is read."""

    def open(self) -> None: ...

    def write(self, codes: np.ndarray) -> None: ...

    def write_tool(self, outputs: int) -> None: ...

    enable = disable = clear = close = open
