"""Plots of records: lines, units, panels, events, legends, and every kind of record."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import appell as ap
from appell.motion import Event
from appell.motion.titles import titles
from appell.show.plot.style import COLORS
from free_bodies import free_body

G = 9.81


@pytest.fixture(scope="module")
def bouncing():
    robot = free_body([(0, 0, 0)])
    q0 = robot.neutral
    q0[2] = 1.0
    return ap.simulate(ap.Dynamics(robot), q0, until=1.5, contacts=ap.Contact("all", ap.Plane(), 0.7, friction=0.0))


def height(t):
    """Return the height of a ball dropped from 1 m with restitution 0.7: a sequence of parabolas."""
    hit, speed, z = np.sqrt(2.0 / G), 0.7 * np.sqrt(2.0 * G), np.where(t >= 0.0, 1.0 - 0.5 * G * t**2, 0.0)
    while hit < t.max():
        s = t - hit
        z = np.where(s >= 0.0, speed * s - 0.5 * G * s**2, z)
        hit, speed = hit + 2.0 * speed / G, 0.7 * speed
    return z


def line(figure, panel, k):
    return figure.axes[panel].lines[k].get_xydata().T


def test_a_bouncing_ball_is_plotted_with_its_parabolas(bouncing):
    """Straight lines between the plotted points are within a thousandth of the closed form."""
    t, z = line(bouncing.plot(), 0, 2)
    dense = np.linspace(0.0, 1.5, 20_001)
    assert np.abs(np.interp(dense, t, z) - height(dense)).max() < 1e-3
    coarse = np.interp(dense, bouncing.t, bouncing["q_root_joint_z"])
    assert np.abs(coarse - height(dense)).max() > 0.05  # the rows alone are not sufficient


def test_a_discontinuity_of_the_velocity_is_kept(bouncing):
    t, v = line(bouncing.plot(), 1, 2)
    hit = np.sqrt(2.0 / G)
    k = np.flatnonzero(np.abs(t - hit) < 1e-9)
    assert len(k) == 2
    assert t[k[0]] == t[k[1]]
    np.testing.assert_allclose(v[k], [-G * hit, 0.7 * G * hit], rtol=1e-7)
    assert np.abs(np.diff(v)[np.diff(t) > 0.0]).max() < 0.01 + G * np.diff(t).max()


def test_axes_have_units_and_empty_panels_are_omitted(bouncing):
    figure = bouncing.plot()
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "position q [m]",
        "velocity v [m/s]",
        f"energy change [J],\nfrom {G} J",
    ]
    assert figure.axes[-1].get_xlabel() == "time t [s]"
    note = figure.get_supxlabel()
    for omitted in ("quaternion [1]", "velocity v [rad/s]", "force tau [N]", "torque tau [N m]"):
        assert omitted in note


def test_energy_is_plotted_as_the_change_from_its_initial_value(bouncing):
    t, change = line(bouncing.plot(), 2, 0)
    after = (t > 0.46) & (t < 1.0)
    assert np.abs(change[t < 0.4]).max() < 1e-6
    assert change[after] == pytest.approx(-(1 - 0.49) * G, rel=1e-6)
    assert change[-1] == pytest.approx(-(1 - 0.49**2) * G, rel=1e-6)


def test_a_small_change_of_energy_has_a_prefix():
    swing = ap.simulate(ap.Dynamics(ap.load("puma")), until=0.5)
    axis = swing.plot().axes[-1]
    most = np.abs(swing.energy - swing.energy[0]).max()
    prefix = axis.get_ylabel().split("[")[1].split("J")[0]
    scale = {"p": 1e-12, "n": 1e-9, "µ": 1e-6}[prefix]
    assert 1.0 <= most / scale < 1000.0
    np.testing.assert_allclose(axis.lines[0].get_ydata() * scale, swing.energy - swing.energy[0], rtol=1e-9)


def many(n):
    names = [
        f"{limb}_{k}_joint" for limb in ("arm_left", "arm_right", "leg_left", "leg_right", "neck") for k in range(8)
    ]
    t = np.linspace(0.0, 1.0, 101)
    q = np.sin(t[:, None] * np.arange(1, n + 1))
    return ap.Record.of(t, {"q": q, "v": q, "tau": q, "energy": t}, names[:n], about={"robot": "many"})


@pytest.mark.parametrize("n", [1, 7, 8, 22, 40])
def test_every_line_of_many_joints_has_its_own_colour_in_a_panel(n):
    record = many(n)
    figure = record.plot()
    for quantity in ("q", "v", "tau"):
        shown = [axis for axis in figure.axes if axis.get_ylabel().split(" [")[0].endswith(quantity)]
        assert sum(len(axis.lines) for axis in shown) == n
        for axis in shown:
            colors = [each.get_color() for each in axis.lines]
            assert len(set(colors)) == len(colors) <= len(COLORS)
    named = [text.get_text() for axis in figure.axes if axis.get_legend() for text in axis.get_legend().get_texts()]
    assert sorted(named) == sorted(record.names("q"))


@pytest.mark.parametrize("n", [3, 40])
def test_legends_and_panels_do_not_overlap(n):
    figure = many(n).plot()
    figure.canvas.draw()
    boxes = [axis.get_window_extent() for axis in figure.axes]
    legends = [axis.get_legend().get_window_extent() for axis in figure.axes if axis.get_legend()]
    assert legends
    for legend in legends:
        assert not any(legend.overlaps(box) for box in boxes)
        assert legend.x1 <= figure.bbox.x1
        assert legend.x0 >= 0.0
    for one, other in itertools.combinations(legends + boxes, 2):
        assert not one.overlaps(other)


def test_a_floating_base_and_its_joints_have_separate_panels():
    """Positions in metres, quaternions without a unit, angles in radians: one unit per axis."""
    robot = ap.load_text(FLYING, "urdf", base="floating")
    record = ap.simulate(ap.Dynamics(robot), v0=np.linspace(0.1, 0.7, robot.nv), until=0.2)
    labels = [axis.get_ylabel() for axis in record.plot().axes]
    assert labels[:6] == [
        "position q [m]",
        "quaternion [1]",
        "angle q [rad]",
        "velocity v [m/s]",
        "velocity v [rad/s]",
        "velocity v [rad/s]",
    ]


FLYING = """<robot name="flying"><link name="base"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""


def test_events_are_marked_at_their_times_and_named(bouncing):
    figure = bouncing.plot()
    marks = figure.axes[0].collections[0].get_segments()
    np.testing.assert_allclose([mark[0][0] for mark in marks], [event.time for event in bouncing.impacts])
    assert figure.legends[0].get_texts()[0].get_text() == "impact (2)"


def test_a_record_with_rows_only_is_plotted_with_dots_and_a_note(bouncing, tmp_path):
    bouncing.to_csv(tmp_path / "ball.csv")
    figure = ap.Record.read(tmp_path / "ball.csv").plot()
    assert "known at the dots" in " ".join(figure.get_supxlabel().split())
    assert figure.axes[0].lines[0].get_marker() == "o"
    assert "dots" not in bouncing.plot().get_supxlabel()


def test_forces_of_a_sampled_law_are_plotted_as_steps():
    """Several rows per period of 0.1 s: the force changes at the sampling times only."""
    t = np.sort(np.concatenate([np.linspace(0.0, 1.0, 11), np.linspace(0.03, 0.97, 10)]))
    tau = np.sin(np.floor(10.0 * t + 1e-9))[:, None]
    record = ap.Record.of(t, {"tau": tau}, ("hinge",))
    figure = record.plot()
    assert figure.axes[0].lines[0].get_drawstyle() == "steps-post"
    assert "held constant between" in figure.get_supxlabel()
    smooth = ap.Record.of(t, {"tau": np.sin(t)[:, None]}, ("hinge",)).plot()
    assert smooth.axes[0].lines[0].get_drawstyle() == "default"
    assert "linear between" in smooth.get_supxlabel()


def test_a_file_with_the_motion_is_plotted_with_its_parabolas(bouncing, tmp_path):
    bouncing.write(tmp_path / "ball.npz")
    t, z = line(ap.Record.read(tmp_path / "ball.npz").plot(), 0, 2)
    assert np.abs(z - height(t)).max() < 1e-8


def test_one_row_is_a_dot_and_an_empty_record_is_rejected(bouncing):
    one = bouncing.part(slice(0, 1)).plot()
    assert one.axes[0].lines[2].get_ydata() == [1.0]
    with pytest.raises(ap.ArgumentError, match="no rows"):
        bouncing.part(slice(0, 0)).plot()
    with pytest.raises(ap.ArgumentError, match="no columns to plot"):
        ap.Record(("t",), np.zeros((2, 1))).plot()
    with pytest.raises(ap.ArgumentError, match="no column 'power'"):
        bouncing.plot(quantities=["power"])


def test_chosen_columns_are_shown_even_if_they_are_zero(bouncing):
    figure = bouncing.plot(quantities=["q_root_joint_z", "q_root_joint_x", "energy"])
    assert [axis.get_ylabel().split(",")[0] for axis in figure.axes] == ["position q [m]", "energy change [J]"]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["root_joint_z", "root_joint_x"]
    t, z = line(figure, 0, 0)
    assert np.abs(z - height(t)).max() < 1e-8
    assert len(t) > 4 * len(bouncing)
    assert [axis.get_ylabel() for axis in bouncing.plot(quantities="tau").axes] == ["force tau [N]", "torque tau [N m]"]


def test_a_very_long_record_keeps_its_peaks():
    """100,000 noisy rows are plotted with far fewer points that include the extremes of every thousandth."""
    t, y = np.linspace(0.0, 1.0, 100_000), np.random.default_rng(3).normal(size=100_000)
    y[40_000:50_000] = np.nan
    drawn_t, drawn = line(ap.Record.of(t, {"q": y[:, None]}, ("noise",)).plot(), 0, 0)
    assert len(drawn) < 15_000
    edges = np.linspace(0.0, 1.0, 1001)
    for low, high in zip(edges[:-1:7], edges[1::7], strict=False):
        rows, points = y[(t >= low) & (t < high)], drawn[(drawn_t >= low) & (drawn_t < high)]
        if np.isnan(rows).all():
            assert np.isnan(points).all()
        else:
            assert (np.nanmin(points), np.nanmax(points)) == (np.nanmin(rows), np.nanmax(rows))


def test_columns_without_finite_values_have_no_panel():
    t = np.linspace(0, 1, 11)
    record = ap.Record.of(t, {"q": np.sin(t)[:, None], "v": np.full((11, 1), np.nan)}, ("a",))
    figure = record.plot()
    assert len(figure.axes) == 1
    assert "no finite values: velocity v" in figure.get_supxlabel()


def test_a_log_of_other_quantities_is_plotted():
    t = np.linspace(0, 1, 101)
    impulses = {title: np.sin(t) for title in titles("impulse", ("one", "two"))}
    events = [Event(0.2, "state", "RUNNING"), *(Event(x, "fault", "hot") for x in np.linspace(0.3, 0.9, 60))]
    figure = ap.Record.of(t, impulses | {"state": t > 0.2}, events=events).plot()
    assert [axis.get_ylabel() for axis in figure.axes] == ["impulse [N s]", "state"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["state", "fault (60)"]


@pytest.mark.parametrize("name", ["delta", "stewart-gough", "agile-wrist", "tree10", "planar-2r"])
def test_every_kind_of_system_is_plotted_to_a_file(name, tmp_path):
    ap.simulate(ap.Dynamics(ap.load(name)), until=0.05).plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert list(tmp_path.iterdir()) == [tmp_path / "a.png"]
