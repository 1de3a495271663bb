// The simulation of a live page: the step of a rollout in WebAssembly, with the same interface as the connection to
// Python (live.js). Sliders and buttons change arguments of the step; the frame that is dragged is pulled by a spring.

import { unpacked } from "./arrays.js";
import { by_id, element, short_number, write_text } from "./dom.js";
import { minus, scaled, size, unit } from "./matrix.js";
import { SliderRow } from "./panel.js";
import { load_kernel } from "./runtime.js";
import { handle_pose } from "./scene.js";

const STEPS_PER_FORCE = 5; // steps during which the forces at handles are constant
const PUSH_S = 0.05; // duration of a push
const PULL_RATE = 6; // rad/s: frequency of the mass of the robot on the spring that drags it
const MAX_PULL_G = 3; // largest force of the spring, relative to the weight of the robot
const FRAME_SHARE = 0.6; // of the time of a frame that may be spent on steps
const LINK = "#live=";

export class Simulation {
  // `handlers` are those of live.js; `now` returns the objects of the page (see main.js); `changed` redraws it
  static async load(scene, handlers, now, changed) {
    const data = scene.simulation;
    const [step, energy, poses] = await Promise.all(["step", "energy", "poses"].map(async (name) => {
      return load_kernel(await unpacked(data[name]));
    }));
    return new Simulation(scene, { step, energy, poses }, handlers, now, changed);
  }

  constructor(scene, kernels, handlers, now, changed) {
    Object.assign(this, { scene, kernels, handlers, now, changed, data: scene.simulation });
    const { controllers, settings, q, coordinates } = this.data;
    this.running = true;
    this.speed = 1;
    this.controller = controllers.length > 2 ? 2 : controllers.length - 1;
    this.settings = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
    this.goal = Float64Array.from(q);
    this.rows = Object.fromEntries(settings.map((slider) => {
      const row = new SliderRow(slider, () => this.set(slider.name, row.value));
      return [slider.name, row];
    }));
    this.coordinates = coordinates;
    this.pull = null; // the handle that is dragged, and where to
    this.push_s = 0; // remaining time of a push
    this.push_force = [0, 0, 0];
    this.steps = 0; // computed so far
    this.reset();
  }

  get parameters() {
    const { parameters, payload } = this.data;
    return parameters.map((value, k) => value + this.settings.payload * payload[k]);
  }

  get gravity() {
    return this.settings.gravity ?? 1;
  }

  get energy() {
    const { input, output, run } = this.kernels.energy;
    input.q.set(this.q);
    input.v.set(this.v);
    input.parameters.set(this.parameters);
    input.gravity[0] = this.gravity;
    run();
    return output.energy[0];
  }

  // ---- motion

  reset() {
    this.q = Float64Array.from(this.data.q);
    this.v = new Float64Array(this.kernels.step.input.v.length);
    this.time = 0;
    this.push_s = 0;
    this.handle_before = null;
    this.impulse = 0; // largest impulse at a wall so far
    this.set_goal(this.q);
    this.show();
  }

  // compute a number of steps under the present forces
  run(count) {
    for (let left = count; left > 0;) {
      const steps = Math.min(left, STEPS_PER_FORCE);
      this.advance_state(steps);
      left -= steps;
    }
    this.show();
  }

  advance_state(steps) {
    const { dt } = this.data, { settings, kernels } = this, numbers = kernels.step.input;
    const results = kernels.step.rollout({
      q: this.q, v: this.v, dt, parameters: this.parameters, controller: this.controller,
      gains: [settings.frequency ?? 0, settings["damping ratio"] ?? 0], goal: this.goal,
      gravity: this.gravity, damping: settings.friction ?? 0,
      t: Float64Array.from({ length: steps }, (_, k) => this.time + k * dt),
      torque: new Float64Array(numbers.torque.length), wrenches: this.wrenches(steps * dt),
    }, { steps, every: steps });
    if (results.impulse) this.impulse = Math.max(this.impulse, ...results.impulse);
    if (!results.q.every(Number.isFinite)) {
      this.handlers.note("The motion diverged and was reset.");
      return this.reset();
    }
    this.q.set(results.q);
    this.v.set(results.v);
    this.time += steps * dt;
    this.steps += steps;
    this.push_s = Math.max(0, this.push_s - steps * dt);
  }

  // forces and moments at all handles, in the axes of the world, during the next seconds
  wrenches(seconds) {
    const all = new Float64Array(this.kernels.step.input.wrenches.length);
    const last = all.length - 6;
    if (this.push_s > 0) for (const k of [0, 1, 2]) all[last + k] += this.push_force[k];
    if (this.pull) {
      const { number, target } = this.pull, { mass } = this.data;
      this.show();
      const now = handle_pose(this.scene.actors[0].handles[number], this.poses).slice(0, 3);
      const velocity = this.handle_before ? scaled(minus(now, this.handle_before), 1 / seconds) : [0, 0, 0];
      const spring = scaled(minus(target, now), mass * PULL_RATE ** 2);
      const force = minus(spring, scaled(velocity, mass * PULL_RATE)), limit = MAX_PULL_G * 9.81 * mass;
      const bounded = size(force) > limit ? scaled(unit(force), limit) : force;
      bounded.forEach((value, k) => { all[6 * number + k] += value; });
      this.handle_before = now;
    }
    return all;
  }

  // advance to a time of the clock, in milliseconds; called once per frame
  advance(clock) {
    const passed = this.clock === undefined ? 0 : Math.min(clock - this.clock, 100) / 1000;
    this.clock = clock;
    if (!this.running || !(passed > 0)) return;
    const wanted = Math.round(this.speed * passed / this.data.dt);
    const end = performance.now() + 1000 * passed * FRAME_SHARE;
    for (let done = 0; done < wanted && performance.now() < end;) {
      const steps = Math.min(STEPS_PER_FORCE, wanted - done);
      this.advance_state(steps);
      done += steps;
    }
    this.show();
  }

  // poses of all bodies at the present state
  show() {
    const { input, output, run } = this.kernels.poses;
    input.q.set(this.q);
    run();
    const bodies = this.scene.actors[0].bodies.length;
    this.poses ??= new Float32Array(7 * bodies);
    for (let body = 0; body < bodies; body++) {
      this.poses.set(output.x.subarray(3 * body, 3 * body + 3), 7 * body);
      this.poses.set(quaternion(output.R.subarray(9 * body, 9 * body + 9)), 7 * body + 3);
    }
    if (!this.status) return;
    const [actor_view] = this.now().stage.actor_views;
    actor_view.poses.set(this.poses);
    actor_view.write();
    write_text(this.status, `${this.time.toFixed(2)} s, energy ${short_number(this.energy, 6)} J`);
  }

  // ---- the interface of the connection to Python

  pose(actor, values) {
    this.coordinates.forEach((k, j) => { this.goal[k] = values[j]; });
    if (!this.running && this.data.movable) {
      for (const k of this.coordinates) this.q[k] = this.goal[k];
      this.v.fill(0);
      this.show();
    }
    this.changed();
  }

  drag(actor, number, pose) {
    this.pull = { number, target: pose.slice(0, 3) };
  }

  release() {
    this.pull = null;
    this.handle_before = null;
  }

  // start: called when the scene is shown
  listen() {
    this.build();
    this.open_link(location.hash);
    addEventListener("hashchange", () => this.open_link(location.hash));
    this.changed();
  }

  // ---- controls

  set(name, value) {
    this.settings[name] = value;
    this.rows[name].set(value);
    this.changed();
  }

  // choose a controller; one that is switched on holds the present configuration
  set_controller(number) {
    if (number && !this.controller) this.set_goal(this.q);
    this.controller = number;
    this.select.value = String(number);
    this.changed();
  }

  set_goal(goal) {
    this.goal.set(goal);
    if (this.status) this.now().panel.set_values(0, this.coordinates.map((k) => goal[k]), null);
  }

  // let the robot fall: no controller
  drop() {
    this.set_controller(0);
    this.set_running(true);
  }

  // push the outermost handle to the right of the picture, with the impulse of its slider
  push(direction = this.now().stage.camera.right) {
    this.push_s = PUSH_S;
    this.push_force = scaled(unit(direction), this.settings.push / PUSH_S);
    this.set_running(true);
  }

  set_running(running) {
    this.running = running;
    write_text(this.run_button, running ? "Pause" : "Run");
    this.changed();
  }

  toggle() {
    this.set_running(!this.running);
  }

  // the present state and all settings as a link to this page
  link() {
    const { controller, settings, time } = this, arrays = [this.goal, this.q, this.v].map((each) => Array.from(each));
    return LINK + btoa(JSON.stringify([controller, settings, ...arrays, time]));
  }

  open_link(hash) {
    if (!hash.startsWith(LINK)) return;
    try {
      const [controller, settings, goal, q, v, time] = JSON.parse(atob(hash.slice(LINK.length)));
      const fits = (list, like) => list.length === like.length && list.every(Number.isFinite);
      const known = Object.keys(this.settings).every((name) => Number.isFinite(settings[name]));
      const { controllers } = this.data;
      if (!(fits(goal, this.goal) && fits(q, this.q) && fits(v, this.v) && known && controllers[controller])) throw 0;
      for (const name of Object.keys(this.settings)) this.set(name, settings[name]);
      this.q.set(q);
      this.v.set(v);
      this.time = Number.isFinite(time) ? time : 0;
      this.set_controller(controller);
      this.set_goal(goal);
      this.show();
    } catch {
      this.handlers.note("The link does not belong to this robot; the page shows its initial state.");
    }
  }

  build() {
    const button = (id, text, action) => element("button", { id: `live_${id}`, type: "button", onclick: action }, text);
    this.select = element("select", { id: "controller", "aria-label": "Controller" },
      ...this.data.controllers.map((name, k) => element("option", { value: k }, name)));
    this.select.value = String(this.controller);
    this.select.addEventListener("change", () => this.set_controller(Number(this.select.value)));
    const speeds = element("select", { id: "live_speed", "aria-label": "Speed" },
      ...[0.1, 0.25, 0.5, 1, 2, 5].map((value) => element("option", { value, selected: value === 1 }, `${value}×`)));
    speeds.addEventListener("change", () => { this.speed = Number(speeds.value); });
    this.run_button = button("run", "Pause", () => this.toggle());
    this.status = element("output", { id: "live_status" });
    const buttons = [
      this.run_button,
      button("reset", "Reset", () => { this.reset(); this.changed(); }),
      button("push", "Push", () => this.push()),
      button("drop", "Drop", () => this.drop()),
      button("link", "Link", () => this.share()),
      speeds,
    ];
    const label = element("label", { class: "field" }, "Controller", this.select);
    by_id("simulation").hidden = false;
    write_text(by_id("joints").querySelector("h2"), "Goal of the controller");
    by_id("live").replaceChildren(label, ...Object.values(this.rows).map((row) => row.row),
      element("div", { class: "buttons" }, ...buttons), this.status);
    this.show();
  }

  // put a link to the present state into the address of the page, and copy it if the browser allows it
  share() {
    history.replaceState(null, "", this.link());
    navigator.clipboard?.writeText(location.href).catch(() => {});
    this.handlers.note("The address of the page now contains the present state.");
  }
}

// the quaternion x y z w of a rotation matrix, row by row
function quaternion(R) {
  const [xx, yy, zz] = [R[0], R[4], R[8]];
  const candidates = [
    [1 + xx - yy - zz, R[1] + R[3], R[2] + R[6], R[7] - R[5]],
    [R[1] + R[3], 1 - xx + yy - zz, R[5] + R[7], R[2] - R[6]],
    [R[2] + R[6], R[5] + R[7], 1 - xx - yy + zz, R[3] - R[1]],
    [R[7] - R[5], R[2] - R[6], R[3] - R[1], 1 + xx + yy + zz],
  ];
  const best = candidates.reduce((a, b, k) => (b[k] > candidates[a][a] ? k : a), 0);
  const length = Math.hypot(...candidates[best]);
  return candidates[best].map((value) => value / length);
}
