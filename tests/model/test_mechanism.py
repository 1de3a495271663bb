"""Invalid mechanisms and poses: each error names the part that causes it."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.legs import cylinder, diagonal, disc, rotation_z
from appell.describe.planar_leg import Links
from appell.describe.zoo.mechanisms import agile_wrist, delta, five_bar, stewart_gough, three_rrr
from appell.dynamics import Dynamics
from appell.errors import AppellError, ArgumentError, ModelError, ModelWarning, TraceError
from appell.kinematics.mechanisms import check_pose, condition, workspace
from appell.model.body import Body
from appell.model.mechanism import LegJoint, Mechanism, MovingBody
from appell.show.plot.drawing import draw

SLIDER = [LegJoint("slide", lambda q: q[0], "m")]


def one_body(pose=lambda q: Pose(translation=Vec3(q[0], 0.0, 0.0)), body=None, **options):
    options = {"home": (0.0,), "driven": SLIDER} | options
    return Mechanism("probe", ("x",), [MovingBody("block", pose, body or disc(1.0, 0.1))], **options)


def test_an_unreachable_pose_in_a_batch_is_nan_and_affects_no_other_sample():
    robot = Dynamics(five_bar())
    q = np.array([[0.0, 0.4], [3.0, 0.0], [0.05, 0.35]])
    with np.errstate(invalid="ignore"):
        for results in (robot.actuator_positions(q), robot.inverse_dynamics(q, q, q), robot.mass_matrix(q)):
            missing = np.isnan(results).reshape(3, -1)
            assert missing[1].all()
            assert not missing[[0, 2]].any()


@pytest.mark.parametrize(
    ("robot", "q", "sentence"),
    [
        (five_bar(), (0.9, 0.1), r"leg 'left' cannot reach: its second link measures 0\.4 m .* 0\.404751 m too short"),
        (five_bar(), (-0.15, 0.1), r"leg 'left' cannot reach: .* 0\.05 m too long"),
        (three_rrr(), (0.4, 0.0, 0.0), r"leg 'leg_1' cannot reach: .* m too short"),
        (delta(), (0.0, 0.0, -1.0), r"leg 'leg_1' cannot reach: its forearm measures 0\.7 m .* 0\.0111874 m too short"),
        (
            agile_wrist(),
            (3.0, 0.0, 0.0),
            r"leg 'leg_1' cannot reach: its second arc measures 70 deg .* 9\.73347 deg too short",
        ),
        (
            stewart_gough(stroke=(0.5, 0.9)),
            (0, 0, 1, 0, 0, 0),
            r"leg 'leg_1' .* its length measures .* 0\.153654 m too long",
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_functions_of_one_pose_name_the_leg_that_does_not_reach_and_its_error(robot, q, sentence):
    for helper in (check_pose, draw):
        with pytest.raises(ArgumentError, match=sentence):
            helper(Dynamics(robot), q)


def test_a_singular_pose_is_reported_with_its_condition_number():
    robot, q, zero = Dynamics(five_bar()), (0.0, -0.2), np.zeros(2)  # both second links in one line
    with pytest.raises(
        ArgumentError, match=r"is close to singular: its actuator Jacobian has condition number \d(\.\d+)?e\+"
    ):
        check_pose(robot, q)
    with np.errstate(invalid="ignore"):
        assert np.isnan(robot.inverse_dynamics(q, zero, zero)).all()
    assert condition(robot, q) > 1e10
    with pytest.raises(ArgumentError, match="condition number"):
        check_pose(robot, robot.system.home, limit=1.0)


def test_the_shape_of_a_pose_is_checked():
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\); its last axis must be 2 for mechanism 'five-bar'"):
        check_pose(Dynamics(five_bar()), [0.0, 0.4, 0.0])
    with pytest.raises(ArgumentError, match=r"q has shape \(4, 2\)"):
        check_pose(Dynamics(five_bar()), np.zeros((4, 2)))
    with pytest.raises(ArgumentError, match=r"q is \['a', 'b'\]"):
        check_pose(Dynamics(five_bar()), ["a", "b"])
    with pytest.raises(ValueError, match="argument q has shape"):
        Dynamics(five_bar()).mass_matrix([0.0, 0.4, 0.0])


@pytest.mark.parametrize(
    ("body", "flaw"),
    [
        (Body(-1.0, Vec3(0.0, 0.0, 0.0), diagonal(1.0, 1.0, 1.0)), "mass -1 kg"),
        (Body(1.0, Vec3(0.0, 0.0, 0.0), diagonal(1.0, 1.0, 3.0)), "exceeds the sum of the other two"),
        (Body(1.0, Vec3(0.0, 0.0, 0.0), diagonal(1.0, -1.0, 1.0)), "the smallest is negative"),
        (Body(1.0, Vec3(0.0, float("nan"), 0.0), diagonal(1.0, 1.0, 1.0)), "not finite"),
    ],
)
def test_a_body_that_cannot_exist_is_named(body, flaw):
    with pytest.raises(ModelError, match=f"body 'block' of mechanism 'probe' has .*{flaw}"):
        one_body(body=body)
    with pytest.raises(ModelError, match="body 'platform' of mechanism 'delta'"):
        delta(platform=body)


def test_an_impossible_platform_of_the_wrist_is_named():
    with pytest.raises(ModelError, match="body 'platform' of mechanism 'agile-wrist'"):
        agile_wrist(platform_com=(0.0, 0.0, 0.2))  # its inertia about the centre leaves too little about itself


@pytest.mark.parametrize("make", [agile_wrist, three_rrr, delta])
@pytest.mark.parametrize("branches", [(1, 1), (1, 1, 2), (1, 1, 1, 1), "up", 1, (1.5, 1, 1)])
def test_branches_must_be_one_sign_per_leg(make, branches):
    with pytest.raises(ArgumentError, match=r"has branches .*\n.*3 numbers, each 1 or -1"):
        make(branches=branches)


def test_the_error_of_a_pose_that_branches_on_a_traced_value_recommends_select():
    def pose(q):
        return Pose(translation=Vec3(q[0] if q[0] > 0 else -q[0], 0.0, 0.0))

    with pytest.raises(
        TraceError, match=r"the pose of body 'block' of mechanism 'probe' cannot be traced(.|\n)*select"
    ):
        Dynamics(one_body(pose))

    with pytest.raises(TraceError, match=r"joint 'slide' of mechanism 'probe'(.|\n)*select"):
        Dynamics(one_body(driven=[LegJoint("slide", lambda q: max(q[0], 0.0))]))


def test_a_pose_must_be_a_rotation():
    stretched = Pose(2.0 * rotation_z(0.3))
    mirrored = Pose(diagonal(1.0, 1.0, -1.0))
    for wrong in (stretched, mirrored):
        with pytest.raises(ModelError, match="body 'block' of mechanism 'probe' is not a rotation at home"):
            one_body(lambda q, wrong=wrong: Pose(wrong.rotation, Vec3(q[0], 0.0, 0.0)))
    with pytest.raises(ModelError, match=r"of mechanism 'probe' is 3\."):
        one_body(lambda q: 3)


def test_the_reach_of_a_mechanism_without_reach_conditions_is_unknown():
    with pytest.raises(ModelError, match="has legs of unknown reach"):
        _ = Dynamics(one_body()).survey
    assert workspace(Dynamics(one_body()), {"x": [0.0, 1.0]}).share == 1.0


def test_invalid_parts_are_named():
    block = MovingBody("block", lambda q: Pose(translation=Vec3(q[0], 0.0, 0.0)), disc(1.0, 0.1))
    with pytest.raises(ModelError, match="more than one body named 'block'"):
        Mechanism("probe", ("x",), [block, block], SLIDER, home=(0.0,))
    with pytest.raises(ModelError, match="has no actuator"):
        Mechanism("probe", ("x",), [block], [], home=(0.0,))
    with pytest.raises(ModelError, match="has no coordinate"):
        Mechanism("probe", (), [block], SLIDER, home=())
    with pytest.raises(ModelError, match="home of length 2"):
        one_body(home=(0.0, 1.0))
    with pytest.raises(ArgumentError, match="the gravity of mechanism 'probe' contains NaN or infinity"):
        one_body(gravity=(0.0, 0.0, float("inf")))
    with pytest.raises(ModelError, match=r"no frame 'blok'\. Did you mean 'block'"):
        Dynamics(one_body()).pose("blok")
    with pytest.raises(ModelError, match="no body 'blok'"):
        one_body().with_bodies({"blok": disc(1.0, 0.1)})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: agile_wrist(radius=-0.1), "radius = -0.1"),
        (lambda: agile_wrist(alpha1=4.0), "alpha1 = 4 rad"),
        (lambda: agile_wrist(eta=(0.0, 1.0)), "eta = "),
        (lambda: agile_wrist(alpha2=(1.0, 1.2)), "alpha2 = "),
        (lambda: agile_wrist(alpha2=(1.2, 1.2, -0.1)), "alpha2 = -0.1 rad on leg 3"),
        (lambda: agile_wrist(platform_com=(0.0, 0.0)), "centre of mass"),
        (lambda: agile_wrist(platform_inertia=(1.0, 2.0)), "inertia of the platform"),
        (lambda: Dynamics(agile_wrist(), "lagrange"), "no formulation 'lagrange'"),
        (lambda: Dynamics(agile_wrist(), inertia="hessian-loops"), "is a method for trees"),
        (lambda: five_bar(base=0.0), "base = 0.0"),
        (lambda: five_bar(links=(Links(0.2, -0.3, 1.0, 1.0),) * 2), "links.second = -0.3"),
        (lambda: delta(forearm=float("nan")), "forearm = nan"),
        (lambda: stewart_gough(stroke=(0.9, 0.5)), "stroke"),
        (lambda: delta(arm=0.1, forearm=0.05), "cannot reach"),
    ],
)
def test_invalid_dimensions_are_named(make, words):
    with pytest.raises(AppellError, match=words):
        make()


def test_explicit_equations_are_rejected_for_mechanisms_that_are_not_spherical():
    with pytest.raises(ModelError, match="'explicit' does not support mechanism 'delta'"):
        Dynamics(delta(), "explicit")


def test_functions_of_mechanisms_are_rejected_for_a_tree():
    import appell as ap

    dyn = Dynamics(ap.load("planar-2r"))
    with pytest.raises(ModelError, match="survey is for mechanisms in closed form; robot 'planar-2r' is a tree"):
        _ = dyn.survey
    with pytest.raises(ModelError, match="robot 'planar-2r' is a tree, whose joints reach every q"):
        workspace(dyn, {"joint1": [0.0]})
    assert check_pose(dyn, [0.0, 0.0]) == 1.0


def test_fewer_actuators_than_coordinates_cannot_drive_every_motion():
    mechanism = Mechanism(
        "cart",
        ("x", "angle"),
        [
            MovingBody("cart", lambda q: Pose(translation=Vec3(q[0], 0.0, 0.0)), disc(1.0, 0.1)),
            MovingBody("pole", lambda q: Pose(translation=Vec3(q[0] + q[1], 0.0, 0.0)), cylinder(1.0, 0.5, 0.01)),
        ],
        SLIDER,
        home=(0.0, 0.0),
    )
    robot = Dynamics(mechanism)
    with pytest.raises(ModelError, match="1 actuators for 2 degrees of freedom"):
        _ = robot.inverse_dynamics
    assert np.isfinite(robot.generalized_forces([0.0, 0.0], [0.0, 0.0], [1.0, 1.0])).all()
    assert np.isfinite(robot.forward_dynamics([0.0, 0.0], [0.0, 0.0], [1.0])).all()


def test_a_published_platform_that_is_flat_to_its_printed_digits_passes_with_a_warning():
    """38.29e-4 - 1.351 · 0.05165² = 2.24907e-4 kg m² twice, against 4.5e-4: a relative excess of 4e-4."""
    with pytest.warns(ModelWarning, match=r"body 'platform' has principal moments .* by 0\.041 %"):
        wrist = agile_wrist(platform_com=(0.0, 0.0, 0.05165))
    assert np.isfinite(Dynamics(wrist).inverse_dynamics([0.1] * 3, [0.2] * 3, [0.3] * 3)).all()


IMPOSSIBLE = Body(0.5, (0, 0, 0), (1e-3, 1e-3, 3e-3))


@pytest.mark.parametrize(
    ("make", "options", "culprit"),
    [
        (agile_wrist, {"platform_com": (0.0, 0.0, 0.06)}, "platform"),
        (delta, {"platform": IMPOSSIBLE}, "platform"),
        (three_rrr, {"platform": IMPOSSIBLE}, "platform"),
        (stewart_gough, {"platform": IMPOSSIBLE}, "platform"),
    ],
)
def test_functions_of_the_zoo_accept_impossible_bodies_on_request(make, options, culprit):
    with pytest.raises(ModelError, match=rf"(?s)body '{culprit}' .*physical=False to accept"):
        make(**options)
    with pytest.warns(ModelWarning, match=f"body '{culprit}'"):
        assert not make(**options, physical=False).physical


def test_a_mechanism_created_without_checks_accepts_impossible_bodies_later():
    with pytest.warns(ModelWarning, match="body 'first_link_left'"):
        five_bar(physical=False).with_bodies({"first_link_left": IMPOSSIBLE})


def test_an_inertia_with_an_excess_due_to_rounding_gives_one_warning():
    with pytest.warns(ModelWarning) as warned:
        agile_wrist(platform_com=(0.0, 0.0, 0.05165))
    assert len(warned) == 1


def test_impossible_bodies_are_accepted_on_request_with_a_warning():
    wrong = Body(1.0, (0, 0, 0), (1, 1, 3))
    with pytest.raises(ModelError, match=r"by 33\.3 %"):
        one_body(body=wrong)
    with pytest.warns(ModelWarning, match="body 'block' has principal moments of inertia 1, 1, 3"):
        assert one_body(body=wrong, physical=False).bodies["block"] == wrong
    with pytest.raises(ModelError, match="not finite"):
        one_body(body=Body(float("nan")), physical=False)
