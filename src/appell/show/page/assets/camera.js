// A camera that orbits a target, with azimuth and elevation about the direction up, in radians, and a distance. The
// projection is a mild perspective, or parallel for planar scenes.

import { across, add, cross, dot, minus, multiply, scaled, size, unit } from "./matrix.js";

const HALF = Math.tan(15 * Math.PI / 180); // tangent of half the vertical field of view
const MARGIN = 1.12;
const MAX_ELEVATION = Math.PI / 2;
const LEVEL_ELEVATION = 1.47; // elevation of the normal in rad above which a plane counts as horizontal
const AZIMUTH = -55 * Math.PI / 180, ELEVATION = 20 * Math.PI / 180;

export class Camera {
  constructor(scene) {
    this.up = unit(scene.up);
    this.east = Math.abs(this.up[0]) < 0.9 ? unit(minus([1, 0, 0], scaled(this.up, this.up[0]))) : across(this.up);
    this.north = cross(this.up, this.east);
    this.flat = scene.flat ? unit(scene.flat) : null;
    this.parallel = this.flat !== null;
    this.chosen = scene.view;
    this.width = this.height = 1;
    this.target = [0, 0, 0];
    this.distance = 5;
    this.radius = 1;
    this.moved = false; // whether the user has moved the camera
    this.view_projection = new Float32Array(16);
    this.projection = new Float32Array(16);
    this.view = new Float32Array(16);
    this.reset_direction();
  }

  // the initial direction: as chosen, or face on to a planar scene, or oblique from above
  reset_direction() {
    [this.azimuth, this.elevation] = [AZIMUTH, ELEVATION];
    if (this.chosen) [this.azimuth, this.elevation] = this.chosen.map((degrees) => degrees * Math.PI / 180);
    else if (this.flat) this.face_plane();
    this.update_axes();
  }

  face_plane() {
    const look_along = (normal) => {
      const steep = Math.asin(Math.max(-1, Math.min(1, dot(normal, this.up))));
      const level = Math.abs(steep) < LEVEL_ELEVATION; // seen from above, the second axis points up
      this.elevation = steep;
      this.azimuth = level ? Math.atan2(dot(normal, this.north), dot(normal, this.east)) : -Math.PI / 2;
      this.update_axes();
      if (!level) return steep; // positive from above
      return this.right.reduce((most, part) => (Math.abs(part) > Math.abs(most) + 1e-9 ? part : most), 0);
    };
    if (look_along(this.flat) < 0) look_along(scaled(this.flat, -1)); // so that the axis of the picture points right
  }

  // update the axes of the picture after azimuth or elevation has changed
  update_axes() {
    this.elevation = Math.max(-MAX_ELEVATION, Math.min(MAX_ELEVATION, this.elevation));
    const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    const level = add(scaled(this.east, Math.cos(this.azimuth)), scaled(this.north, Math.sin(this.azimuth)));
    this.back = add(scaled(level, ce), scaled(this.up, se)); // from the target to the eye
    this.right = cross(this.up, level);
    this.upward = cross(this.back, this.right);
  }

  get eye() {
    return add(this.target, scaled(this.back, this.distance));
  }

  // move so close that all points just fit into the picture, centred
  fit(points) {
    this.moved = false;
    this.radius = 1;
    if (points.length) {
      const axes = [this.right, this.upward, this.back].map((axis) => {
        let least = Infinity, most = -Infinity;
        for (const point of points) {
          const x = dot(point, axis);
          least = Math.min(least, x);
          most = Math.max(most, x);
        }
        return { axis, middle: (least + most) / 2 };
      });
      this.target = axes.reduce((sum, { axis, middle }) => add(sum, scaled(axis, middle)), [0, 0, 0]);
      this.radius = points.reduce((most, point) => Math.max(most, size(minus(point, this.target))), 0) || 1;
    }
    const aspect = this.width / this.height;
    let near = this.radius * 0.02;
    for (const point of points) {
      const from = minus(point, this.target);
      const wide = Math.max(Math.abs(dot(from, this.right)) / aspect, Math.abs(dot(from, this.upward))) * MARGIN / HALF;
      near = Math.max(near, wide + (this.parallel ? 0 : dot(from, this.back)));
    }
    this.distance = points.length ? near : 5;
  }

  // the matrix from world to clip coordinates
  matrix() {
    const { right, upward, back, distance, view, projection } = this;
    const eye = this.eye;
    for (let k = 0; k < 3; k++) {
      view[4 * k] = right[k];
      view[4 * k + 1] = upward[k];
      view[4 * k + 2] = back[k];
    }
    view[12] = -dot(right, eye);
    view[13] = -dot(upward, eye);
    view[14] = -dot(back, eye);
    view[15] = 1;
    const aspect = this.width / this.height, far = distance + this.depth_range();
    projection.fill(0);
    if (this.parallel) {
      projection[0] = 1 / (HALF * aspect * distance);
      projection[5] = 1 / (HALF * distance);
      projection[10] = -1 / far;
      projection[15] = 1;
    } else {
      const near = Math.max(distance / 40, distance - this.depth_range());
      projection[0] = 1 / (HALF * aspect);
      projection[5] = 1 / HALF;
      projection[10] = -(far + near) / (far - near);
      projection[11] = -1;
      projection[14] = -2 * far * near / (far - near);
    }
    multiply(this.view_projection, projection, view);
    return this.view_projection;
  }

  // largest distance from the target that is drawn
  depth_range() {
    return 6 * this.radius + 4 * this.distance;
  }

  // the position of a point in the picture, in pixels from its upper left corner
  project(point) {
    const from = minus(point, this.target);
    const depth = (this.parallel ? this.distance : this.distance - dot(from, this.back)) * HALF;
    const x = dot(from, this.right) / (depth * this.width / this.height), y = dot(from, this.upward) / depth;
    return [(1 + x) / 2 * this.width, (1 - y) / 2 * this.height];
  }

  // the line of sight through a position of the picture: {from, along}
  ray(x, y) {
    const wide = (2 * x - this.width) * HALF / this.height, high = (this.height - 2 * y) * HALF / this.height;
    const aside = add(scaled(this.right, wide), scaled(this.upward, high));
    if (!this.parallel) return { from: this.eye, along: unit(minus(aside, this.back)) };
    const start = add(this.target, scaled(aside, this.distance));
    return { from: add(start, scaled(this.back, this.depth_range())), along: scaled(this.back, -1) };
  }

  // size of a pixel at a point, in metres
  pixel(point) {
    const depth = this.parallel ? this.distance : this.distance - dot(minus(point, this.target), this.back);
    return 2 * HALF * Math.max(depth, 1e-6) / this.height;
  }

  orbit(dx, dy) {
    this.moved = true;
    this.azimuth -= dx * 0.008;
    this.elevation += dy * 0.008;
    this.update_axes();
  }

  pan(dx, dy) {
    this.moved = true;
    const step = this.pixel(this.target);
    this.target = add(this.target, add(scaled(this.right, -dx * step), scaled(this.upward, dy * step)));
  }

  // change the distance by a factor; the point at position (x, y) of the picture stays there
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    this.moved = true;
    const next = Math.max(this.radius * 1e-3, Math.min(this.radius * 200, this.distance * factor));
    const step = this.pixel(this.target) * (1 - next / this.distance);
    const wide = (x - this.width / 2) * step, high = (this.height / 2 - y) * step;
    this.target = add(this.target, add(scaled(this.right, wide), scaled(this.upward, high)));
    this.distance = next;
  }
}
