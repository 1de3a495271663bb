// A camera that circles a target: azimuth and elevation about the direction up, in radians, and a distance. It sees in
// mild perspective, or in parallel, as drawings of flat mechanisms do.

import { across, add, cross, dot, minus, multiply, scaled, size, unit } from "./matrix.js";

const HALF = Math.tan(15 * Math.PI / 180); // half the height of the picture, seen from a distance of 1
const MARGIN = 1.12;
const STEEPEST = Math.PI / 2;
const LEVEL = 1.47; // a plane whose normal is steeper than this is level
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
    this.steered = false; // whether the viewer has chosen what to see
    this.seen = new Float32Array(16);
    this.lens = new Float32Array(16);
    this.stand = new Float32Array(16);
    this.face();
  }

  // the direction it starts with: as chosen, or face on to what is flat, or from the side and above
  face() {
    [this.azimuth, this.elevation] = [AZIMUTH, ELEVATION];
    if (this.chosen) [this.azimuth, this.elevation] = this.chosen.map((degrees) => degrees * Math.PI / 180);
    else if (this.flat) this.face_flat();
    this.turn();
  }

  face_flat() {
    const look = (normal) => {
      const steep = Math.asin(Math.max(-1, Math.min(1, dot(normal, this.up))));
      const level = Math.abs(steep) < LEVEL; // from straight above, the second axis shows upwards
      this.elevation = steep;
      this.azimuth = level ? Math.atan2(dot(normal, this.north), dot(normal, this.east)) : -Math.PI / 2;
      this.turn();
      if (!level) return steep; // from above, not from below
      return this.right.reduce((most, part) => (Math.abs(part) > Math.abs(most) + 1e-9 ? part : most), 0);
    };
    if (look(this.flat) < 0) look(scaled(this.flat, -1)); // from the side from which its axis goes to the right
  }

  // the axes of the picture, after azimuth or elevation has changed
  turn() {
    this.elevation = Math.max(-STEEPEST, Math.min(STEEPEST, this.elevation));
    const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    const level = add(scaled(this.east, Math.cos(this.azimuth)), scaled(this.north, Math.sin(this.azimuth)));
    this.back = add(scaled(level, ce), scaled(this.up, se)); // from the target to the eye
    this.right = cross(this.up, level);
    this.upward = cross(this.back, this.right);
  }

  get eye() {
    return add(this.target, scaled(this.back, this.distance));
  }

  // so near that all points are in the picture, and the middle of them in its middle
  fit(points) {
    this.steered = false;
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

  // the matrix from the world to the picture
  matrix() {
    const { right, upward, back, target, distance, stand, lens } = this;
    const eye = this.eye;
    for (let k = 0; k < 3; k++) {
      stand[4 * k] = right[k];
      stand[4 * k + 1] = upward[k];
      stand[4 * k + 2] = back[k];
    }
    stand[12] = -dot(right, eye);
    stand[13] = -dot(upward, eye);
    stand[14] = -dot(back, eye);
    stand[15] = 1;
    const aspect = this.width / this.height, far = distance + this.reach();
    lens.fill(0);
    if (this.parallel) {
      lens[0] = 1 / (HALF * aspect * distance);
      lens[5] = 1 / (HALF * distance);
      lens[10] = -1 / far;
      lens[15] = 1;
    } else {
      const near = Math.max(distance / 40, distance - this.reach());
      lens[0] = 1 / (HALF * aspect);
      lens[5] = 1 / HALF;
      lens[10] = -(far + near) / (far - near);
      lens[11] = -1;
      lens[14] = -2 * far * near / (far - near);
    }
    multiply(this.seen, lens, stand);
    return this.seen;
  }

  // how far from the target anything may be
  reach() {
    return 6 * this.radius + 4 * this.distance;
  }

  // the place of a point in the picture, in pixels from its upper left corner
  project(point) {
    const from = minus(point, this.target);
    const depth = (this.parallel ? this.distance : this.distance - dot(from, this.back)) * HALF;
    const x = dot(from, this.right) / (depth * this.width / this.height), y = dot(from, this.upward) / depth;
    return [(1 + x) / 2 * this.width, (1 - y) / 2 * this.height];
  }

  // the line of sight through a place of the picture: {from, along}
  ray(x, y) {
    const wide = (2 * x - this.width) * HALF / this.height, high = (this.height - 2 * y) * HALF / this.height;
    const aside = add(scaled(this.right, wide), scaled(this.upward, high));
    if (!this.parallel) return { from: this.eye, along: unit(minus(aside, this.back)) };
    const start = add(this.target, scaled(aside, this.distance));
    return { from: add(start, scaled(this.back, this.reach())), along: scaled(this.back, -1) };
  }

  // metres that a pixel is wide at a point
  pixel(point) {
    const depth = this.parallel ? this.distance : this.distance - dot(minus(point, this.target), this.back);
    return 2 * HALF * Math.max(depth, 1e-6) / this.height;
  }

  orbit(dx, dy) {
    this.steered = true;
    this.azimuth -= dx * 0.008;
    this.elevation += dy * 0.008;
    this.turn();
  }

  pan(dx, dy) {
    this.steered = true;
    const step = this.pixel(this.target);
    this.target = add(this.target, add(scaled(this.right, -dx * step), scaled(this.upward, dy * step)));
  }

  // nearer by a factor, and what is at the place of the picture stays there
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    this.steered = true;
    const next = Math.max(this.radius * 1e-3, Math.min(this.radius * 200, this.distance * factor));
    const step = this.pixel(this.target) * (1 - next / this.distance);
    const wide = (x - this.width / 2) * step, high = (this.height / 2 - y) * step;
    this.target = add(this.target, add(scaled(this.right, wide), scaled(this.upward, high)));
    this.distance = next;
  }
}
