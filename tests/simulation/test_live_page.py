"""Live pages in a browser without a network: the motion of `rollout`, every control, and walls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import appell as ap
from appell.cli.main import app
from appell.errors import AppellError, ArgumentError
from appell.show.page.page_text import page_text
from appell.simulation.live import live_scene
from robots import example_urdfs, rope

DT = 1e-3
WALL = ap.Contact("tool", ap.Plane(normal=(0.0, 1.0, 0.0), offset=-1.2), restitution=0.5)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a planar arm above a floor; pages are expensive, so tests share it and reload it."""
    path = tmp_path_factory.mktemp("live") / "arm.html"
    return ap.live_page(ap.load("planar-2r"), path, [0.4, 0.3], contacts=WALL)


@pytest.fixture
def live(browser, page):
    """The loaded page, paused; finally its errors and requests are checked."""
    browser.open(page)
    browser.ready()
    browser.wait("document.getElementById('live_status')")
    browser.do("appell.simulation.set_running(false); appell.simulation.reset()")
    yield browser
    assert browser.complaints() == []
    assert {url.partition("#")[0] for url in browser.requests()} == {page.as_uri()}


def state(browser) -> tuple[np.ndarray, np.ndarray]:
    q, v = browser.ask("[Array.from(appell.simulation.q), Array.from(appell.simulation.v)]")
    return np.array(q), np.array(v)


def slide(browser, name: str, value: float) -> None:
    browser.fill(f"#live [data-name='{name}'] input[type=range]", value)


def choose(browser, controller: str) -> None:
    number = browser.ask("appell.simulation.data.controllers.indexOf(arguments[0])", controller)
    browser.fill("#controller", str(number), "change")


def after(browser, steps: int) -> np.ndarray:
    browser.do("appell.simulation.run(arguments[0])", steps)
    return state(browser)[0]


def with_walls(robot, steps: int) -> np.ndarray:
    """Return the final configuration of a rollout; its law is zero, because Moreau's step depends on laws."""
    law = lambda t, q, v: [0.0, 0.0]  # noqa: E731
    records = ap.rollout(robot, [0.4, 0.3], steps=steps, dt=DT, method="moreau", law=law, contacts=WALL, check=False)
    return records.q[0, -1]


def test_the_energy_drift_of_a_swinging_arm_is_that_of_rollout(browser, tmp_path):
    robot, start = ap.load("panda"), np.array([0.0, 1.2, 0.0, -1.0, 0.0, 1.0, 0.0])
    page = ap.live_page(robot, tmp_path / "panda.html", start)
    assert page.stat().st_size < 400_000
    browser.open(page)
    browser.ready()
    browser.wait("document.getElementById('live_status')")
    browser.do("const s = appell.simulation; s.set_running(false); s.set_controller(0); s.reset();")
    rows = browser.ask(
        "Array.from({ length: 20 }, () => { const s = appell.simulation; s.run(50);"
        "return [s.energy, ...s.q, ...s.v]; })"
    )
    energy, state = np.array(rows)[:, 0], np.array(rows)[:, 1:]
    records = ap.rollout(robot, start, steps=1000, dt=DT, output=ap.simulation.Output(every=50, energy=True))
    expected = np.concatenate([records.q[0], records.v[0]], axis=1)[1:]
    assert abs(state - expected).max() < 1e-9
    drift, drift_of_rollout = energy - energy[0], records["energy"][0, 1:] - records["energy"][0, 1]
    assert abs(drift - drift_of_rollout).max() < 1e-10 * abs(energy).max()
    assert browser.complaints() == []


def test_without_a_controller_the_arm_is_that_of_rollout_with_walls(live):
    choose(live, "none")
    expected = with_walls(ap.load("planar-2r"), 1500)
    assert abs(after(live, 1500) - expected).max() < 1e-9


def test_a_wall_stops_the_tool(live):
    choose(live, "none")
    pose = ap.Dynamics(ap.load("planar-2r")).pose("tool")
    heights = [pose(after(live, 20))[1, 3] for _ in range(100)]
    assert min(heights) > -1.2 - 0.02  # a step passes the wall by at most v dt
    assert live.ask("appell.simulation.impulse") > 0.1


@pytest.mark.parametrize(
    ("name", "value"),
    [("payload", 0.9), ("gravity", 0.3), ("friction", 5.0), ("frequency", 3.0), ("damping ratio", 0.2)],
)
def test_every_slider_changes_the_motion(name, value, live):
    def moved() -> np.ndarray:
        live.do("appell.simulation.reset(); appell.simulation.goal.fill(0)")
        return after(live, 200)

    choose(live, "PD")
    before = moved()
    slide(live, name, value)
    assert live.ask("appell.simulation.settings[arguments[0]]", name) == value
    assert abs(moved() - before).max() > 1e-3


def test_without_gravity_an_arm_at_rest_stays_there(live):
    choose(live, "none")
    slide(live, "gravity", 0.0)
    assert after(live, 500) == pytest.approx([0.4, 0.3], abs=1e-12)


def test_a_payload_is_that_of_the_robot_with_a_point_mass(live):
    choose(live, "none")
    slide(live, "payload", 0.5)
    loaded = ap.load("planar-2r").with_payload(0.5, "tool")
    assert abs(after(live, 300) - with_walls(loaded, 300)).max() < 1e-9


def test_computed_torque_reaches_the_goal_of_the_sliders_and_pd_sags(live):
    choose(live, "computed torque")
    for name, value in (("shoulder", 0.8), ("elbow", -0.6)):
        live.fill(f"#sliders [data-name='{name}'] input[type=range]", value)
    live.do("appell.simulation.reset(); appell.simulation.goal.set([0.8, -0.6])")
    assert after(live, 3000) == pytest.approx([0.8, -0.6], abs=1e-6)
    choose(live, "PD")
    assert abs(after(live, 3000) - [0.8, -0.6]).max() > 0.01


def test_goal_sliders_are_the_goal_of_the_controller(live):
    choose(live, "computed torque")
    live.do("appell.simulation.set_running(true)")
    live.fill("#sliders [data-name='shoulder'] input[type=range]", 0.9)
    assert live.ask("appell.simulation.goal[0]") == pytest.approx(0.9)
    live.wait("Math.abs(appell.simulation.q[0] - 0.9) < 1e-3")


def test_a_push_adds_its_impulse(live):
    choose(live, "none")
    slide(live, "gravity", 0.0)
    slide(live, "push", 0.8)
    live.do("appell.simulation.push([0, 1, 0]); appell.simulation.set_running(false)")
    before = np.array([0.4, 0.3])
    after(live, 50)
    _, v = state(live)
    dyn = ap.Dynamics(ap.load("planar-2r"))
    J = dyn.jacobian("tool", reference="LOCAL_WORLD_ALIGNED")(before)[:3]
    expected = np.linalg.solve(dyn.mass_matrix(before), J.T @ [0.0, 0.8, 0.0])
    assert v == pytest.approx(expected, rel=0.25)  # the arm moves during the push
    assert abs(v).max() > 0.1


def test_dragging_pulls_the_frame_and_releasing_it_ends_the_force(live):
    slide(live, "gravity", 0.0)
    choose(live, "none")
    live.do("appell.simulation.set_running(true)")
    x, y, z = live.ask("appell.gizmo().slice(0, 3)")
    at, target = (live.ask("appell.project(...arguments)", x - dx, y, z) for dx in (0.0, 0.6))
    live.mouse("mouseMoved", *at, buttons=0)
    live.mouse("mousePressed", *at)
    live.mouse("mouseMoved", *target)
    live.wait("appell.simulation.pull !== null")
    live.wait("Math.hypot(...appell.simulation.v) > 0.3")
    live.mouse("mouseReleased", *target)
    assert live.ask("appell.simulation.pull") is None


def test_a_link_repeats_the_state_and_its_motion(live):
    choose(live, "PD")
    slide(live, "payload", 0.7)
    after(live, 123)
    live.element("#live_link").click()
    q, v = state(live)
    address, expected = live.ask("location.href"), after(live, 200)
    live.open(address)
    live.ready()
    live.wait("document.getElementById('live_status')")
    assert live.ask("[appell.simulation.settings.payload, appell.simulation.controller]") == [0.7, 1]
    live.do("appell.simulation.set_running(false); appell.simulation.open_link(location.hash)")
    assert np.array_equal(state(live), [q, v])
    assert np.array_equal(after(live, 200), expected)


def test_a_link_of_another_robot_is_ignored_with_a_note(live):
    q, _ = state(live)
    live.do("appell.simulation.open_link('#live=' + btoa('[1, {}, [0], [0], [0], 0]'))")
    assert np.array_equal(state(live)[0], q)
    assert "does not belong to this robot" in live.ask("document.getElementById('notes').textContent")


def test_buttons_run_reset_and_drop(live):
    live.element("#live_run").click()
    live.wait("appell.simulation.time > 0.05")
    live.element("#live_drop").click()
    assert live.ask("appell.simulation.controller") == 0
    live.wait("Math.abs(appell.simulation.q[0] - 0.4) > 0.01")
    live.element("#live_run").click()
    live.element("#live_reset").click()
    assert state(live)[0] == pytest.approx([0.4, 0.3], abs=0)
    live.press(" ", "#stage")
    assert live.ask("appell.simulation.running")


def test_only_the_page_of_a_simulation_may_compile_webassembly():
    scene = live_scene(ap.load("pendulum"))
    heads = [page_text(each).partition("</head>")[0] for each in (scene, replace(scene, simulation=None))]
    assert ["wasm-unsafe-eval" in head for head in heads] == [True, False]


@pytest.mark.parametrize("name", ["delta", "four-bar", "box", "solo12", "rope"])
def test_other_systems_have_the_controls_that_apply_to_them(name):
    if name == "solo12":
        robot = ap.load(next(path for path in example_urdfs() if path.name == "solo12.urdf"), base="floating")
    else:
        robot = rope(24) if name == "rope" else ap.load(name)
    simulation = live_scene(robot).simulation
    controllers = {"delta": 3, "four-bar": 2, "box": 1, "solo12": 2, "rope": 2}
    assert len(simulation.controllers) == controllers[name]
    assert ("gravity" in [each.name for each in simulation.settings]) == (name != "rope")  # loops have constant gravity


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q": [0.0]}, "must be 2 for robot 'planar-2r'"),
        ({"dt": -1.0}, "dt"),
        ({"method": "rk5"}, "no method 'rk5'"),
        ({"contacts": WALL, "stops": 3.0}, "stops"),
    ],
)
def test_bad_arguments_leave_no_file(arguments, message, tmp_path):
    with pytest.raises(AppellError, match=message):
        ap.live_page(ap.load("planar-2r"), tmp_path / "page.html", **arguments)
    assert not list(tmp_path.iterdir())


def test_a_dynamics_is_not_a_robot(tmp_path):
    with pytest.raises(ArgumentError, match="the robot of a live page is"):
        ap.live_page(ap.Dynamics(ap.load("pendulum")), tmp_path / "page.html")


def test_the_command_writes_the_page_of_python(tmp_path):
    wall = ap.Contact("all", ap.Plane(normal=(0.0, 1.0, 0.0), offset=-1.2))
    expected = ap.live_page(ap.load("planar-2r"), tmp_path / "one.html", contacts=wall).read_text(encoding="utf-8")
    target = tmp_path / "two.html"
    command = ["view", "planar-2r", "--live", "--wall", "plane:0,1,0,-1.2", "--html", str(target)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert target.read_text(encoding="utf-8") == expected


def test_the_command_needs_a_robot_and_a_file(tmp_path):
    ap.rollout(ap.load("planar-2r"), steps=3)[0].write(tmp_path / "motion.csv")
    record = [str(tmp_path / "motion.csv"), "--robot", "planar-2r", "--html", str(tmp_path / "page.html")]
    for arguments in (["planar-2r"], record):
        result = CliRunner().invoke(app, ["view", *arguments, "--live"])
        assert result.exit_code == 1
        assert "--live needs a robot and --html" in result.output
    assert not (tmp_path / "page.html").exists()
