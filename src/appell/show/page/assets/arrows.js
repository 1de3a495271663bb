// The arrows of marks, shown from the time of their mark for ARROW_DURATION_S of playback time.

import { batch, new_slots } from "./batch.js";
import { write_rod } from "./matrix.js";
import { curve_color, kind_number, numbers_of } from "./palette.js";
import { last_at } from "./actor_view.js";
import { WORLD } from "./scene.js";
import { rod, tip } from "./solids.js";

const ARROW_DURATION_S = 0.3;
const MAX_ARROWS = 100; // shown together

export class Arrows {
  constructor(marks, radius) {
    this.marks = marks.filter((mark) => mark.arrows.length);
    this.times = Float64Array.from(this.marks, (mark) => mark.time);
    this.radius = radius;
    const shapes = [rod(), tip()], items = [];
    for (let slot = 0; slot < 2 * MAX_ARROWS; slot++) {
      items.push({ mesh: shapes[slot % 2], pose: WORLD, color: [1, 1, 1, 1], layer: "events", slot });
    }
    const made = batch(this.marks.length ? items : []);
    this.thing = {
      batch: made, slots: new_slots(2 * MAX_ARROWS), used: 0, hidden: new Set(), shown: false,
      tint: [0, 0, 0, 0], opacity: 1,
    };
  }

  // show the arrows of marks at a time or shortly before it
  at(time, speed) {
    const duration = Math.max(ARROW_DURATION_S * speed, 1e-9);
    let count = 0;
    if (this.times.length) {
      for (let k = last_at(this.times, time); k >= 0 && count < MAX_ARROWS && time - this.times[k] < duration; k--) {
        if (this.times[k] > time) break;
        const fresh = 1 - (time - this.times[k]) / duration;
        for (const arrow of this.marks[k].arrows) {
          if (count < MAX_ARROWS) this.write(count++, arrow, this.marks[k].kind, fresh);
        }
      }
    }
    this.thing.used = 2 * count;
    this.thing.shown = count > 0;
  }

  write(number, [x, y, z, dx, dy, dz], kind, fresh) {
    const { slots } = this.thing, length = Math.hypot(dx, dy, dz) || 1e-9;
    const radius = Math.max(0.007 * this.radius, Math.min(0.016 * this.radius, 0.06 * length));
    const head = Math.min(5.6 * radius, 0.6 * length);
    const neck = 1 - head / length, nx = x + neck * dx, ny = y + neck * dy, nz = z + neck * dz;
    write_rod(slots, 2 * number, x, y, z, nx, ny, nz, radius);
    write_rod(slots, 2 * number + 1, nx, ny, nz, x + dx, y + dy, z + dz, 2.4 * radius);
    const color = numbers_of(curve_color(kind_number(kind)));
    for (const slot of [2 * number, 2 * number + 1]) {
      slots.set(color, 16 * slot + 12);
      slots[16 * slot + 15] = fresh;
    }
  }
}
