// The gizmo for dragging a frame: three arrows move it along its axes, a ball moves it in the plane of the picture, and
// three rings rotate it. It has the same size on the screen at any distance.

import { batch, new_slots } from "./batch.js";
import { add, composed, cross, dot, minus, product, scaled, turned, unit, write_pose, write_rod } from "./matrix.js";
import { WORLD } from "./scene.js";
import { ball, ring, rod, tip } from "./solids.js";

const ARROW_PX = 78; // length of an arrow
const RING_RADIUS = 0.72, BALL_RADIUS = 0.13; // relative to the length of an arrow
const HIT_DISTANCE_PX = 9;
const QUARTER = Math.SQRT1_2; // sine and cosine of half a quarter turn
const TO_AXIS = [[0, QUARTER, 0, QUARTER], [-QUARTER, 0, 0, QUARTER], [0, 0, 0, 1]]; // rotations of z to x, y and z
const AXES = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
const COLORS = [[0.86, 0.27, 0.27, 1], [0.24, 0.62, 0.3, 1], [0.22, 0.43, 0.9, 1], [0.95, 0.72, 0.2, 1]];

export class Gizmo {
  constructor(camera) {
    this.camera = camera;
    this.pose = [...WORLD];
    this.held = null;
    this.over = null;
    const [shaft, point, grip, turn] = [rod(), tip(), ball(), ring(0.03)], items = [];
    const put = (mesh, color) => items.push({ mesh, pose: WORLD, color, layer: "handle", slot: items.length });
    for (const k of [0, 1, 2]) put(shaft, COLORS[k]);
    for (const k of [0, 1, 2]) put(point, COLORS[k]);
    for (const k of [0, 1, 2]) put(turn, COLORS[k]);
    put(grip, COLORS[3]);
    this.thing = {
      batch: batch(items), slots: new_slots(items.length), used: items.length, hidden: new Set(), shown: false,
      tint: [0, 0, 0, 0], opacity: 1,
    };
  }

  get center() {
    return this.pose.slice(0, 3);
  }

  axis(k) {
    return turned(this.pose, 0, AXES[k]);
  }

  // write the matrices of the shapes at the frame, with a constant size on the screen
  write() {
    const { slots } = this.thing, c = this.center, long = ARROW_PX * this.camera.pixel(c);
    const rods = (slot, k, from, to, thick) => {
      const a = add(c, scaled(this.axis(k), from * long)), b = add(c, scaled(this.axis(k), to * long));
      write_rod(slots, slot, ...a, ...b, thick * long);
    };
    for (const k of [0, 1, 2]) {
      rods(k, k, 0, 0.82, 0.022);
      rods(3 + k, k, 0.82, 1.06, 0.075);
      write_scaled(slots, 6 + k, composed(this.pose, [0, 0, 0, ...TO_AXIS[k]]), RING_RADIUS * long);
    }
    write_scaled(slots, 9, this.pose, BALL_RADIUS * long);
    const bright = this.held ?? this.over;
    for (let slot = 0; slot < 10; slot++) {
      const selected = bright && slot === { move: bright.k, turn: 6 + bright.k, free: 9 }[bright.kind];
      const head = bright && bright.kind === "move" && slot === 3 + bright.k;
      slots.fill(selected || head ? 1.35 : this.held ? 0.55 : 1, 16 * slot + 12, 16 * slot + 15);
    }
  }

  // the part of the gizmo at a position of the picture: {kind, k} or null
  hit(x, y) {
    if (!this.thing.shown) return null;
    const c = this.center, long = ARROW_PX * this.camera.pixel(c), at = this.camera.project(c);
    if (Math.hypot(at[0] - x, at[1] - y) < BALL_RADIUS * ARROW_PX + 3) return { kind: "free", k: 0 };
    let best = null, least = HIT_DISTANCE_PX;
    const consider = (kind, k, points) => {
      for (let i = 0; i + 1 < points.length; i++) {
        const far = from_segment(x, y, points[i], points[i + 1]);
        if (far < least) { least = far; best = { kind, k }; }
      }
    };
    for (const k of [0, 1, 2]) {
      consider("move", k, [0.2, 1.08].map((part) => this.camera.project(add(c, scaled(this.axis(k), part * long)))));
      const [u, v] = [1, 2].map((next) => scaled(this.axis((k + next) % 3), RING_RADIUS * long)), points = [];
      for (let i = 0; i <= 40; i++) {
        const angle = 2 * Math.PI * i / 40;
        points.push(this.camera.project(add(c, add(scaled(u, Math.cos(angle)), scaled(v, Math.sin(angle))))));
      }
      consider("turn", k, points);
    }
    return best;
  }

  take(hit, x, y) {
    this.held = hit;
    this.start = [...this.pose];
    this.from = this.grasp(x, y);
  }

  // the pose after the pointer has moved to a position of the picture
  drag(x, y) {
    const now = this.grasp(x, y), { kind, k } = this.held, axis = turned(this.start, 0, AXES[k]);
    if (now === null || this.from === null) return this.pose;
    const c = this.start.slice(0, 3);
    if (kind === "move") this.pose = [...add(c, scaled(axis, now - this.from)), ...this.start.slice(3)];
    if (kind === "free") this.pose = [...add(c, minus(now, this.from)), ...this.start.slice(3)];
    if (kind === "turn") {
      const angle = Math.atan2(dot(axis, cross(this.from, now)), dot(this.from, now)) / 2;
      this.pose = [...c, ...product([...scaled(axis, Math.sin(angle)), Math.cos(angle)], this.start.slice(3))];
    }
    return this.pose;
  }

  // the grasped quantity: distance along the axis, point in the plane of the picture, or direction from the centre
  grasp(x, y) {
    const { from, along } = this.camera.ray(x, y), { kind, k } = this.held;
    const c = this.start.slice(0, 3), axis = turned(this.start, 0, AXES[k]), between = minus(from, c);
    if (kind === "move") {
      const b = dot(along, axis), square = 1 - b * b;
      return square < 1e-4 ? null : (dot(between, axis) - b * dot(between, along)) / square;
    }
    const normal = kind === "free" || Math.abs(dot(axis, along)) < 0.12 ? this.camera.back : axis;
    const point = add(from, scaled(along, -dot(between, normal) / dot(along, normal)));
    return kind === "free" ? point : unit(minus(point, c), null);
  }

  release() {
    this.held = null;
  }
}

function write_scaled(slots, slot, pose, scale) {
  write_pose(slots, slot, pose, 0);
  for (let row = 0; row < 3; row++) for (let k = 0; k < 3; k++) slots[16 * slot + 4 * row + k] *= scale;
}

function from_segment(x, y, [ax, ay], [bx, by]) {
  const dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
  const part = square > 0 ? Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / square)) : 0;
  return Math.hypot(x - ax - part * dx, y - ay - part * dy);
}
