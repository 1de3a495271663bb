"""Tests keep their compiled code in a folder of their own, one for all workers of a run."""

from __future__ import annotations

import os
import tempfile

if "APPELL_CACHE" not in os.environ:
    os.environ["APPELL_CACHE"] = tempfile.mkdtemp(prefix="appell-tests-")  # workers inherit it
