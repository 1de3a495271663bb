// The stage: the actors, the walls, the floor, the lights and the camera, drawn when something has changed.

import { Arrows } from "./arrows.js";
import { batch, coarser, new_slots } from "./batch.js";
import { Camera } from "./camera.js";
import { add, dot, minus, scaled, size, unit } from "./matrix.js";
import { curve_color, numbers_of, stage_light } from "./palette.js";
import { ActorView } from "./actor_view.js";
import { picked } from "./pick.js";
import { Renderer } from "./renderer.js";
import { HIDDEN, all_marks, seen_points, static_points } from "./scene.js";

const MAX_PIXELS = 8e6; // of a still picture
const MAX_COARSE_TRIANGLES = 12000; // of a moving picture on a slow machine
const MAX_CELL = 1 / 25; // cell size of a coarse mesh, relative to the radius of the scene

export class Stage {
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.hidden = new Set(HIDDEN);
    this.actor_views = scene.actors.map((actor, k) => new ActorView(actor, k, numbers_of(curve_color(k))));
    this.walls = {
      batch: batch(scene.parts.map((part) => ({ ...part, slot: 0 }))), slots: new_slots(1), used: 1,
      hidden: this.hidden, shown: true, casts: false, tint: [0, 0, 0, 0], opacity: 1,
    };
    for (const actor_view of this.actor_views) actor_view.thing.hidden = this.hidden;
    this.things = [...this.actor_views.map((actor_view) => actor_view.thing), this.walls];
    this.top = []; // drawn over everything
    this.points = scene.actors.flatMap(seen_points);
    if (!this.points.length) this.points = static_points(scene.parts);
    this.camera = new Camera(scene);
    this.measure();
    this.camera.fit(this.points);
    this.add_walls();
    this.arrows = new Arrows(all_marks(scene), this.camera.radius);
    this.arrows.thing.hidden = this.hidden;
    this.top.push(this.arrows.thing);
    this.set_floor();
    this.slow = false; // whether the machine is too slow for moving pictures in full quality
    this.renderer = null;
    this.start();
  }

  // create the renderer, at the start and after the graphics context was lost; the rest of the page works without it
  start() {
    try {
      this.renderer = new Renderer(this.canvas);
      this.slow = this.renderer.software;
    } catch (error) {
      this.renderer = null;
      this.failure = error.message;
    }
  }

  // update the size of the picture
  measure() {
    this.camera.width = Math.max(1, this.canvas.clientWidth);
    this.camera.height = Math.max(1, this.canvas.clientHeight);
  }

  // include walls in the picture unless they are much larger than the actors
  add_walls() {
    const { target, radius } = this.camera, near = 2.5 * radius;
    const is_near = (point) => size(minus(point, target)) < near;
    const walls = this.scene.parts.filter((part) => static_points([part]).every(is_near));
    if (this.scene.actors.length && walls.length) {
      this.points = this.points.concat(static_points(walls));
      this.camera.fit(this.points);
    }
  }

  set_floor() {
    const { up, east, north, flat, radius } = this.camera;
    const least = (axis) => this.points.reduce((low, point) => Math.min(low, dot(point, axis)), Infinity);
    const middle = this.points.reduce((sum, point) => add(sum, scaled(point, 1 / this.points.length)), [0, 0, 0]);
    const floor = { reach: 5 * radius, spacing: 10 ** Math.floor(Math.log10(0.45 * radius)) };
    if (flat && Math.abs(dot(this.camera.back, flat)) > 0.99) { // a plane behind a planar scene
      const { back, right, upward } = this.camera;
      const behind = Math.min(0, least(back)) - 0.02 * radius;
      Object.assign(floor, { right, ahead: upward, normal: back, height: behind, paper: true });
    } else {
      const lowest = this.points.length ? least(up) : 0;
      const height = this.scene.floor ?? (lowest > 0 && lowest < 2 * radius ? 0 : lowest);
      Object.assign(floor, { right: east, ahead: north, normal: up, height: height - 0.002 * radius, paper: false });
    }
    floor.middle = add(middle, scaled(floor.normal, floor.height - dot(middle, floor.normal)));
    floor.shift = [dot(floor.middle, floor.right), dot(floor.middle, floor.ahead)];
    this.floor = floor;
    const wide = 1.1 * this.points.reduce((most, point) => {
      const from = minus(point, floor.middle);
      return Math.max(most, size(minus(from, scaled(up, dot(from, up)))));
    }, 0.1 * radius);
    this.shadow_transform = [floor.shift[0], floor.shift[1], 0.5 / wide, 0.012];
    const rows = [floor.right, floor.ahead].map((axis, k) => [...scaled(axis, 1 / wide), -floor.shift[k] / wide]);
    rows.push([...scaled(up, -0.1 / radius), 1 + 0.1 * floor.height / radius]); // parts below the floor are clipped
    this.from_above = Float32Array.from([0, 1, 2, 3].flatMap((k) => [...rows.map((row) => row[k]), k === 3 ? 1 : 0]));
  }

  show(layer, on) {
    if (on) this.hidden.delete(layer); else this.hidden.add(layer);
  }

  // pixels of the canvas per pixel of the page; still pictures are supersampled, which smooths edges
  resolution(moving) {
    if (moving && this.slow) return 1;
    const { width, height } = this.camera;
    return Math.min(Math.max(2, devicePixelRatio), Math.sqrt(MAX_PIXELS / (width * height)));
  }

  draw(moving) {
    if (!this.renderer) return;
    this.measure();
    if (moving && this.slow && !this.things[0].coarse) this.make_coarse();
    const { camera, canvas } = this, scale = this.resolution(moving);
    const width = Math.round(camera.width * scale), height = Math.round(camera.height * scale);
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const light = stage_light(), { right, upward, back, up } = camera;
    const lamp = unit(add(add(scaled(right, -0.42), scaled(upward, 0.66)), scaled(back, 0.62)));
    this.renderer.draw(this.things, this.top, {
      ...light, lamp, back, up, half_way: unit(add(lamp, back)), view_projection: camera.matrix(), floor: this.floor,
      grid: !this.hidden.has("grid"), shadow_transform: this.shadow_transform, from_above: this.from_above,
      coarse: moving && this.slow,
      dark: this.floor.paper || this.hidden.has("shadow") ? 0 : light.dark,
    });
  }

  // reduce the triangles for moving pictures on a slow machine, when they are first needed
  make_coarse() {
    const count = (batches) => {
      const shown = batches.flatMap(({ ranges }) => ranges.filter((range) => !HIDDEN.includes(range.layer)));
      return shown.reduce((sum, range) => sum + range.count / 3, 0);
    };
    let batches = this.things.map((thing) => thing.batch);
    for (let cell = MAX_CELL / 8; cell <= MAX_CELL && count(batches) > MAX_COARSE_TRIANGLES; cell *= 1.4) {
      batches = this.things.map((thing) => coarser(thing.batch, cell * this.camera.radius));
    }
    this.things.forEach((thing, k) => { thing.coarse = batches[k]; });
  }

  // the part at a position of the picture: {actor, part, point} or null
  pick(x, y) {
    return picked(this.camera.ray(x, y), this.actor_views, this.scene.parts, this.hidden);
  }

  recolor() {
    for (const actor_view of this.actor_views) {
      actor_view.color = numbers_of(curve_color(actor_view.number));
      if (actor_view.number) actor_view.thing.tint = [...actor_view.color, actor_view.thing.tint[3]];
    }
  }

  drop() {
    if (this.renderer) for (const thing of [...this.things, ...this.top]) this.renderer.forget(thing);
  }
}
