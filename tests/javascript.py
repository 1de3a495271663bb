"""Functions that run exported WebAssembly in Node.js and return its results as arrays."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from appell.compile.wasm.source import WasmModule
from programs import find_program

NO_SIMD = "--no-enable-sse4-1"  # V8 needs SSE4.1 for the SIMD instructions of WebAssembly

_SCRIPT = """
import { readFileSync } from "node:fs";
import load from "./@name@.mjs";
const { arrays, options } = JSON.parse(readFileSync("given.json", "utf8"));
const f = await load();
await f.ready;
const numbers = f.dtype === "float32" ? Float32Array : Float64Array;
const decoded = (text) => new numbers(Uint8Array.from(Buffer.from(text, "base64")).buffer);
const given = Object.fromEntries(Object.entries(arrays).map(([name, text]) => [name, decoded(text)]));
const encoded = (results) => Object.fromEntries(Object.entries(results).map(([name, value]) => {
  return [name, Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")];
}));
const single = (k) => {
  for (const { name, size } of f.inputs) {
    const start = given[name].length > size ? k * size : 0;
    f.input[name].set(given[name].subarray(start, start + size));
  }
  f.run();
  return encoded(f.output);
};
const answer = { simd: f.simd, many: encoded(options ? f.rollout(given, options) : f.batch(given)) };
const { name, size } = f.inputs[0];
answer.singles = options ? [] : Array.from({ length: given[name].length / size }, (_, k) => single(k));
console.log(JSON.stringify(answer));
"""


def run_node(folder: Path, text: str, *options: str) -> str:
    """Run a module in Node.js and return what it prints; raise RuntimeError with its message if it fails."""
    (folder / "script.mjs").write_text(text, encoding="utf-8")
    command = [find_program("node"), *options, "script.mjs"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    return ended.stdout


def run_wasm(
    files: WasmModule, folder: Path, arrays: Mapping[str, Any], options: Mapping[str, int] | None = None, *flags: str
) -> tuple[bool, dict[str, np.ndarray], list[dict[str, np.ndarray]]]:
    """Run a batch, or a rollout with options, and all samples one by one.

    Return whether SIMD instructions were used, the results of the batch and those of each sample, as flat arrays.
    """
    files.write(folder, overwrite=True)
    dtype = np.float32 if "Float32Array" in files.declarations else np.float64
    texts = {name: base64.b64encode(np.asarray(x, dtype).tobytes()).decode() for name, x in arrays.items()}
    (folder / "given.json").write_text(json.dumps({"arrays": texts, "options": options}))
    answer = json.loads(run_node(folder, _SCRIPT.replace("@name@", files.name), *flags))

    def decoded(results: Mapping[str, str]) -> dict[str, np.ndarray]:
        return {name: np.frombuffer(base64.b64decode(text), dtype) for name, text in results.items()}

    return answer["simd"], decoded(answer["many"]), [decoded(each) for each in answer["singles"]]
