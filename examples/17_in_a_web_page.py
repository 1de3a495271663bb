"""A robot in a web page and in TypeScript: its equations as WebAssembly, and a live page that simulates it.

Writes a folder that any web server can publish: python -m http.server --directory web

Run it with: python examples/17_in_a_web_page.py [FOLDER]
"""

import shutil
import sys
from pathlib import Path

import appell as ap
from appell.simulation import Rollout

folder = Path(sys.argv[1] if sys.argv[1:] else "web")
arm = ap.load("planar-2r")

# one step of a rollout, and a function of the dynamics; each is name.wasm, name.mjs and name.d.mts
Rollout(arm, friction=False).scan.to_wasm("arm_step").write(folder, overwrite=True)
ap.Dynamics(arm).inverse_dynamics.to_wasm("arm_torques").write(folder, overwrite=True)

for source in (Path(__file__).parent / "web").iterdir():  # swing.html draws the arm, torques.mts is TypeScript
    shutil.copy(source, folder)

ap.live_page(arm, folder / "live.html", overwrite=True)
for path in sorted(folder.iterdir()):
    print(f"{path.name}: {path.stat().st_size:,} bytes")
