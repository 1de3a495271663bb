"""The page on JAX and PyTorch runs from top to bottom, as a reader would type it."""

from __future__ import annotations

import re
from pathlib import Path

import jax

PAGE = Path(__file__).resolve().parents[3] / "docs" / "jax-and-pytorch.md"


def test_the_examples_of_the_page_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    doubles, names = jax.config.jax_enable_x64, {}
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
    finally:
        jax.config.update("jax_enable_x64", doubles)
    printed = capsys.readouterr().out.split("\n")
    shapes = ["(1000, 6) (6, 6)", "(1000,) (1000, 100, 6)", "(500,) (500,)", "torch.Size([1000, 6])", "(6, 6)", ""]
    assert printed == shapes
