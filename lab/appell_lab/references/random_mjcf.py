"""Random MJCF documents that use the features supported by appell.

They contain defaults and classes, angles in degrees or radians, five forms of orientation, frames, replicas, inertia
from shapes or by numbers, several joints per body with anchors anywhere, `ref`, armature, damping, springs, limits,
actuators of several kinds, sites, equality constraints, and elements without effect on the motion. The same seed gives
the same document.
"""

from __future__ import annotations

import numpy as np

SHAPES = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
MAX_BODIES = 8


def split_mjcf(text: str, rng: np.random.Generator) -> dict[str, str]:
    """Return a document as files by name: main.xml includes its default, actuator and equality sections, or some."""
    files, head = {}, text
    for tag in ("default", "actuator", "equality", "sensor"):
        start, end = head.find(f"<{tag}>"), head.rfind(f"</{tag}>") + len(f"</{tag}>")
        if start >= 0 and rng.random() < 0.6:
            files[f"{tag}.xml"] = f"<mujocoinclude>{head[start:end]}</mujocoinclude>"
            head = f'{head[:start]}<include file="{tag}.xml"/>{head[end:]}'
    return files | {"main.xml": head}


def random_mjcf(seed: int, *, loops: bool = False) -> str:
    """Return a document; with `loops`, it may have equality constraints."""
    return _Text(np.random.default_rng(seed), loops).document(seed)


class _Text:
    def __init__(self, rng: np.random.Generator, loops: bool):
        self.rng, self.loops = rng, loops
        self.degrees = bool(rng.random() < 0.5)
        self.left = int(rng.integers(1, MAX_BODIES))
        self.joints: list[tuple[str, str]] = []  # name, kind
        self.bodies: list[str] = []

    def document(self, seed: int) -> str:
        rng, world = self.rng, ""
        while self.left > 0:
            world += self._body(root=True)
        compiler = f'<compiler angle="{"degree" if self.degrees else "radian"}" autolimits="true"/>'
        gravity = self._numbers(3, 9.0) if rng.random() < 0.5 else "0 0 -9.81"
        default = f"""<default><joint armature="{self._up_to(0.3)}" damping="{self._up_to(0.5)}"/>
          <geom density="{200 + 800 * rng.random():.6g}"/>
          <default class="other"><joint armature="{self._up_to(0.2)}" axis="{self._numbers(3)}"/></default></default>"""
        parts = [
            compiler,
            f'<option gravity="{gravity}"/>',
            default,
            f"<worldbody>{world}{self._static_elements()}</worldbody>",
        ]
        parts += [self._actuators(), self._equality() if self.loops else "", self._sensors()]
        return f'<mujoco model="random{seed}">\n' + "\n".join(filter(None, parts)) + "\n</mujoco>\n"

    # ---- bodies

    def _body(self, root: bool = False, depth: int = 0) -> str:
        rng, name = self.rng, f"b{len(self.bodies)}"
        self.bodies.append(name)
        self.left -= 1
        inside = self._joints(name, root) if rng.random() < 0.9 or root else ""
        inside += self._mass() + "".join(self._site(name, k) for k in range(rng.integers(0, 2)))
        while self.left > 0 and depth < 5 and rng.random() < 0.6:
            child = self._body(depth=depth + 1)
            if rng.random() < 0.2:
                child = f'<frame pos="{self._numbers(3, 0.2)}" {self._orientation()}>{child}</frame>'
            inside += child
        style = ' childclass="other"' if rng.random() < 0.2 else ""
        return f'<body name="{name}" pos="{self._numbers(3, 0.5)}" {self._orientation()}{style}>\n{inside}</body>\n'

    def _joints(self, body: str, root: bool) -> str:
        rng = self.rng
        if root and rng.random() < 0.3:
            self.joints.append((f"{body}_free", "free"))
            if rng.random() < 0.5:
                return f'<freejoint name="{body}_free"/>'
            return f'<joint name="{body}_free" type="free" armature="0" damping="{self._up_to(0.3)}"/>'
        kinds = list(rng.choice(["hinge", "slide"], size=rng.integers(1, 4), p=[0.7, 0.3]))
        if rng.random() < 0.2:
            kinds = ["slide"] * int(rng.random() < 0.5) + ["ball"]
        return "".join(self._joint(f"{body}_j{k}", str(kind)) for k, kind in enumerate(kinds))

    def _joint(self, name: str, kind: str) -> str:
        rng, words = self.rng, [f'name="{name}" type="{kind}"']
        self.joints.append((name, kind))
        if kind != "ball":
            words.append(f'axis="{self._numbers(3)}"')
            if rng.random() < 0.4:
                words.append(f'ref="{self._angle(kind):.6g}"')
            if rng.random() < 0.3:
                words.append(f'stiffness="{self._up_to(20)}" springref="{self._angle(kind):.6g}"')
            if rng.random() < 0.4:
                low, high = sorted((self._angle(kind), self._angle(kind)))
                words.append(f'range="{low:.6g} {high + 1e-3:.6g}"')
        if rng.random() < 0.5:
            words.append(f'pos="{self._numbers(3, 0.2)}"')
        for key, size in (("armature", 0.5), ("damping", 1.0), ("frictionloss", 0.3)):
            if rng.random() < 0.3:
                words.append(f'{key}="{self._up_to(size)}"')
        if rng.random() < 0.2:
            words.append('class="other"')
        return f"<joint {' '.join(words)}/>\n"

    def _mass(self) -> str:
        rng = self.rng
        if rng.random() < 0.5:
            return "".join(self._geom() for _ in range(rng.integers(1, 4)))
        mass, position = 0.2 + 3.0 * rng.random(), f'pos="{self._numbers(3, 0.2)}"'
        square = rng.normal(size=(3, 3)) * 0.1
        second = square @ square.T + 1e-3 * np.eye(3)
        inertia = np.trace(second) * np.eye(3) - second
        if rng.random() < 0.5:
            xx, yy, zz, xy, xz, yz = (inertia[k] for k in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
            full = " ".join(f"{x:.9g}" for x in (xx, yy, zz, xy, xz, yz))
            return f'<inertial {position} mass="{mass:.6g}" fullinertia="{full}"/>'
        moments = " ".join(f"{x:.9g}" for x in np.linalg.eigvalsh(inertia))
        return f'<inertial {position} {self._orientation()} mass="{mass:.6g}" diaginertia="{moments}"/>'

    def _geom(self) -> str:
        rng = self.rng
        shape = str(rng.choice(list(SHAPES)))
        size = " ".join(f"{0.03 + 0.2 * rng.random():.6g}" for _ in range(SHAPES[shape]))
        words = [f'type="{shape}" size="{size}" pos="{self._numbers(3, 0.2)}" {self._orientation()}']
        if rng.random() < 0.3:
            words.append(f'mass="{0.1 + rng.random():.6g}"')
        elif rng.random() < 0.3:
            words.append('contype="0" conaffinity="0" group="2"')
        return f"<geom {' '.join(words)}/>\n"

    def _site(self, body: str, k: int) -> str:
        return f'<site name="{body}_s{k}" pos="{self._numbers(3, 0.3)}" {self._orientation()}/>\n'

    def _static_elements(self) -> str:
        """Return elements of the world without effect on the motion."""
        copies = '<replicate count="3" offset="0.1 0 0"><geom type="box" size=".01 .01 .01"/></replicate>'
        return f'<light pos="0 0 3"/><camera name="view" pos="0 -3 1"/><geom type="plane" size="1 1 1"/>{copies}'

    # ---- elements outside the worldbody

    def _actuators(self) -> str:
        lines, rng = [], self.rng
        for name, kind in self.joints:
            if kind in ("free", "ball") or rng.random() < 0.4:
                continue
            limited = f' forcerange="-{self._up_to(9)} {self._up_to(9)}"' if rng.random() < 0.5 else ""
            gear = f'gear="{1 + 9 * rng.random():.6g}"'
            lines.append(
                [
                    f'<motor joint="{name}" {gear} ctrlrange="-1 1"{limited}/>',
                    f'<position joint="{name}" kp="{self._up_to(50)}"{limited}/>',
                    f'<velocity joint="{name}" kv="{self._up_to(5)}" {gear}{limited}/>',
                    f'<general joint="{name}" {gear} gainprm="{self._up_to(3)}"{limited}/>',
                ][int(rng.integers(4))]
            )
        return f"<actuator>{''.join(lines)}</actuator>" if lines else ""

    def _equality(self) -> str:
        rng, lines = self.rng, []
        single = [name for name, kind in self.joints if kind in ("hinge", "slide")]
        choice = rng.random()
        if choice < 0.5 and len(single) > 1:
            one, other = rng.choice(single, 2, replace=False)
            lines.append(
                f'<joint joint1="{one}" joint2="{other}" polycoef="{self._up_to(0.1)} {self._up_to(1)} 0 0 0"/>'
            )
        elif choice < 0.7:
            lines.append(f'<connect body1="{rng.choice(self.bodies)}" anchor="{self._numbers(3, 0.1)}"/>')
        else:
            scale = str(rng.choice(["", ' torquescale="0"', ' torquescale="1"', f' torquescale="{self._up_to(3)}"']))
            lines.append(f'<weld body1="{rng.choice(self.bodies)}"{scale}/>')
        if rng.random() < 0.2:  # an inactive constraint has no effect
            lines.append(f'<weld body1="{rng.choice(self.bodies)}" active="false"/>')
        return f"<equality>{''.join(lines)}</equality>" if lines else ""

    def _sensors(self) -> str:
        return f'<sensor><framepos objtype="body" objname="{self.bodies[0]}"/></sensor>'

    # ---- numbers

    def _orientation(self) -> str:
        rng = self.rng
        x = rng.normal(size=6)
        angles = np.degrees(x) if self.degrees else x
        return [
            "",
            f'quat="{" ".join(f"{y:.9g}" for y in x[:4])}"',
            f'euler="{" ".join(f"{y:.9g}" for y in angles[:3])}"',
            f'axisangle="{" ".join(f"{y:.9g}" for y in x[:3])} {angles[3]:.9g}"',
            f'xyaxes="{" ".join(f"{y:.9g}" for y in x)}"',
            f'zaxis="{" ".join(f"{y:.9g}" for y in x[:3])}"',
        ][int(rng.integers(6))]

    def _angle(self, kind: str) -> float:
        value = float(self.rng.uniform(-1.0, 1.0))
        return float(np.degrees(value)) if self.degrees and kind == "hinge" else value

    def _numbers(self, size: int, scale: float = 1.0) -> str:
        return " ".join(f"{scale * x:.6g}" for x in self.rng.normal(size=size))

    def _up_to(self, limit: float) -> str:
        return f"{limit * (0.05 + 0.95 * self.rng.random()):.6g}"
