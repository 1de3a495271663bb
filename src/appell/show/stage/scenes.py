"""Scenes of systems and of their motions, for pages, movies and live views.

robot_scene(robot)           a scene of it
record_scene(record)         a scene of a motion, with events, charts and walls

Events of a record are marks on the timeline, with arrows in space for impulses. A normal impulse acts along the normal
n = ∇φ / |∇φ| of the wall, where φ is the gap at the contact point; n points away from the wall. Friction impulses are
vectors in the world. All arrows of a record have the same scale.

Charts show energies, positions and forces, one chart per unit, with at most as many lines as there are colours. The
motion of a simulation is sampled between the rows. If there are too many rows, each block of rows is reduced to its
minimum and maximum.
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
from appell.show.scene.scene import STANDARD_LAYERS, Actor, Chart, Mark, Scene, SceneMotion, palette_color
from appell.show.stage.appearance import Appearance
from appell.show.stage.collision_view import collision_marks
from appell.show.stage.keyframes import keyframes
from appell.show.stage.shape import checked_configuration, dynamics_of, proportions_of
from appell.show.stage.walls import floor_heights, gap_of, rolling_surfaces, wall_parts

EXTENT_SAMPLES = 60  # of a motion, to determine its extent


def robot_scene(
    robot: System | Dynamics,
    q=None,
    *,
    walls: Iterable[Any] = (),
    title: str = "",
    layers: Iterable[str] = STANDARD_LAYERS,
    bending: float = 1.0,
) -> Scene:
    """Return the scene of a robot at q (nq), by default its start; see `ap.to_html`."""
    appearance = Appearance(robot, layers=layers, bending=bending)
    q = checked_configuration(appearance.dyn, q)
    return _scene([(appearance, appearance.actor(q), q)], tuple(walls), title, ())


def record_scene(
    record: Record,
    *others: Record,
    robot: System | Dynamics | None = None,
    walls: Iterable[Any] | None = None,
    title: str = "",
    layers: Iterable[str] = STANDARD_LAYERS,
    bending: float = 1.0,
) -> Scene:
    """Return the scene of one or several motions.

    The number of frames is chosen so that interpolation between them is accurate to a pixel, up to a limit on the file
    size. If the limit is reached, a note states the accuracy.

    Parameters
    ----------
    record : Record
        The motion to show.
    *others : Record
        Motions that are shown with it, each in its own colour.
    robot : System or Dynamics, optional
        The robot of the first record, and of others that do not contain one. Records of `simulate` contain it.
    walls : iterable, optional
        Surfaces to show; by default those of the records.
    title : str
        Title; the name of the robot by default.
    layers : iterable of str
        Layers of parts to include.

    Returns
    -------
    Scene
    """
    for item in (record, *others):
        if not isinstance(item, Record):
            raise ArgumentError(f"cannot show {item!r}.", expected="records")
    records, dyn = [item.in_si() for item in (record, *others)], robot_of(record, robot)
    members: list[tuple[Appearance, Actor, np.ndarray]] = []
    notes: list[str] = []
    for k, member in enumerate(records):
        member_dyn = dyn if k == 0 else robot_of(member, member.dynamics or dyn)
        color = palette_color(k) if others else None
        appearance = Appearance(member_dyn, layers=layers, color=color, bending=bending)
        q = configurations(member, np.linspace(member.t[0], member.t[-1], EXTENT_SAMPLES), member_dyn.system)
        q = q[np.isfinite(q).all(axis=-1)]
        if not len(q):
            raise ArgumentError(f"the record of {member_dyn.system.owner} has no rows of finite values.")
        name = _name(member, member_dyn.system, k, len(records))
        member_walls = member.walls if walls is None or k else tuple(walls)
        motion, motion_notes = _motion(appearance, member, q, tuple(member_walls))
        notes += [f"{name}: {note}" if others else note for note in motion_notes]
        actor = appearance.actor(q[0], motion=motion, name=name)
        members.append((appearance, actor, q))
    all_walls = [wall for member in records for wall in member.walls] if walls is None else list(walls)
    return _scene(members, tuple(all_walls), title, tuple(notes))


def _motion(
    appearance: Appearance, record: Record, q: np.ndarray, walls: tuple[Any, ...]
) -> tuple[SceneMotion, list[str]]:
    """Return frames, marks and charts of a record, and notes on omissions."""
    system, size = appearance.system, proportions_of(appearance.shape, q).size
    marks, mark_notes = event_marks(record, appearance, walls, size)
    t, poses, frame_notes = keyframes(
        lambda at: appearance.poses(configurations(record, at, system)),
        (record.t[0], record.t[-1]),
        [mark.time for mark in marks],
        appearance.levers,
        size,
    )
    drawn = charts(record, appearance.dyn)
    if "collisions" in appearance.layers:
        more, chart = collision_marks(record, appearance.dyn)
        t_rows, values = reduced_rows(chart.t, chart.values)
        marks, drawn = [*marks, *more], [replace(chart, t=t_rows, values=values), *drawn]
    motion = SceneMotion(t, poses, tuple(marks), tuple(drawn))
    return motion, [*mark_notes, *frame_notes]


def _scene(
    members: list[tuple[Appearance, Actor, np.ndarray]], walls: tuple[Any, ...], title: str, notes: tuple[str, ...]
) -> Scene:
    """Return the scene of actors and walls; members are appearances, actors and sampled configurations."""
    system = members[0][0].system
    rolling = [wall for appearance, _, _ in members for wall in rolling_surfaces(appearance.system)]
    walls = tuple(_distinct([*walls, *rolling]))
    shapes = [appearance.shape.at(q) for appearance, _, q in members]
    key_points = np.concatenate([shape.key_points for shape in shapes])
    points = np.concatenate([shape.points(shape.bare) for shape in shapes])
    up = upwards(system.gravity)
    planar = len(key_points) > 0 and all(appearance.proportions.normal is not None for appearance, _, _ in members)
    camera = parallel_camera(key_points, system.gravity) if planar else None
    normal = camera.axes[2] if camera is not None and camera.flat else None
    parts, wall_notes = wall_parts(walls, points if len(points) else np.zeros((1, 3)), up, normal)
    mesh_notes = [note for appearance, _, _ in members for note in appearance.notes]
    return Scene(
        title or system.name,
        tuple(actor for _, actor, _ in members),
        tuple(parts),
        up=_three(up),
        notes=tuple(dict.fromkeys((*mesh_notes, *wall_notes, *notes))),
        flat=None if normal is None else _three(normal),
        floor=_floor(members, walls, up),
    )


MAX_BELOW_GROUND = 0.1  # depth, relative to its size, to which a robot on the ground may reach initially


def _floor(members: list[tuple[Appearance, Actor, np.ndarray]], walls: tuple[Any, ...], up: np.ndarray) -> float | None:
    """Return the height of the ground along `up`, in m; None if it is below the lowest part of the scene.

    The ground is the lowest horizontal plane of the contacts, or the plane on which wheels roll. Without such a plane,
    the ground of robots with a fixed base is at height 0, unless a robot initially reaches below it, such as a
    pendulum. How far a robot moves down later is irrelevant: an arm that falls stays on its base.
    """
    heights = floor_heights(walls, [appearance.system for appearance, _, _ in members], up)
    if heights:
        return min(heights)
    for appearance, _, q in members:
        shape = appearance.shape.at(q.reshape(-1, q.shape[-1])[0])
        lowest = (shape.points(shape.bare) @ up).min(initial=0.0)
        if not appearance.is_fixed or lowest < -MAX_BELOW_GROUND * appearance.proportions.size:
            return None
    return 0.0


def _name(record: Record, system: System, k: int, count: int) -> str:
    """Return the name of an actor: that of its robot, with a number if there are several."""
    which = f" {record.about['member']}" if "member" in record.about else f" {k + 1}"
    return f"{system.name}{which}" if count > 1 else system.name


def _distinct(walls: list[Any]) -> list[Any]:
    """Return walls without duplicates."""
    distinct: list[Any] = []
    for wall in walls:
        if not any(wall is other or wall == other for other in distinct):
            distinct.append(wall)
    return distinct


def _three(vector: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (vector + 0.0).tolist()  # no -0
    return x, y, z


def robot_of(record: Record, robot: System | Dynamics | None) -> Dynamics:
    """Return the functions of the robot of a record, and check that its coordinates are those of the record."""
    if not len(record):
        raise ArgumentError("the record has no rows to show.")
    if robot is None and record.dynamics is None:
        name = record.about.get("robot", "...")
        raise ArgumentError(
            "the record does not contain its robot; files of records never do.",
            hint=f"Pass robot=ap.load('{name}').",
        )
    dyn = record.dynamics if robot is None else dynamics_of(robot)
    assert dyn is not None
    names = record.names("q")
    if set(names) != set(dyn.system.coordinate_names):
        raise ArgumentError(
            f"the coordinates of the record are {', '.join(names)}.",
            expected=f"the {dyn.system.nq} coordinates of {dyn.system.owner}: {', '.join(dyn.system.coordinate_names)}",
        )
    return dyn


def configurations(record: Record, t: np.ndarray, system: System) -> np.ndarray:
    """Return q (n, nq) of a record at times (n): of its motion, or interpolated linearly between its rows."""
    if record.between is not None:
        names = record.names("q")
        return record(t)[0][..., [names.index(name) for name in system.coordinate_names]]
    rows = np.array(record.block("q", system.coordinate_names))
    for span in system.quaternions:
        signs = np.sign(np.einsum("ti,ti->t", rows[1:, span], rows[:-1, span]))  # interpolate the shorter rotation
        rows[1:, span] *= np.cumprod(np.where(signs < 0.0, -1.0, 1.0))[:, None]
    return np.stack([np.interp(t, record.t, column) for column in rows.T], axis=-1)


MAX_ARROW_LENGTH = 0.25  # relative to the robot's size
MAX_MARKS = 1000  # of a record
MAX_NAMED_POINTS = 6  # in the label of an event

Arrow = tuple[np.ndarray, np.ndarray]


def event_marks(
    record: Record, appearance: Appearance, walls: Sequence[Any], size: float
) -> tuple[list[Mark], list[str]]:
    """Return the marks of all events within the record's time span, and notes on events without a mark."""
    inside = [event for event in record.events if record.t[0] <= event.time <= record.t[-1]]
    chosen = _strongest(inside)
    notes = (
        [] if len(chosen) == len(inside) else [f"only the strongest {len(chosen)} of {len(inside)} events are marked."]
    )
    impulses = _impulses(record, appearance, walls, chosen)
    largest = max((float(np.linalg.norm(vector)) for arrows in impulses for _, vector in arrows), default=0.0)
    scale = MAX_ARROW_LENGTH * size / largest if largest > 0.0 else 0.0
    marks = []
    for event, arrows in zip(chosen, impulses, strict=True):
        scaled = tuple((point, scale * impulse) for point, impulse in arrows)
        marks.append(Mark(float(event.time), event.kind, event_text(event, appearance), scaled))
    return marks, notes


def event_text(event: Event, appearance: Appearance) -> str:
    """Return an event in words: kind, points, impulses, speeds and friction."""
    tree = appearance.system.tree
    joints = {link.joint.name: link.joint.motion for link in (tree.links if tree else ())}
    points = []
    for k, name in enumerate(event.points[:MAX_NAMED_POINTS]):
        stopped = k < len(event.surfaces) and event.surfaces[k] < 0
        rotates = stopped and getattr(joints.get(name), "unit", "rad") == "rad"
        words = name
        if event.kind == "impact" and k < len(event.impulses):
            words += f" {event.impulses[k]:.4g} {'N m s' if rotates else 'N s'}"
        if event.kind == "impact" and k < len(event.normal_speeds):
            words += f" at {event.normal_speeds[k]:.4g} {'rad/s' if rotates else 'm/s'}"
        if k < len(event.frictions) and np.any(event.frictions[k]):
            words += f", friction {np.linalg.norm(event.frictions[k]):.4g} N s"
        points.append(words)
    if len(event.points) > MAX_NAMED_POINTS:
        points.append(f"and {len(event.points) - MAX_NAMED_POINTS} more")
    where = f" of {'; '.join(points)}" if points else ""
    return f"{event.kind}{where}" + (f": {event.note}" if event.note else "")


def _strongest(events: list[Event]) -> list[Event]:
    """Return all events, or the MAX_MARKS with the largest impulses, in their order."""
    if len(events) <= MAX_MARKS:
        return events
    strength = [float(np.abs(event.impulses).max(initial=0.0)) for event in events]
    kept = np.sort(np.argsort(strength, kind="stable")[-MAX_MARKS:])
    return [events[k] for k in kept]


def _impulses(
    record: Record, appearance: Appearance, walls: Sequence[Any], events: Sequence[Event]
) -> list[list[Arrow]]:
    """Return for each event the positions of its points in the world, and the impulses on them in N s."""
    impacts = [event for event in events if event.kind == "impact" and len(event.impulses)]
    if not impacts or not walls:
        return [[] for _ in events]
    times = np.array([event.time for event in impacts])
    poses = appearance.poses(configurations(record, times, appearance.system))
    gradients = [gap_of(wall).jacobian("x") for wall in walls]
    arrows = {id(event): _arrows(event, appearance, at, gradients) for event, at in zip(impacts, poses, strict=True)}
    return [arrows.get(id(event), []) for event in events]


def _arrows(event: Event, appearance: Appearance, poses: np.ndarray, gradients: list[Function]) -> list[Arrow]:
    arrows = []
    for k, (name, surface) in enumerate(zip(event.points, event.surfaces, strict=False)):
        known = name in appearance.system.frame_names and 0 <= surface < len(gradients) and k < len(event.impulses)
        if not known:
            continue
        frame = appearance.system.frame(name)
        if frame.body is None:
            continue
        pose = poses[appearance.shape.index[frame.body]]
        point = rotations(pose) @ np.array([*frame.pose.translation], float) + pose[:3]
        gradient = gradients[surface](point)
        size = np.linalg.norm(gradient)
        if not (np.isfinite(size) and size > 0.0):
            continue
        impulse = event.impulses[k] * gradient / size
        impulse = impulse + (event.frictions[k] if k < len(event.frictions) else 0.0)
        if np.isfinite(impulse).all() and impulse.any():
            arrows.append((point, impulse))
    return arrows


MAX_CHART_ROWS = 1500
CHART_TITLES = {"q": "position", "tau": "force"}
ROTATION_TITLES = {"q": "angle", "tau": "torque"}  # if the unit is that of a rotation


def charts(record: Record, dyn: Dynamics) -> list[Chart]:
    """Return the charts of energy, forces and positions, without coordinates that do not move."""
    record = replace(record, units=record_units(dyn.system) | dict(record.units))
    panels = [panel for panel in arranged(record, ())[0] if panel.quantity in CHART_TITLES and panel.unit != "1"]
    panels.sort(key=lambda panel: panel.quantity != "tau")
    samples = samples_between(record, panels)
    moving = [panel for panel in panels if any(np.ptp(record[title]) > 0.0 for title in panel.columns)]
    return [*_energies(record, dyn, samples), *(_chart(record, panel, samples, panels) for panel in moving or panels)]


def _energies(record: Record, dyn: Dynamics, samples: Samples | None) -> list[Chart]:
    """Return the chart of kinetic, potential and total energy if they can be computed, else of the record's energy."""
    known = _both_energies(record, dyn, samples)
    if known is not None:
        t, kinetic, potential = known
        names, values = ("kinetic", "potential", "total"), np.stack([kinetic, potential, kinetic + potential], axis=-1)
        return [Chart("energy", "J", names, *reduced_rows(t, values))]
    if "energy" not in record:
        return []
    return [Chart("energy", record.unit("energy") or "J", ("total",), *reduced_rows(record.t, record.energy[:, None]))]


def _both_energies(
    record: Record, dyn: Dynamics, samples: Samples | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return times, kinetic and potential energy; None if a mass is missing or a prescribed motion is not recorded."""
    system = dyn.system
    if "v" not in record or set(record.names("v")) != set(system.velocity_names):
        return None
    t, q, v = (record.t, record.q, record.v) if samples is None else (samples.t, samples.q, samples.v)
    q = q[:, [record.names("q").index(name) for name in system.coordinate_names]]
    v = v[:, [record.names("v").index(name) for name in system.velocity_names]]
    try:
        with np.errstate(invalid="ignore"):  # NaN where a leg is out of reach
            return t, *dyn.energy(q, v)
    except AppellError:
        return None


def _chart(record: Record, panel: Panel, samples: Samples | None, panels: list[Panel]) -> Chart:
    t, values = record.t, np.column_stack([record[title] for title in panel.columns])
    if panel.quantity == "q" and samples is not None:
        names = record.names("q")
        t, values = samples.t, samples.q[:, [names.index(parse(title)[1]) for title in panel.columns]]
    rotates = panel.unit in ("rad", "N m")
    title = (ROTATION_TITLES if rotates else CHART_TITLES)[panel.quantity]
    if sum((other.quantity, other.unit) == (panel.quantity, panel.unit) for other in panels) > 1:
        title = f"{title}, {' to '.join(dict.fromkeys((panel.names[0], panel.names[-1])))}"
    return Chart(title, panel.unit, panel.names, *reduced_rows(t, values))


def reduced_rows(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce values (rows, names) to about MAX_CHART_ROWS: the minimum and maximum of each name per block of rows."""
    if len(t) <= MAX_CHART_ROWS:
        return t, values
    blocks = np.array_split(np.arange(len(t)), max(1, MAX_CHART_ROWS // (2 * values.shape[1])))
    kept = {0, len(t) - 1}
    for block in blocks:
        part = values[block]
        kept |= set((block[0] + np.where(np.isnan(part), np.inf, part).argmin(axis=0)).tolist())
        kept |= set((block[0] + np.where(np.isnan(part), -np.inf, part).argmax(axis=0)).tolist())
    rows = sorted(kept)
    return t[rows], values[rows]
