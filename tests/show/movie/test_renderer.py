"""Rendered pictures against closed forms: silhouettes, occlusion, transparency and interpolated positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import binary_dilation
from scipy.spatial import ConvexHull

from appell.show.movie.canvas import EMPTY_KEY, Light
from appell.show.movie.renderer import Renderer
from appell.show.scene.camera import view_axes
from appell.show.scene.scene import DEFAULT_LAYERS, Scene, ScenePart, Strut
from appell.show.scene.solids import box, sphere
from movie_scenes import BLUE, GREEN, RED, SIZE, at, ball, block, impact, moving, picture, sheet, standing

VIEWS = [(-90, 0), (-55, 20), (200, -35), (30, 85)]


def area(renderer):
    """Return the number of pixels covered by static parts, counting fractions."""
    return np.count_nonzero(renderer.keys != EMPTY_KEY) / renderer.samples**2


def rays(renderer):
    """Return the viewing directions of all pixels (pixels, 3), starting at the upper left."""
    width, height = renderer.size
    y, x = np.divmod(np.arange(width * height), width)
    return renderer.camera.rays(x + 0.5, y + 0.5)


def met(renderer, center, radius):
    """Return the distance along the ray of each pixel to a ball: (height, width), NaN without intersection."""
    r, e = rays(renderer), renderer.camera.position - center
    half, most = (r @ e), np.einsum("ni,ni->n", r, r)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(half**2 - most * (e @ e - radius**2))
    return ((-half - root) / most).reshape(renderer.size[::-1])


@pytest.mark.parametrize("view", VIEWS)
def test_the_silhouette_of_a_ball_is_the_ellipse_of_its_cone(view):
    """A cone of half angle α about a line at θ from the axis meets the picture in an ellipse with the half axes

    f sin α cos α / (cos²θ - sin²α)        f sin α / √(cos²θ - sin²α)
    """
    renderer = Renderer(
        standing(ball(0.3, RED, at(0.2, 0.4, 1.0)), block(0.1, 0.1, 0.1, BLUE, at(-1, 0, 0)), view=view), SIZE
    )
    alone = Renderer(standing(ball(0.3, RED, at(0.2, 0.4, 1.0)), view=view), SIZE)
    alone.canvas.camera = renderer.camera  # off the axis, as next to another part
    keys = np.full_like(alone.keys, EMPTY_KEY)
    alone.canvas.draw(alone.triangles.static, keys)
    to = np.array([0.2, 0.4, 1.0]) - renderer.camera.position
    sine, cosine = 0.3 / np.linalg.norm(to), -(to @ renderer.camera.axes[2]) / np.linalg.norm(to)
    opening = cosine**2 - sine**2
    half = renderer.camera.focal * sine * np.array([np.sqrt(1.0 - sine**2) / opening, 1.0 / np.sqrt(opening)])
    assert half.min() > 15
    covered = np.count_nonzero(keys != EMPTY_KEY) / alone.samples**2
    assert abs(covered - np.pi * half.prod()) < 0.2 * np.pi * half.sum()  # a fifth of a pixel along the rim


@pytest.mark.parametrize("view", VIEWS)
def test_the_silhouette_of_a_box_is_the_hull_of_its_corners(view):
    renderer = Renderer(standing(block(0.5, 0.8, 0.3, RED, at(1, 2, 3)), view=view), SIZE)
    corners = np.array([1, 2, 3]) + np.array(
        [[x, y, z] for x in (-0.25, 0.25) for y in (-0.4, 0.4) for z in (-0.15, 0.15)]
    )
    hull = ConvexHull(renderer.camera.project(corners)[:, :2])
    assert hull.volume > 5_000
    assert abs(area(renderer) - hull.volume) < 0.2 * hull.area  # in the plane these are area and perimeter


def test_a_planar_scene_is_drawn_to_scale():
    """Face on, the front and the back of a box coincide: only a rectangle is visible."""
    renderer = Renderer(standing(block(0.8, 2.0, 0.6, RED), flat=(0.0, 1.0, 0.0)), SIZE)
    rows, columns = np.nonzero((renderer.keys != EMPTY_KEY).reshape(-1, renderer.canvas.width))
    tall, wide = np.ptp(rows) + 1, np.ptp(columns) + 1
    assert len(rows) == tall * wide
    assert abs(wide / tall - 0.8 / 0.6) < 0.01


def test_intersecting_solids_are_correct_in_every_pixel():
    """Three intersecting balls: the ray of each pixel gives the first one."""
    centers, radii = np.array([[0.0, 0.0, 0.0], [0.4, 0.1, 0.1], [0.1, -0.2, 0.4]]), [0.4, 0.35, 0.3]
    parts = [ball(r, color, at(*p)) for p, r, color in zip(centers, radii, (RED, BLUE, GREEN), strict=True)]
    renderer = Renderer(standing(*parts), SIZE)
    depths = np.array([met(renderer, p, r) for p, r in zip(centers, radii, strict=True)])
    seen = ~np.isnan(depths).all(axis=0)
    first = np.where(seen, np.argmin(np.where(np.isnan(depths), np.inf, depths), axis=0), -1)
    assert all((first == k).sum() > 1500 for k in range(3))
    edges = np.zeros_like(seen)
    edges[:-1] |= first[:-1] != first[1:]
    edges[:, :-1] |= first[:, :-1] != first[:, 1:]
    sure = seen & ~binary_dilation(edges, iterations=2)
    drawn = np.argmax(renderer.at(0.0)[..., [0, 2, 1]], axis=-1)  # red, blue, green: the largest component
    np.testing.assert_array_equal(drawn[sure], first[sure])
    for order in ((2, 0, 1), (1, 2, 0)):  # in any order
        again = Renderer(standing(*(parts[k] for k in order)), SIZE).at(0.0)
        assert (again != renderer.at(0.0)).any(axis=-1).sum() < 5  # samples at which two are equally near


def test_a_round_surface_is_lit_by_its_own_normals():
    """A smooth ball of triangles has the colours of a ball; a flat-shaded one has those of its facets."""
    for smooth in (True, False):
        mesh = sphere(0.5, 48)
        part = ScenePart(type(mesh)(mesh.vertices, mesh.faces, smooth), color=RED)
        renderer = Renderer(standing(part), SIZE)
        depth = met(renderer, np.zeros(3), 0.5)
        inside = ~binary_dilation(np.isnan(depth), iterations=4)
        r = rays(renderer)[inside.ravel()]
        normals = (renderer.camera.position + depth[inside][:, None] * r) / 0.5
        paint = np.tile(np.array(RED[:3], np.float32), (len(r), 1))
        expected = 255 * Light(renderer.camera.axes, (0, 0, 1)).on(
            paint, normals.astype(np.float32), r.astype(np.float32)
        )
        apart = np.abs(renderer.at(0.0)[inside] - expected).max(axis=-1)
        assert apart.max() < 2 if smooth else np.mean(apart > 2) > 0.3  # of 256


def test_both_sides_of_a_surface_are_lit_equally():
    scene = standing(sheet(1.0, 1.0, RED), view=(-70, 10))
    turned = standing(sheet(1.0, 1.0, RED, (0, 0, 0, 0, 0, 1, 0)), view=(-70, 10))  # half a turn about z
    np.testing.assert_allclose(picture(scene), picture(turned), atol=1.0)


def test_a_transparent_wall_tints_only_what_is_behind_it():
    """A ball intersects the wall: its near half is unchanged, its far half and the background are blended with it."""
    solid, opacity = (0.2, 0.4, 0.9, 1.0), 0.4
    part, options = ball(0.4, RED, at(0.1, 0.0, 0.0)), {"view": (-90, 0)}
    renderer = Renderer(standing(sheet(2.0, 1.5, (*solid[:3], opacity)), part, **options), SIZE)
    mixed, alone = (
        renderer.at(0.0).astype(float),
        picture(standing(sheet(2.0, 1.5, (1, 1, 1, 1e-3)), part, **options)),
    )
    wall = picture(standing(sheet(2.0, 1.5, solid), **options))
    depth = met(renderer, np.array([0.1, 0.0, 0.0]), 0.4)
    before = ~np.isnan(depth)  # the wall passes through the centre of the ball, so its near half is in front
    walled = (renderer.at(0.0) != 255).any(axis=-1) & ~before
    rim = binary_dilation(before, iterations=2) & ~before
    inner = walled & ~binary_dilation(~walled & ~before, iterations=2) & ~rim
    assert inner.sum() > 5_000
    np.testing.assert_allclose(mixed[inner], ((1 - opacity) * alone + opacity * wall)[inner], atol=2.0)
    near = before & ~binary_dilation(~before, iterations=2)
    np.testing.assert_allclose(mixed[near], alone[near], atol=1.0)
    # a ball completely behind the wall is blended everywhere
    behind = standing(sheet(2.0, 1.5, (*solid[:3], opacity), at(0, -0.5, 0)), part, **options)
    bare = standing(sheet(2.0, 1.5, (1, 1, 1, 1e-3), at(0, -0.5, 0)), part, **options)
    opaque = standing(sheet(2.0, 1.5, solid, at(0, -0.5, 0)), part, **options)
    assert np.abs(picture(bare) - picture(behind)).max() > 50
    np.testing.assert_allclose(picture(behind), (1 - opacity) * picture(bare) + opacity * picture(opaque), atol=2.5)


def test_a_ball_moving_through_a_transparent_wall_is_tinted_until_it_has_passed():
    """The ball moves through the wall towards the camera; the ray of each pixel gives its position."""
    opacity, options = 0.4, {"view": (-90, 0)}

    def seen(color, t):
        scene = moving(ScenePart(sphere(0.3, 96), 0, color=RED), [0, 1], [at(0, 1, 0), at(0, -1, 0)], **options)
        renderer = Renderer(Scene("", scene.actors, (sheet(3.0, 2.0, color),), **options), SIZE)
        return renderer, renderer.at(t).astype(float)

    for t, through in ((0.0, False), (0.25, False), (0.75, True), (1.0, True)):
        renderer, mixed = seen((*BLUE[:3], opacity), t)
        bare, wall = seen((*BLUE[:3], 1e-3), t)[1], seen(BLUE, 0.0)[1]
        inside = ~binary_dilation(np.isnan(met(renderer, np.array([0.0, 1.0 - 2.0 * t, 0.0]), 0.3)), iterations=2)
        assert inside.sum() > 500
        expected = bare if through else (1 - opacity) * bare + opacity * wall
        np.testing.assert_allclose(mixed[inside], expected[inside], atol=2.0)


def test_transparent_parts_are_blended_from_far_to_near_in_any_order():
    near, far = sheet(1.0, 1.0, (*RED[:3], 0.5), at(0, -1, 0)), sheet(3.0, 3.0, (*BLUE[:3], 0.5), at(0, 1, 0))
    pictures = [picture(standing(*parts, view=(-90, 0))) for parts in ((near, far), (far, near))]
    np.testing.assert_array_equal(*pictures)
    red, _, blue = pictures[0][SIZE[1] // 2, SIZE[0] // 2]
    assert red > blue


def test_moving_parts_are_drawn_like_static_ones():
    """The same picture of solids, transparent parts and a shadow by both ways of drawing."""
    parts = [
        ball(0.3, RED, at(0, 0, 0.5)),
        block(0.3, 1.2, 0.1, BLUE, at(0, 0, 0.4)),
        sheet(1, 1, (*GREEN[:3], 0.3), at(0, -0.6, 0.5)),
    ]
    still = picture(standing(*parts))
    one_part = moving(parts[0], [0, 1], [at(0, 0, 0), at(0, 0, 1e-7)])
    actor = one_part.actors[0]
    all_parts = Scene(
        "",
        (
            type(actor)(
                "it",
                ("body",),
                actor.poses,
                tuple(ScenePart(p.mesh, 0, p.pose, p.color) for p in parts),
                motion=actor.motion,
            ),
        ),
    )
    apart = np.abs(picture(all_parts) - still).max(axis=-1)
    assert (apart > 1).sum() < 10  # the frame is 1e-7 m wider
    assert (still < 250).any(axis=-1).sum() > 5_000


def test_bodies_are_interpolated_between_frames():
    scene = moving(
        ScenePart(sphere(0.1), 0, color=RED), [0, 1, 1, 2], [at(0, 0, 0), at(1, 0, 0), at(1, 0, 1), at(1, 0, 1)]
    )
    renderer = Renderer(scene, SIZE)
    for t, position in ((-1, (0, 0, 0)), (0.25, (0.25, 0, 0)), (0.999999, (1, 0, 0)), (1, (1, 0, 1)), (5, (1, 0, 1))):
        red, _, blue = np.moveaxis(renderer.at(t).astype(float), -1, 0)
        rows, columns = np.nonzero(red > blue + 40)
        x, y, _ = renderer.camera.project(np.array(position, float))
        assert abs(columns.mean() + 0.5 - x) < 0.5
        assert abs(rows.mean() + 0.5 - y) < 0.5


def test_rotations_are_interpolated_along_the_shorter_way_at_a_constant_rate():
    """A third of the way from 0 to 90 degrees is 30 degrees, although the last quaternion has the other sign."""
    quarter = (0, 0, 0, 0, -np.sin(np.pi / 4), 0, -np.cos(np.pi / 4))
    stick = ScenePart(box(2.0, 0.02, 0.02), 0, color=RED)
    renderer = Renderer(moving(stick, [0, 3], [at(0, 0, 0), quarter], flat=(0, 1, 0)), SIZE)
    red, _, blue = np.moveaxis(renderer.at(1.0).astype(float), -1, 0)
    rows, columns = np.nonzero(red > blue + 80)
    slope = np.polyfit(columns, -rows, 1)[0]
    assert abs(np.degrees(np.arctan(slope)) + 30.0) < 1.0  # a rotation about +y takes x to -z


def test_the_shadow_is_directly_below():
    high = moving(ScenePart(sphere(0.2), 0, color=RED), [0, 1], [at(0, 0, 1), at(1, 0, 0.2)])
    renderer = Renderer(high, SIZE)
    x, y, _ = renderer.camera.project(np.array([0.0, 0.0, 0.0]))
    lit, shaded = renderer.at(1.0), renderer.at(0.0)
    there = (slice(int(y) - 2, int(y) + 3), slice(int(x) - 2, int(x) + 3))
    assert shaded[there].mean() < lit[there].mean() - 30
    assert renderer.at(0.0)[5, 5].min() == 255
    below = Renderer(Scene(high.title, high.actors, view=(-55, -20)), SIZE)
    assert below.ground is None  # the ground is not visible from below


def test_arrows_are_drawn_over_everything_for_a_limited_time():
    scene = moving(ScenePart(box(0.5, 0.5, 0.5), 0, color=BLUE), [0, 10], [at(0, 0, 0), at(0, 0, 0.01)], [impact(5.0)])
    renderer = Renderer(scene, SIZE)

    def orange(t):
        red, _, blue = np.moveaxis(renderer.at(t).astype(float), -1, 0)
        return (red > blue + 100).sum()

    assert orange(4.99) == 0
    assert orange(5.0) > 100
    assert orange(5.29) > 100
    assert orange(5.31) == 0


def test_layers_are_shown_by_name():
    hidden = ScenePart(box(0.2, 0.2, 0.2), color=RED, layer="inertia")
    scene = standing(block(1, 1, 1, (*BLUE[:3], 0.3)), hidden)
    with_it, without = picture(scene, layers=(*DEFAULT_LAYERS, "inertia")), picture(scene)
    assert np.abs(with_it - without).max() > 30


def test_the_view_is_as_chosen_or_face_on_or_oblique():
    np.testing.assert_allclose(view_axes((0, 0, 1), None, (0, 90)), [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(view_axes((0, 0, 1), (0, 1, 0)), [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=1e-12)
    near = view_axes((0, 0, 1))[2]
    np.testing.assert_allclose(np.degrees([np.arctan2(near[1], near[0]), np.arcsin(near[2])]), [-55, 20])


def test_an_empty_scene_is_white():
    assert (picture(Scene("", ())) == 255).all()


def test_a_strut_reaches_from_body_to_body():
    """A strut between a moving point and a point of the world has their distance as length, and its own thickness."""
    scene = moving(ScenePart(sphere(0.01), 0, color=BLUE), [0, 1], [at(0, 0, 0.5), at(0, 0, 2.0)], flat=(0.0, 1.0, 0.0))
    ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    actor = replace(scene.actors[0], struts=(Strut((-1, 0), ends, 0.1, RED),))
    renderer = Renderer(replace(scene, actors=(actor,)), SIZE)
    scale = renderer.camera.focal / np.linalg.norm(renderer.camera.position)  # pixels per metre
    for t, length in ((0.0, 0.5), (0.5, 1.25), (1.0, 2.0)):
        red, _, blue = np.moveaxis(renderer.at(t).astype(float), -1, 0)
        rows, columns = np.nonzero(red > blue + 40)
        assert abs(np.ptp(rows) + 1 - length * scale) < 2.0
        assert abs(np.ptp(columns) + 1 - 0.2 * scale) < 2.0
    not_finite = replace(actor, motion=replace(actor.motion, poses=np.full_like(actor.motion.poses, np.nan)))
    nothing = picture(replace(scene, actors=(not_finite,)))
    assert np.ptp(nothing, axis=-1).max() < 20  # only grey grid lines
