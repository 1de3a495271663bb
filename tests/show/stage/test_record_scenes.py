"""Scenes of records: accurate frames, impulses that match the velocity changes, walls on their zero sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import appell as ap
from appell.motion import Event, Record
from appell.show.movie.renderer import Renderer
from appell.show.scene.scene import Scene, SceneMotion
from appell.show.stage.appearance import Appearance
from appell.show.stage.keyframes import keyframes
from appell.show.stage.scenes import MAX_MARKS, record_scene, robot_scene
from appell.show.stage.shape import proportions_of
from free_bodies import box
from robots import example_urdfs


@pytest.fixture(scope="module")
def fallen() -> Record:
    """The tree robot in its round wall, as in Shafei's figure."""
    wall = ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0)
    return ap.simulate(ap.Dynamics(ap.load("tree10")), until=1.5, contacts=[wall])


@pytest.fixture(scope="module")
def dropped() -> Record:
    q = np.array([0.0, 0.0, 0.8, 0.3, 0.2, 0.1, 0.9])
    q[3:] /= np.linalg.norm(q[3:])
    floor = ap.Contact("all", ap.Plane(), restitution=0.5, friction=0.3)
    return ap.simulate(ap.Dynamics(box()), q0=q, until=1.0, contacts=[floor])


def shown_at(motion: SceneMotion, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and rotations (by SciPy's slerp), interpolated between the frames around a time."""
    k = int(np.searchsorted(motion.t, t)) - 1
    share = (t - motion.t[k]) / (motion.t[k + 1] - motion.t[k])
    here, there = motion.poses[k], motion.poses[k + 1]
    matrices = [
        Slerp([0.0, 1.0], Rotation.from_quat([a, b]))(share).as_matrix()
        for a, b in zip(here[:, 3:], there[:, 3:], strict=True)
    ]
    return here[:, :3] + share * (there - here)[:, :3], np.array(matrices)


@pytest.mark.parametrize("name", ["fallen", "dropped"])
def test_bodies_between_frames_are_within_a_pixel_of_the_motion(name, request):
    """Vertices of drawn parts at random times are compared with the equations at the simulated state."""
    record = request.getfixturevalue(name)
    actor = record_scene(record).actors[0]
    motion, dyn, rng = actor.motion, record.dynamics, np.random.default_rng(4)
    size = proportions_of(Appearance(dyn).shape, record.q).size
    worst = 0.0
    for t in rng.uniform(record.t[0], record.t[-1], 25):
        q, _ = record(t)
        x, R = shown_at(motion, t)
        for part in actor.parts:
            if part.layer == "links" and part.body >= 0:
                T = np.array(dyn.equations.pose(dyn.system.frame(actor.bodies[part.body]), q.tolist()).matrix)
                points = part.mesh.vertices[::7] + np.array(part.pose[:3])
                off = points @ (R[part.body] - T[:3, :3]).T + x[part.body] - T[:3, 3]
                worst = max(worst, np.linalg.norm(off, axis=1).max())
    assert worst < 1.2e-3 * size
    assert len(motion.t) < 500


def test_an_event_has_a_frame_before_it_and_one_after_it(fallen):
    motion = record_scene(fallen).actors[0].motion
    assert (np.diff(motion.t) >= 0.0).all()
    assert motion.t[0] == fallen.t[0]
    assert motion.t[-1] == fallen.t[-1]
    for event in fallen.events:
        assert (motion.t == event.time).sum() == 2


def test_discontinuities_of_a_motion_are_kept():
    """One body jumps at 0.5 s, another one rotates by several turns."""

    def poses(t):
        frames = np.zeros((len(t), 2, 7))
        frames[:, :, 6] = 1.0
        frames[:, 0, 0] = np.where(t < 0.5, t, 5.0 + t)
        frames[:, 1, 5:] = np.column_stack([np.sin(10 * np.pi * t), np.cos(10 * np.pi * t)])
        return frames

    t, frames, notes = keyframes(poses, (0.0, 1.0), [0.5], np.ones(2), 1.0)
    assert notes == []
    (before, after) = np.flatnonzero(t == 0.5)
    assert frames[before, 0, 0] == pytest.approx(0.5)
    assert frames[after, 0, 0] == pytest.approx(5.5)
    turn = np.abs(np.einsum("ti,ti->t", frames[1:, 1, 3:], frames[:-1, 1, 3:]))
    assert 2.0 * np.arccos(turn.min()) <= 0.5 + 1e-9


def test_the_number_of_frames_is_limited_and_a_note_states_the_accuracy():
    def poses(t):
        frames = np.zeros((len(t), 200, 7))
        frames[..., 6] = 1.0
        frames[..., 0] = np.sin(2000.0 * t)[:, None]
        return frames

    t, _, (note,) = keyframes(poses, (0.0, 10.0), np.linspace(0, 10, 5000), np.zeros(200), 1.0)
    assert len(t) <= 2 * 420_000 // (7 * 200)
    assert "mm, to limit the file size" in note


def test_bodies_stay_at_their_last_finite_pose_and_a_note_says_so():
    robot = ap.load("planar-2r")
    q = np.linspace(0.0, 1.0, 11)[:, None] * np.ones(2)
    q[6:] = np.nan
    record = Record.of(np.linspace(0.0, 1.0, 11), {"q": q}, robot.coordinate_names)
    scene = record_scene(record, robot=robot)
    assert np.isfinite(scene.actors[0].motion.poses).all()
    assert any("non-finite values" in note for note in scene.notes)
    with pytest.raises(ap.ArgumentError, match="no rows of finite values"):
        record_scene(record.part(slice(7, None)), robot=robot)


# ---- marks


@pytest.mark.parametrize("name", ["fallen", "dropped"])
def test_arrows_are_the_impulses_that_changed_the_velocities(name, request):
    """M (v⁺ - v⁻) = Σ Jᵀ p, where every p is an arrow, up to the common scale of all arrows."""
    record = request.getfixturevalue(name)
    dyn = record.dynamics
    marks = record_scene(record).actors[0].motion.marks
    assert [mark.time for mark in marks] == [event.time for event in record.events]
    assert [mark.kind for mark in marks] == [event.kind for event in record.events]
    jacobians = {}
    scales = []
    for event, mark in zip(record.events, marks, strict=True):
        if event.kind != "impact":
            continue
        q, _ = record(event.time)
        change = dyn.mass_matrix(q) @ (event.v_after - event.v_before)
        total = np.zeros(dyn.system.nv)
        assert len(mark.arrows) == len(event.points)
        for point, (start, vector) in zip(event.points, mark.arrows, strict=True):
            J = jacobians.setdefault(point, dyn.jacobian(point, "LOCAL_WORLD_ALIGNED"))(q)
            np.testing.assert_allclose(start, dyn.pose(point)(q)[:3, 3], atol=1e-9)
            total += J[:3].T @ vector
        scale = (total @ change) / (change @ change)
        assert scale > 0.0
        np.testing.assert_allclose(total / scale, change, atol=1e-6 * np.abs(change).max())
        scales.append(scale)
    np.testing.assert_allclose(scales, scales[0], rtol=1e-6)
    size = proportions_of(Appearance(dyn).shape, record.q).size
    longest = max(np.linalg.norm(vector) for mark in marks for _, vector in mark.arrows)
    assert longest == pytest.approx(0.25 * size, rel=0.05)


def test_a_mark_states_points_impulses_and_speeds(fallen):
    event = fallen.impacts[0]
    label = record_scene(fallen).actors[0].motion.marks[0].label
    assert label.startswith("impact of ")
    for point, impulse, speed in zip(event.points, event.impulses, event.normal_speeds, strict=True):
        assert f"{point} {impulse:.4g} N s at {speed:.4g} m/s" in label


def test_a_joint_at_its_stop_is_reported_in_its_units_without_an_arrow():
    robot = ap.load("panda")
    record = ap.simulate(robot, until=0.5, torque=np.full(7, 5.0), stops=0.5)
    stopped = [k for k, event in enumerate(record.events) if event.kind == "impact"]
    marks = record_scene(record).actors[0].motion.marks
    assert stopped
    assert "N m s at" in marks[stopped[0]].label
    assert "rad/s" in marks[stopped[0]].label
    assert marks[stopped[0]].arrows == ()


def test_only_the_strongest_of_very_many_events_are_marked():
    robot = ap.load("planar-2r")
    t = np.linspace(0.0, 1.0, 11)
    events = [Event(k / 3000.0, "impact", points=("tool",), impulses=np.array([float(k)])) for k in range(3000)]
    record = Record.of(t, {"q": np.zeros((11, 2))}, robot.coordinate_names, events=tuple(events))
    scene = record_scene(record, robot=robot)
    marks = scene.actors[0].motion.marks
    assert len(marks) == MAX_MARKS
    assert marks[0].time == pytest.approx(2000 / 3000)
    assert f"only the strongest {MAX_MARKS} of 3000 events are marked." in scene.notes


# ---- charts


def test_charts_show_energy_positions_and_torques():
    dyn = ap.Dynamics(ap.load("puma"))
    record = ap.simulate(dyn, until=0.4, torque=lambda t, q, v: -2.0 * v + np.sin(t))
    charts = {chart.title: chart for chart in record_scene(record).actors[0].motion.charts}
    assert set(charts) == {"energy", "torque", "angle"}
    assert [chart.unit for chart in charts.values()] == ["J", "N m", "rad"]
    energy = charts["energy"]
    assert energy.names == ("kinetic", "potential", "total")
    np.testing.assert_allclose(energy.values[:, 0] + energy.values[:, 1], energy.values[:, 2], atol=1e-12)
    for t, row in zip(energy.t[::20], energy.values[::20], strict=True):
        np.testing.assert_allclose(row[:2], dyn.energy(*record(t)), rtol=1e-9, atol=1e-9)
    assert charts["torque"].names == record.names("tau")
    rows = np.searchsorted(record.t, charts["torque"].t)
    np.testing.assert_array_equal(charts["torque"].values, record.tau[rows])
    for k in range(0, len(charts["angle"].t), 20):
        np.testing.assert_allclose(charts["angle"].values[k], record(charts["angle"].t[k])[0], atol=1e-12)


def test_the_energy_has_a_step_at_an_inelastic_impact(dropped):
    energy = record_scene(dropped).actors[0].motion.charts[0]
    first = dropped.impacts[0].time
    before, after = energy.values[energy.t == first][:, 2]
    assert after < before - 0.1


def test_the_energy_of_the_record_is_shown_if_it_cannot_be_computed():
    robot = ap.load("planar-2r")
    blocks = {"q": np.zeros((3, 2)), "energy": np.array([1.0, 2.0, 3.0])}
    record = Record.of([0.0, 0.5, 1.0], blocks, {"q": robot.coordinate_names})
    energy = record_scene(record, robot=robot).actors[0].motion.charts[0]
    assert (energy.title, energy.unit, energy.names) == ("energy", "J", ("total",))
    np.testing.assert_array_equal(energy.values[:, 0], [1.0, 2.0, 3.0])


def test_many_rows_keep_their_peaks():
    robot = ap.load("planar-2r")
    t = np.linspace(0.0, 1.0, 50_001)
    q = np.column_stack([np.sin(t), np.zeros_like(t)])
    q[23_456, 1] = 9.0
    charts = record_scene(Record.of(t, {"q": q}, robot.coordinate_names), robot=robot).actors[0].motion.charts
    angle = next(chart for chart in charts if chart.title == "angle")
    assert len(angle.t) <= 3000
    assert angle.values[:, 1].max() == 9.0
    assert angle.t[np.argmax(angle.values[:, 1])] == t[23_456]


# ---- walls


def waves(x, y, z):
    return z - 0.1 * ap.sin(6.0 * x) * ap.cos(6.0 * y) + 0.5


@pytest.mark.parametrize(
    "wall",
    [ap.Plane((0.1, 0.2, 1.0), -0.6), ap.Sphere(1.4), ap.Cylinder(0.9, axis=(0.3, 1.0, 0.2)), ap.Implicit(waves)],
    ids=lambda wall: type(wall).__name__,
)
def test_every_vertex_of_a_wall_is_on_the_wall(wall):
    scene = robot_scene(ap.load("puma"), walls=[wall])
    (part,) = scene.parts
    assert (part.layer, part.body) == ("walls", -1)
    assert part.color[3] < 1.0
    gaps = [float(wall.gap(*point)) for point in part.mesh.vertices.tolist()]
    assert np.abs(gaps).max() < 1e-9
    a, b, c = np.moveaxis(part.mesh.vertices[part.mesh.faces], 1, 0)
    outside = np.cross(b - a, c - a)
    middle = (a + b + c) / 3.0
    step = 1e-3 * outside / np.linalg.norm(outside, axis=1, keepdims=True)
    free = [wall.gap(*point) > wall.gap(*other) for point, other in zip(middle + step, middle - step, strict=True)]
    assert np.mean(free) > 0.999  # faces point towards the robot


def test_the_wall_of_a_planar_robot_is_a_strip_that_starts_at_its_zero_set(fallen):
    (part,) = record_scene(fallen).parts
    radius = np.hypot(part.mesh.vertices[:, 0], part.mesh.vertices[:, 1])
    inner = radius < 2.5 + 1e-6
    assert inner.sum() == len(radius) // 2
    np.testing.assert_allclose(radius[inner], 2.5, atol=1e-9)
    assert radius[~inner].min() > 2.55
    assert len(part.mesh.faces) < 5000


def test_the_surface_of_a_rolling_ball_is_shown_as_a_wall():
    """It is shown once, although two balls roll on it."""
    bowl = ap.Sphere(2.0)
    builder = ap.Builder("marble", base="floating", root="ball")
    builder.root_body(1.0, (0.0, 0.0, 0.0), (0.004, 0.004, 0.004))
    marble = builder.build().with_loops(
        ap.Rolling("ball", 0.1, on=bowl, ball=True), home=[0.0, 0.0, -1.9, 0.0, 0.0, 0.0, 1.0]
    )
    scene = robot_scene(marble)
    (part,) = scene.parts
    np.testing.assert_allclose(np.linalg.norm(part.mesh.vertices, axis=1), 2.0, atol=1e-9)
    balls = [p for p in scene.actors[0].parts if p.layer == "loops"]
    assert np.ptp(balls[0].mesh.vertices[:, 2]) == pytest.approx(0.2)


def test_a_distant_wall_is_noted():
    scene = robot_scene(ap.load("puma"), walls=[ap.Plane((0, 0, 1), -100.0)])
    assert scene.parts == ()
    assert scene.notes == ("wall 0 (plane) is too far away to be shown.",)


# ---- several records


def test_overlaid_records_have_their_own_colours(fallen):
    light = ap.simulate(ap.Dynamics(ap.load("tree10").with_gravity((0, -2, 0))), until=1.0)
    scene = record_scene(fallen, light, light, title="three")
    assert [actor.name for actor in scene.actors] == ["tree10 1", "tree10 2", "tree10 3"]
    assert scene.title == "three"
    assert scene.span == (0.0, 1.5)
    colors = [{part.color for part in actor.parts if part.layer == "links"} for actor in scene.actors]
    assert all(len(one - other) == 1 for one in colors for other in colors if one is not other)
    assert len(scene.parts) == 1


def test_a_record_of_another_robot_is_rejected_unless_it_contains_its_robot(fallen):
    puma = ap.simulate(ap.Dynamics(ap.load("puma")), until=0.1)
    scene: Scene = record_scene(fallen, puma)
    assert [len(actor.bodies) for actor in scene.actors] == [12, 6]
    with pytest.raises(ap.ArgumentError, match=r"record are joint1, .*\n.*the 12 coordinates of robot 'tree10': X1"):
        record_scene(fallen, replace(puma, dynamics=None))
    with pytest.raises(ap.ArgumentError, match="robot 'tree10'"):
        record_scene(puma, robot=ap.load("tree10"))
    with pytest.raises(ap.ArgumentError, match=r"does not contain its robot.*\n.*ap.load\('puma'\)"):
        record_scene(replace(puma, dynamics=None))
    with pytest.raises(ap.ArgumentError, match="no rows"):
        record_scene(puma.part(slice(0, 0)))
    with pytest.raises(ap.ArgumentError, match="cannot show"):
        record_scene(puma, "puma")  # type: ignore[arg-type]


def test_rows_are_interpolated_linearly_in_the_order_of_the_robot():
    robot = ap.load("planar-2r")
    a, b = robot.coordinate_names
    record = Record.of([0.0, 1.0], {"q": [[1.0, 0.0], [2.0, 1.0]]}, (b, a))  # in reverse order
    motion = record_scene(record, robot=robot).actors[0].motion
    np.testing.assert_allclose(motion.poses[-1], Appearance(robot).poses([1.0, 2.0]), atol=1e-12)


def test_degrees_are_converted_to_radians():
    robot = ap.load("planar-2r")
    units = {f"q_{name}": "deg" for name in robot.coordinate_names}
    record = Record.of([0.0, 1.0], {"q": [[90.0, 0.0], [180.0, 45.0]]}, robot.coordinate_names, units=units)
    motion = record_scene(record, robot=robot).actors[0].motion
    np.testing.assert_allclose(motion.poses[-1], Appearance(robot).poses([np.pi, np.pi / 4]), atol=1e-12)
    assert motion.charts[-1].unit == "rad"


def test_one_row_is_one_frame():
    robot = ap.load("planar-2r")
    motion = record_scene(Record.of([0.3], {"q": [[1.0, 0.0]]}, robot.coordinate_names), robot=robot).actors[0].motion
    assert motion.t.tolist() == [0.3]


# ---- the floor


def ur10():
    (path,) = (path for path in example_urdfs() if path.name == "ur10_robot.urdf")
    return ap.load(str(path))


def test_the_floor_of_a_fixed_arm_is_at_its_base_however_far_it_falls():
    record = ap.simulate(ap.Dynamics(ur10()), until=0.5)
    scene = record_scene(record)
    lowest = min(pose[2] for frame in scene.actors[0].motion.poses for pose in frame)
    assert lowest < -0.5
    assert scene.floor == 0.0
    assert Renderer(scene, (160, 120)).ground.height == 0.0
    assert robot_scene(ur10()).floor == 0.0


def test_the_floor_is_the_lowest_horizontal_plane_of_the_contacts():
    start = box().start
    start[2] = 0.3
    planes = [ap.Plane(offset=-0.5), ap.Plane((1.0, 0.0, 0.0), -2.0), ap.Plane((0.0, 0.0, 2.0), 0.1)]
    record = ap.simulate(ap.Dynamics(box()), q0=start, until=0.01, contacts=[ap.Contact("all", planes[0])])
    assert record_scene(record).floor == -0.5
    assert record_scene(record, walls=planes).floor == -0.5
    assert record_scene(record, walls=planes[1:]).floor == planes[2].offset
    assert record_scene(record, walls=planes[1:2]).floor is None


@pytest.mark.parametrize("name", ["talos", "box", "agile-wrist"])
def test_the_floor_of_other_robots_is_below_their_lowest_part(name):
    assert robot_scene(ap.load(name)).floor is None


def test_the_floor_of_a_hanging_arm_is_below_it():
    q = ur10().start
    q[1] = np.pi / 2  # the upper arm points down
    assert robot_scene(ur10(), q).floor is None


def test_wheels_roll_on_the_floor():
    assert robot_scene(ap.load("whipple-bicycle")).floor == 0.0
