"""The colour of a surface: sky and ground, one lamp over the viewer's shoulder, a gloss and a rim; as on the page.

Colours c are mixed as light, that is squared, with the normal n, the lamp l, the viewer v and h halfway between them:

    c'² = c² (ground + (sky - ground) (1 + n·up) / 2 + lamp max(n·l, 0)) + gloss max(n·h, 0)³² + rim (1 - n·v)³ sky

Surfaces have no inside: what is seen from behind is lit as if it were turned around.
"""

from __future__ import annotations

import numpy as np

SKY, GROUND = np.array([0.62, 0.65, 0.70], np.float32), np.array([0.30, 0.30, 0.31], np.float32)
LAMP, GLOSS, RIM = 0.55, 0.10, 0.10
SHOULDER = (-0.42, 0.66, 0.62)  # where the lamp is: right, up and towards the viewer


class Light:
    """The lights of a picture that is seen along these axes."""

    def __init__(self, axes: np.ndarray, up):
        lamp = np.array(SHOULDER) @ axes
        self.lamp = (lamp / np.linalg.norm(lamp)).astype(np.float32)
        self.up = np.asarray(up, np.float32)

    def on(self, colors: np.ndarray, normals: np.ndarray, rays: np.ndarray) -> np.ndarray:
        """Colours (n, 3) with normals of any length, seen along rays of any length."""
        n, view = _unit(normals), -_unit(rays)
        front = np.einsum("ni,ni->n", n, view)
        n *= np.where(front < 0.0, np.float32(-1.0), np.float32(1.0))[:, None]
        gloss = np.maximum(np.einsum("ni,ni->n", n, _unit(view + self.lamp)), 0.0)
        for _ in range(5):
            gloss *= gloss  # to the power of 32
        rim, high, lit = (
            1.0 - np.abs(front),
            0.5 + 0.5 * (np.einsum("ni,i->n", n, self.up)),
            LAMP * np.maximum(np.einsum("ni,i->n", n, self.lamp), 0.0),
        )
        light = GROUND + (SKY - GROUND) * high[:, None] + lit[:, None]
        mixed = colors * colors * light + (GLOSS * gloss)[:, None] + (RIM * rim * rim * rim)[:, None] * SKY
        return np.sqrt(np.minimum(mixed, 1.0))


def _unit(vectors: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.einsum("ni,ni->n", vectors, vectors))
    return vectors / np.maximum(size, 1e-12)[:, None]
