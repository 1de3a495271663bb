"""What pages are told without asking: that the first actor moved, or that there is another scene.

Pages wait for it (a long poll): a page says the number of the last news it has seen, and is answered as soon as there
is a higher one, or with nothing new after a while. Who is slow misses what was in between, and gets the latest.
"""

from __future__ import annotations

import threading
from typing import Any

from appell.display.puppets import Reply

PATIENCE = 20.0  # seconds until a page is told that there is nothing new


def plain(answer: Reply) -> dict[str, Any]:
    """An answer as JSON has it."""
    poses = [[float(x) for x in pose] for pose in answer.poses]
    return {"values": [float(x) for x in answer.values], "poses": poses, "note": answer.note}


class News:
    """The latest, and its number."""

    def __init__(self):
        self.number = 0
        self._changed = threading.Condition()
        self._staged = 0  # the number of the last scene
        self._moved: dict[str, Any] | None = None  # since then
        self._over = False

    def staged(self) -> None:
        """There is another scene."""
        with self._changed:
            self.number += 1
            self._staged, self._moved = self.number, None
            self._changed.notify_all()

    def moved(self, answer: Reply) -> None:
        """The first actor of the scene is elsewhere."""
        with self._changed:
            self.number += 1
            self._moved = plain(answer)
            self._changed.notify_all()

    def after(self, seen: int, patience: float = PATIENCE) -> dict[str, Any]:
        """What happened after the news of a number, as soon as something did."""
        with self._changed:
            self._changed.wait_for(lambda: self.number > seen or self._over, patience)
            if self._staged > seen:
                return {"number": self.number, "scene": True}
            fresh = self._moved if self.number > seen else None
            told = {key: {} if fresh is None else {"0": fresh[key]} for key in ("poses", "values")}
            return {"number": self.number, **told}

    def close(self) -> None:
        """Nothing will happen any more: let all who wait go."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
