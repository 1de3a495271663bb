"""Mutated files: each is either read or rejected with an AppellError, quickly and with little memory.

The files are robots (URDF, TOML, xacro) and records (CSV, NPZ, Parquet, journals of control loops). What can be read is
used: a robot is written and read again, and the path of a record is computed. The descriptions inside journals and
archives are also mutated before they are packed with correct lengths and checksums; otherwise the code behind these
checks would never be reached.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from appell.describe.load import load, load_text
from appell.describe.write import to_toml, to_urdf
from appell.errors import AppellError, ModelWarning
from appell.model.robot import Robot
from appell.motion.record import Record
from appell_lab.fuzz.minimise import shorter
from appell_lab.fuzz.mutations import BINARY, TEXT, mutate
from appell_lab.fuzz.originals import archive, journal, originals
from appell_lab.fuzz.target import Case, Target, Verdict

SHARES = {"urdf": 6, "toml": 6, "xacro": 1, "csv": 3, "npz": 1, "parquet": 0.3, "log": 1, "head": 1, "about": 1}
PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "head": ("log", journal),
    "about": ("npz", lambda text: archive(text.decode("utf-8", "replace"))),
}
BASES = ("fixed", "fixed", "floating", "planar", "spherical")


class Files(Target):
    """Mutated files of every format."""

    name = "files"
    about = "mutated URDF, TOML, xacro, CSV, NPZ, Parquet and journals"

    def prepare(self) -> None:
        originals()

    def case(self, seed: int) -> Case:
        rng, kinds = np.random.default_rng([seed, 1]), list(SHARES)
        shares = np.array([SHARES[kind] for kind in kinds])
        kind = kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))]
        valid = originals()[kind]
        data = mutate(rng, valid[int(rng.integers(len(valid)))], BINARY if kind in ("npz", "parquet", "log") else TEXT)
        options = {"base": BASES[int(rng.integers(len(BASES)))], "physical": bool(rng.random() < 0.5)}
        return {"kind": kind, "content": data.decode("latin-1"), **options}

    def check(self, case: Case) -> Verdict:
        data, ending = case["content"].encode("latin-1"), case["kind"]
        if ending in PACKED:
            ending, pack = PACKED[ending]
            data = pack(data)
        read = 0
        with tempfile.TemporaryDirectory(prefix="appell-fuzz-") as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ModelWarning)
            path = Path(folder) / f"mutated.{ending}"
            path.write_bytes(data)
            try:
                if ending in ("urdf", "toml", "xacro"):
                    _use_robot(path, case["base"], case["physical"])
                else:
                    _use_record(path)
                read = 1
            except AppellError as error:
                if not str(error).strip():
                    return Verdict("an error without a message", "error without message")
        return Verdict(counts={case["kind"]: 1, "of which read": read})

    def smaller(self, case: Case) -> Iterator[Case]:
        for content in shorter(case["content"]):
            yield case | {"content": content}


def _use_robot(path: Path, base: str, physical: bool) -> None:
    system = load(path, base=base, physical=physical)
    repr(system)
    load_text(to_toml(system), "toml", physical=physical)
    if isinstance(system, Robot):
        to_urdf(system)


def _use_record(path: Path) -> None:
    record = Record.read(path)
    repr(record)
    if "q" in record and len(record) > 1:
        with np.errstate(all="ignore"):  # numbers close to overflow are valid
            record.in_si().path()
