// The panel beside the stage: actors, layers, joint sliders and notes.

import { by_id, element, short_number, write_text } from "./dom.js";
import { curve_color } from "./palette.js";

const LAYERS = {
  links: "Links", walls: "Walls", loops: "Loops", frames: "Frames", centers: "Centres of mass",
  inertia: "Inertia ellipsoids", collisions: "Collision shapes", events: "Impulse arrows", grid: "Grid", shadow: "Shadow",
};
const DEGREES = 180 / Math.PI;

export class Panel {
  constructor(scene, stage, act, live) {
    Object.assign(this, { scene, stage, act });
    this.notes = [...scene.notes];
    this.sliders = scene.actors.map(() => []);
    this.list_actors();
    this.list_layers();
    this.list_joints(live);
    this.show_note();
  }

  list_actors() {
    const holder = by_id("actors");
    holder.hidden = this.scene.actors.length < 2;
    holder.querySelector("ul").replaceChildren(...this.scene.actors.map((actor, number) => {
      const box = element("input", { type: "checkbox", checked: true, "data-actor": number });
      box.addEventListener("change", () => this.act.show_actor(number, box.checked));
      const swatch = element("i", { class: "swatch block" });
      swatch.style.setProperty("--color", number ? curve_color(number) : main_color(actor));
      return element("li", {}, element("label", {}, box, swatch, element("span", { class: "name" }, actor.name)));
    }));
  }

  list_layers() {
    const layers = new Set(["grid"]);
    const add_layer = (part) => layers.add(part.layer);
    this.scene.parts.forEach(add_layer);
    for (const actor of this.scene.actors) {
      actor.parts.forEach(add_layer);
      actor.struts.forEach(add_layer);
      if (actor.motion && actor.motion.marks.some((mark) => mark.arrows.length)) layers.add("events");
    }
    if (!this.stage.floor.paper && this.scene.actors.length) layers.add("shadow");
    const known = Object.keys(LAYERS).filter((layer) => layers.has(layer));
    const order = [...known, ...[...layers].filter((layer) => !known.includes(layer))];
    by_id("layers").replaceChildren(...order.map((layer) => {
      const box = element("input", { type: "checkbox", checked: !this.stage.hidden.has(layer), "data-layer": layer });
      box.addEventListener("change", () => this.act.show(layer, box.checked));
      return element("li", {}, element("label", {}, box, element("span", {}, LAYERS[layer] ?? layer)));
    }));
  }

  // update the checkbox of a layer that a program has shown or hidden
  tick(layer, on) {
    for (const box of by_id("layers").querySelectorAll("input")) if (box.dataset.layer === layer) box.checked = on;
  }

  list_joints(live) {
    const holder = by_id("joints"), several = this.scene.actors.filter((actor) => actor.sliders.length).length > 1;
    const rows = [];
    this.scene.actors.forEach((actor, number) => {
      if (several && actor.sliders.length) rows.push(element("h3", {}, actor.name));
      this.sliders[number] = actor.sliders.map((slider) => new SliderRow(slider, () => this.act.pose(number)));
      rows.push(...this.sliders[number].map((row) => row.row));
    });
    holder.hidden = !live || !this.sliders.some((list) => list.length);
    by_id("sliders").replaceChildren(...rows);
  }

  values(actor) {
    return this.sliders[actor].map((slider) => slider.value);
  }

  set_values(actor, values, held) {
    this.sliders[actor].forEach((slider, k) => {
      if (k < values.length && slider.range !== held) slider.set(values[k]);
    });
  }

  // show the permanent notes and a temporary one
  show_note(note = "") {
    const lines = note ? [...this.notes, note] : this.notes;
    const holder = by_id("notes");
    holder.hidden = !lines.length;
    const items = holder.querySelector("ul");
    if (items.textContent !== lines.join("")) items.replaceChildren(...lines.map((line) => element("li", {}, line)));
    const panel = by_id("panel");
    panel.classList.toggle("slim", ["actors", "joints", "charts"].every((id) => by_id(id).hidden));
  }
}

// the most frequent colour of the parts of an actor
function main_color(actor) {
  const counts = new Map();
  for (const part of [...actor.parts, ...actor.struts]) {
    if (part.layer !== "links") continue;
    const color = `rgb(${part.color.slice(0, 3).map((value) => Math.round(255 * value)).join(" ")})`;
    counts.set(color, (counts.get(color) ?? 0) + 1);
  }
  return [...counts].reduce((best, entry) => (entry[1] > best[1] ? entry : best), [curve_color(0), 0])[0];
}

export class SliderRow {
  constructor(slider, changed) {
    const rotates = slider.unit === "rad", full = rotates ? Math.PI : 1;
    this.scale = rotates ? DEGREES : 1;
    this.value = slider.value;
    const lower = slider.lower ?? Math.min(-full, slider.value), upper = slider.upper ?? Math.max(full, slider.value);
    const unit = rotates ? "°" : slider.unit === "1" ? "" : slider.unit;
    this.unit = unit;
    this.range = element("input", { type: "range", min: lower, max: upper, step: "any", "aria-label": slider.name });
    this.number = element("input", {
      type: "number", step: "any", min: this.text(lower), max: this.text(upper),
      "aria-label": `${slider.name} in ${rotates ? "degrees" : slider.unit}`,
    });
    this.range.addEventListener("input", () => { this.set(Number(this.range.value)); changed(); });
    this.number.addEventListener("change", () => {
      const entered = this.number.value === "" ? NaN : Number(this.number.value) / this.scale;
      this.set(Number.isFinite(entered) ? Math.min(Math.max(entered, lower), upper) : this.value);
      changed();
    });
    const parts = slider.name.split(/(?<=[_\-/.:])/); // a long name is wrapped after these
    const breaks = parts.flatMap((part, k) => (k ? [element("wbr"), part] : [part]));
    const name = element("span", { class: "joint", title: slider.name }, ...breaks);
    this.row = element("div", { class: "slider", "data-name": slider.name }, name, this.range, this.number,
      element("span", { class: "unit" }, unit));
    this.set(slider.value);
  }

  // text of a value: tenths of degrees, or four digits
  text(value) {
    return this.scale === 1 ? Number(value.toPrecision(4)).toString() : (value * this.scale).toFixed(1);
  }

  set(value) {
    this.value = value;
    this.range.value = value;
    const text = this.text(value);
    if (document.activeElement !== this.number || Number(this.number.value) !== Number(text)) this.number.value = text;
    const unit = this.unit === "°" ? "degrees" : this.unit;
    this.range.setAttribute("aria-valuetext", `${short_number(value * this.scale)} ${unit}`);
  }
}

// show the frame rate
export function show_rate(rate, busy) {
  write_text(by_id("rate"), busy && rate > 0 ? `${Math.round(rate)} fps` : "");
}
