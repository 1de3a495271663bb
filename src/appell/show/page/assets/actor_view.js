// An actor on the stage: the poses of its bodies, from its motion or set by Python, and the matrices that draw it.

import { batch, new_slots } from "./batch.js";
import { between, write_pose, write_rod } from "./matrix.js";
import { WORLD } from "./scene.js";
import { rod } from "./solids.js";

const ROD = rod();
const GHOST_OPACITY = 0.5; // of all actors except the first
const GHOST_TINT = 0.75; // share of the legend colour in their colour

// the index of the last time that is not after t, at least 0
export function last_at(times, t) {
  let low = 0, high = times.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return low;
}

function items_of(actor) {
  const first_strut = actor.bodies.length + 1;
  const parts = actor.parts.map((part) => ({ ...part, slot: part.body + 1 }));
  const struts = actor.struts.map((strut, k) => ({ ...strut, mesh: ROD, pose: WORLD, slot: first_strut + k }));
  return [...parts, ...struts];
}

export class ActorView {
  constructor(actor, number, color) {
    this.actor = actor;
    this.number = number;
    this.color = color; // in the legend
    this.poses = Float32Array.from(actor.poses);
    this.pinned = false; // whether poses were set from outside, so that the motion is ignored
    const used = actor.bodies.length + 1 + actor.struts.length;
    this.thing = {
      batch: batch(items_of(actor)), slots: new_slots(used), used, hidden: new Set(), shown: true, casts: true,
      tint: number ? [...color, GHOST_TINT] : [0, 0, 0, 0], opacity: number ? GHOST_OPACITY : 1, behind: number,
    };
    this.write();
  }

  // move to the pose of the motion at a time; outside its time span, to its first or last frame
  at(time) {
    const motion = this.actor.motion;
    if (!motion || this.pinned) return;
    const { t, poses } = motion, width = 7 * this.actor.bodies.length;
    const frame = last_at(t, time), from = frame * width;
    const length = frame + 1 < t.length ? t[frame + 1] - t[frame] : 0;
    const part = length > 0 ? Math.max(0, (time - t[frame]) / length) : 0;
    if (part === 0) this.poses.set(poses.subarray(from, from + width));
    else for (let k = 0; k < width; k += 7) between(this.poses, k, poses, from + k, poses, from + width + k, part);
    this.write();
  }

  // set the poses of all bodies, and ignore the motion
  set_poses(poses) {
    poses.forEach((pose, body) => { if (7 * body < this.poses.length) this.poses.set(pose, 7 * body); });
    this.pinned = true;
    this.write();
  }

  write() {
    const { slots } = this.thing, { bodies, struts } = this.actor;
    for (let body = 0; body < bodies.length; body++) write_pose(slots, body + 1, this.poses, 7 * body);
    for (let k = 0; k < struts.length; k++) {
      const strut = struts[k], e = strut.ends, a = 16 * (strut.bodies[0] + 1), b = 16 * (strut.bodies[1] + 1);
      write_rod(
        slots, bodies.length + 1 + k,
        slots[a] * e[0] + slots[a + 1] * e[1] + slots[a + 2] * e[2] + slots[a + 3],
        slots[a + 4] * e[0] + slots[a + 5] * e[1] + slots[a + 6] * e[2] + slots[a + 7],
        slots[a + 8] * e[0] + slots[a + 9] * e[1] + slots[a + 10] * e[2] + slots[a + 11],
        slots[b] * e[3] + slots[b + 1] * e[4] + slots[b + 2] * e[5] + slots[b + 3],
        slots[b + 4] * e[3] + slots[b + 5] * e[4] + slots[b + 6] * e[5] + slots[b + 7],
        slots[b + 8] * e[3] + slots[b + 9] * e[4] + slots[b + 10] * e[5] + slots[b + 11],
        strut.radius,
      );
    }
  }
}
