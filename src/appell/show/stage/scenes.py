"""Scenes of systems and of their motions, for whatever shows them: pages, films, live views.

robot_actor(robot)           an actor that stands
robot_scene(robot)           a scene of it
record_scene(record)         a scene in which it moves, with events, charts and walls

Events of a record are marks on the time line, with arrows in space where something was struck. An impulse along the
normal of its wall is n = ∇φ / |∇φ| of the gap φ at the point that struck it, away from the wall; impulses of friction
are vectors of the world as they are. One scale holds for all arrows of a record.

Charts are the curves below a moving scene: energies, positions, forces, by unit, at most as many lines in one as there
are colours. The motion of a simulation is drawn as it is between the rows. Many rows become the lowest and the highest
of every stretch that a chart can show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import AppellError, ArgumentError
from appell.model.system import System
from appell.motion.event import Event
from appell.motion.record import Record
from appell.motion.titles import parse, record_units
from appell.show.plot.plot import Panel, arranged, samples_between
from appell.show.plot.sampling import Samples
from appell.show.scene.camera import parallel_camera, upwards
from appell.show.scene.poses import rotations
from appell.show.scene.scene import LAYERS, Actor, Chart, Color, Mark, Scene, SceneMotion, palette_color
from appell.show.stage.appearance import Appearance
from appell.show.stage.keyframes import keyframes
from appell.show.stage.shape import dynamics_of, proportions_of
from appell.show.stage.walls import gap_of, rolled_on, wall_parts

GLANCES = 60  # at a motion, for how much room it takes


def robot_actor(
    robot: System | Dynamics, q=None, *, layers: Iterable[str] = LAYERS, color: Color | None = None
) -> Actor:
    """A robot or a mechanism at q, its start if None, with what belongs to these layers."""
    return Appearance(robot, layers=layers, color=color).actor(q)


def robot_scene(
    robot: System | Dynamics, q=None, *, walls: Iterable[Any] = (), title: str = "", layers: Iterable[str] = LAYERS
) -> Scene:
    """The scene of a robot that stands still at q, its start if None."""
    seen = Appearance(robot, layers=layers)
    actor = seen.actor(q)
    here = seen.system.start if q is None else np.asarray(q, float)
    return _scene([(seen, actor, here)], tuple(walls), title, ())


def record_scene(
    record: Record,
    *others: Record,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    title: str = "",
    layers: Iterable[str] = LAYERS,
) -> Scene:
    """The scene of a motion, with others over it, each in a colour of its own.

    Records of `simulate` know their robot and their walls; others are told, and those over it move the same robot
    unless they know their own. Frames are as many as it takes for straight lines between them to be the motion to less
    than a pixel, or as many as a mail can carry; a note then says how far off they are.
    """
    for own in (record, *others):
        if not isinstance(own, Record):
            raise ArgumentError(f"{own!r} cannot be shown.", expected="records")
    records, dyn = [own.in_si() for own in (record, *others)], robot_of(record, robot)
    members: list[tuple[Appearance, Actor, np.ndarray]] = []
    notes: list[str] = []
    for k, own in enumerate(records):
        own_dyn = dyn if k == 0 else robot_of(own, own.dynamics or dyn)
        seen = Appearance(own_dyn, layers=layers, color=palette_color(k) if others else None)
        q = configurations(own, np.linspace(own.t[0], own.t[-1], GLANCES), own_dyn.system)
        q = q[np.isfinite(q).all(axis=-1)]
        if not len(q):
            raise ArgumentError(f"the record of {own_dyn.system.owner} has no row of finite numbers to show.")
        named = _name(own, own_dyn.system, k, len(records))
        shown = own.walls if walls is None or k else tuple(walls)
        motion, notes_of_motion = _motion(seen, own, q, tuple(shown))
        notes += [f"{named}: {note}" if others else note for note in notes_of_motion]
        actor = seen.actor(q[0], motion=motion, name=named)
        members.append((seen, actor, q))
    every = [wall for own in records for wall in own.walls] if walls is None else list(walls)
    return _scene(members, tuple(every), title, tuple(notes))


def _motion(seen: Appearance, record: Record, q: np.ndarray, walls: tuple[Any, ...]) -> tuple[SceneMotion, list[str]]:
    """Frames, marks and charts of a record, and notes on what was left out."""
    system, size = seen.system, proportions_of(seen.shape, q).size
    found, noted = event_marks(record, seen, walls, size)
    t, poses, notes_of_motion = keyframes(
        lambda at: seen.poses(configurations(record, at, system)),
        (record.t[0], record.t[-1]),
        [mark.time for mark in found],
        seen.levers,
        size,
    )
    return SceneMotion(t, poses, tuple(found), tuple(charts(record, seen.dyn))), [*noted, *notes_of_motion]


def _scene(
    members: list[tuple[Appearance, Actor, np.ndarray]], walls: tuple[Any, ...], title: str, notes: tuple[str, ...]
) -> Scene:
    """Actors with what stands about them."""
    system = members[0][0].system
    walls = tuple(_once([*walls, *(wall for seen, _, _ in members for wall in rolled_on(seen.system))]))
    scenes = [seen.shape.at(q) for seen, _, q in members]
    places = np.concatenate([scene.places for scene in scenes])
    points = np.concatenate([scene.points(scene.bare) for scene in scenes])
    up = upwards(system.gravity)
    planar = len(places) > 0 and all(seen.proportions.normal is not None for seen, _, _ in members)
    camera = parallel_camera(places, system.gravity) if planar else None
    normal = camera.axes[2] if camera is not None and camera.flat else None
    parts, notes_of_motion = wall_parts(walls, points if len(points) else np.zeros((1, 3)), up, normal)
    missing = [note for seen, _, _ in members for note in seen.notes]
    return Scene(
        title or system.name,
        tuple(actor for _, actor, _ in members),
        tuple(parts),
        up=_three(up),
        notes=tuple(dict.fromkeys((*missing, *notes_of_motion, *notes))),
        flat=None if normal is None else _three(normal),
    )


def _name(record: Record, system: System, k: int, count: int) -> str:
    """How an actor is called: as its robot, and as which of several."""
    which = f" {record.about['member']}" if "member" in record.about else f" {k + 1}"
    return f"{system.name}{which}" if count > 1 else system.name


def _once(walls: list[Any]) -> list[Any]:
    """Walls of several records, each once."""
    found: list[Any] = []
    for wall in walls:
        if not any(wall is other or wall == other for other in found):
            found.append(wall)
    return found


def _three(vector: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (vector + 0.0).tolist()  # no -0
    return x, y, z


def robot_of(record: Record, robot: System | Dynamics | None) -> Dynamics:
    """What the record is of; its coordinates must be those of the record."""
    if not len(record):
        raise ArgumentError("the record has no rows, and there is nothing to show.")
    if robot is None and record.dynamics is None:
        who = record.about.get("robot", "...")
        raise ArgumentError(
            "the record does not know which robot moved: only records of `simulate` do, until they are written.",
            hint=f"say so: robot=ap.load('{who}')",
        )
    dyn = record.dynamics if robot is None else dynamics_of(robot)
    assert dyn is not None
    names = record.names("q")
    if set(names) != set(dyn.system.coordinate_names):
        raise ArgumentError(
            f"the record moves {len(names)} coordinates: {', '.join(names)}.",
            expected=f"the {dyn.system.nq} of {dyn.system.owner}: {', '.join(dyn.system.coordinate_names)}",
        )
    return dyn


def configurations(record: Record, t: np.ndarray, system: System) -> np.ndarray:
    """q at these times: of the motion itself, or straight between the rows; quaternions the short way."""
    if record.between is not None:
        names = record.names("q")
        return record(t)[0][..., [names.index(name) for name in system.coordinate_names]]
    rows = np.array(record.block("q", system.coordinate_names))
    for span in system.quaternions:
        turned = np.sign(np.einsum("ti,ti->t", rows[1:, span], rows[:-1, span]))
        rows[1:, span] *= np.cumprod(np.where(turned < 0.0, -1.0, 1.0))[:, None]
    return np.stack([np.interp(t, record.t, column) for column in rows.T], axis=-1)


LONGEST_ARROW = 0.25  # the longest arrow in the robot's size
MOST_MARKS = 1000  # marks of a record
NAMED_POINTS = 6  # points that a label names

Arrow = tuple[np.ndarray, np.ndarray]


def event_marks(record: Record, seen: Appearance, walls: Sequence[Any], size: float) -> tuple[list[Mark], list[str]]:
    """The marks of all events inside the record's time, and notes on what has none."""
    inside = [event for event in record.events if record.t[0] <= event.time <= record.t[-1]]
    chosen = _strongest(inside)
    told = [] if len(chosen) == len(inside) else [f"{len(chosen)} of {len(inside)} events are marked, the strongest."]
    impulses = _impulses(record, seen, walls, chosen)
    most = max((float(np.linalg.norm(vector)) for own in impulses for _, vector in own), default=0.0)
    scale = LONGEST_ARROW * size / most if most > 0.0 else 0.0
    return [
        Mark(float(event.time), event.kind, event_text(event, seen), tuple((place, scale * p) for place, p in own))
        for event, own in zip(chosen, impulses, strict=True)
    ], told


def event_text(event: Event, seen: Appearance) -> str:
    """An event in words: what met, how hard, how fast."""
    joints = {link.joint.name: link.joint.motion for link in (seen.system.tree.links if seen.system.tree else ())}
    told = []
    for k, name in enumerate(event.points[:NAMED_POINTS]):
        stopped = k < len(event.surfaces) and event.surfaces[k] < 0
        turning = stopped and getattr(joints.get(name), "unit", "rad") == "rad"
        words = name
        if event.kind == "impact" and k < len(event.impulses):
            words += f" {event.impulses[k]:.4g} {'N m s' if turning else 'N s'}"
        if event.kind == "impact" and k < len(event.normal_speeds):
            words += f" at {event.normal_speeds[k]:.4g} {'rad/s' if turning else 'm/s'}"
        if k < len(event.frictions) and np.any(event.frictions[k]):
            words += f", friction {np.linalg.norm(event.frictions[k]):.4g} N s"
        told.append(words)
    if len(event.points) > NAMED_POINTS:
        told.append(f"and {len(event.points) - NAMED_POINTS} more")
    where = f" of {'; '.join(told)}" if told else ""
    return f"{event.kind}{where}" + (f": {event.note}" if event.note else "")


def _strongest(events: list[Event]) -> list[Event]:
    """All events, or those with the largest impulses, in their order."""
    if len(events) <= MOST_MARKS:
        return events
    strength = [float(np.abs(event.impulses).max(initial=0.0)) for event in events]
    kept = np.sort(np.argsort(strength, kind="stable")[-MOST_MARKS:])
    return [events[k] for k in kept]


def _impulses(record: Record, seen: Appearance, walls: Sequence[Any], events: Sequence[Event]) -> list[list[Arrow]]:
    """For each event, where in the world its points are and the impulses on them, in N s."""
    struck = [event for event in events if event.kind == "impact" and len(event.impulses)]
    if not struck or not walls:
        return [[] for _ in events]
    times = np.array([event.time for event in struck])
    poses = seen.poses(configurations(record, times, seen.system))
    normals = [gap_of(wall).jacobian("x") for wall in walls]
    rows = {id(event): _arrows(event, seen, own, normals) for event, own in zip(struck, poses, strict=True)}
    return [rows.get(id(event), []) for event in events]


def _arrows(event: Event, seen: Appearance, poses: np.ndarray, normals: list[Function]) -> list[Arrow]:
    found = []
    for k, (name, surface) in enumerate(zip(event.points, event.surfaces, strict=False)):
        known = name in seen.system.frame_names and 0 <= surface < len(normals) and k < len(event.impulses)
        if not known:
            continue
        frame = seen.system.frame(name)
        if frame.body is None:
            continue
        pose = poses[seen.shape.index[frame.body]]
        place = rotations(pose) @ np.array([*frame.pose.translation], float) + pose[:3]
        gradient = normals[surface](place)
        size = np.linalg.norm(gradient)
        if not (np.isfinite(size) and size > 0.0):
            continue
        impulse = event.impulses[k] * gradient / size
        impulse = impulse + (event.frictions[k] if k < len(event.frictions) else 0.0)
        if np.isfinite(impulse).all() and impulse.any():
            found.append((place, impulse))
    return found


CHART_ROWS = 1500  # of a chart
WORDS = {"q": "position", "tau": "force"}
TURNING_WORDS = {"q": "angle", "tau": "torque"}  # where the unit says so
CHARTED = ("q", "tau")


def charts(record: Record, dyn: Dynamics) -> list[Chart]:
    """Energy first, then forces and positions, of what moves."""
    record = replace(record, units=record_units(dyn.system) | dict(record.units))
    panels = [panel for panel in arranged(record, ())[0] if panel.quantity in CHARTED and panel.unit != "1"]
    panels.sort(key=lambda panel: panel.quantity != "tau")
    samples = samples_between(record, panels)
    moving = [panel for panel in panels if any(np.ptp(record[title]) > 0.0 for title in panel.columns)]
    return [*_energies(record, dyn, samples), *(_chart(record, panel, samples, panels) for panel in moving or panels)]


def _energies(record: Record, dyn: Dynamics, samples: Samples | None) -> list[Chart]:
    """Kinetic, potential and total if the robot and its velocities tell them, else the total if the record says it."""
    known = _both_energies(record, dyn, samples)
    if known is not None:
        t, kinetic, potential = known
        names, values = ("kinetic", "potential", "total"), np.stack([kinetic, potential, kinetic + potential], axis=-1)
        return [Chart("energy", "J", names, *thin(t, values))]
    if "energy" not in record:
        return []
    return [Chart("energy", record.unit("energy") or "J", ("total",), *thin(record.t, record.energy[:, None]))]


def _both_energies(
    record: Record, dyn: Dynamics, samples: Samples | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Times, kinetic and potential energy; None if a mass is missing, or a motion is prescribed that nobody kept."""
    system = dyn.system
    if "v" not in record or set(record.names("v")) != set(system.velocity_names):
        return None
    t, q, v = (record.t, record.q, record.v) if samples is None else (samples.t, samples.q, samples.v)
    q = q[:, [record.names("q").index(name) for name in system.coordinate_names]]
    v = v[:, [record.names("v").index(name) for name in system.velocity_names]]
    try:
        with np.errstate(invalid="ignore"):  # where a leg does not reach, there is no energy
            return t, *dyn.energy(q, v)
    except AppellError:
        return None


def _chart(record: Record, panel: Panel, samples: Samples | None, panels: list[Panel]) -> Chart:
    t, values = record.t, np.column_stack([record[title] for title in panel.columns])
    if panel.quantity == "q" and samples is not None:
        names = record.names("q")
        t, values = samples.t, samples.q[:, [names.index(parse(title)[1]) for title in panel.columns]]
    turning = panel.unit in ("rad", "N m")
    title = (TURNING_WORDS if turning else WORDS)[panel.quantity]
    if sum((other.quantity, other.unit) == (panel.quantity, panel.unit) for other in panels) > 1:
        title = f"{title}, {' to '.join(dict.fromkeys((panel.names[0], panel.names[-1])))}"  # one of several
    return Chart(title, panel.unit, panel.names, *thin(t, values))


def thin(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (rows, names) without those that cannot be seen: the lowest and the highest of each name stay, by blocks."""
    if len(t) <= CHART_ROWS:
        return t, values
    blocks = np.array_split(np.arange(len(t)), max(1, CHART_ROWS // (2 * values.shape[1])))
    kept = {0, len(t) - 1}
    for block in blocks:
        part = values[block]
        kept |= set((block[0] + np.where(np.isnan(part), np.inf, part).argmin(axis=0)).tolist())
        kept |= set((block[0] + np.where(np.isnan(part), -np.inf, part).argmax(axis=0)).tolist())
    rows = sorted(kept)
    return t[rows], values[rows]
