// Curves over time in the panel. Charts of all actors with the same title and unit share their axes; those of later
// actors are dashed. A curve is drawn once; only the cursor and the values beside the names follow the time.

import { element, short_number, write_text } from "./dom.js";
import { CURVES, curve_color } from "./palette.js";
import { last_at } from "./actor_view.js";

const LEFT = 46, RIGHT = 10, TOP = 8, BOTTOM = 18; // margins around the curves, in pixels
const DASHES = [[], [6, 3], [2, 2], [8, 2, 2, 2]];
const MAX_SHORT_NAME = 9; // characters; longer names are listed one per line
const NOISE = 1e-9; // relative to the range of a chart: smaller values are shown as zero
const UPDATE_INTERVAL_MS = 100; // of the displayed values while playing

// round numbers in a range, approximately `count`
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).filter((size) => size <= 1.5 * rough).pop();
  const values = [];
  for (let k = Math.ceil(low / step - 1e-6); k * step <= high + 1e-6 * step; k++) {
    values.push(Number((k * step).toPrecision(12)));
  }
  return values;
}

// the value of a curve at a time, interpolated linearly between its rows
function value_at(curve, time) {
  const { t, values, width, column } = curve;
  if (!t.length || time < t[0]) return NaN;
  const row = last_at(t, time), here = values[row * width + column];
  if (time === t[row]) return here;
  if (row + 1 >= t.length) return NaN;
  const part = (time - t[row]) / (t[row + 1] - t[row]);
  return here + part * (values[(row + 1) * width + column] - here);
}

function gathered(actors) {
  const groups = new Map(), several = actors.length > 1;
  actors.forEach((actor, number) => {
    for (const chart of actor.motion ? actor.motion.charts : []) {
      const key = JSON.stringify([chart.title, chart.unit]);
      if (!groups.has(key)) groups.set(key, { title: chart.title, unit: chart.unit, curves: [] });
      const { curves } = groups.get(key), width = chart.names.length;
      chart.names.forEach((name, column) => curves.push({
        name: several ? `${name}, ${actor.name}` : name, actor: number, t: chart.t, values: chart.values, width, column,
        color: several && width === 1 ? number : column, shown: true,
        dash: DASHES[(number + Math.floor(column / CURVES)) % DASHES.length], // colours repeat after CURVES columns
      }));
    }
  });
  return [...groups.values()];
}

class ChartView {
  constructor(chart, playback, act) {
    Object.assign(this, chart, { playback, act });
    this.plot_width = 0; // width from the first to the last time, in pixels
    this.canvas = element("canvas", { role: "img", "aria-label": `${this.title} over time` });
    this.cursor = element("div", { class: "cursor" });
    this.plot = element("div", { class: "plot" }, this.canvas, this.cursor);
    this.entries = this.curves.map((curve) => this.entry(curve));
    const unit = this.unit && this.unit !== "1" ? [" ", element("span", { class: "unit" }, `[${this.unit}]`)] : [];
    const caption = element("figcaption", {}, this.title, ...unit);
    const long = this.curves.some((curve) => curve.name.length > MAX_SHORT_NAME);
    const items = this.entries.map((entry) => entry.item);
    const legend = element("ul", { class: long ? "legend long" : "legend" }, ...items);
    this.figure = element("figure", { class: "chart", "data-title": this.title }, caption, this.plot, legend);
    this.plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.plot.setPointerCapture(event.pointerId);
      this.seek(event);
    });
    this.plot.addEventListener("pointermove", (event) => { if (event.buttons & 1) this.seek(event); });
  }

  entry(curve) {
    const value = element("output", {}), swatch = element("i", { class: "swatch" });
    const button = element("button", { type: "button", "aria-pressed": "true", title: `Show or hide ${curve.name}` },
      swatch, element("span", { class: "name" }, curve.name), value);
    button.addEventListener("click", () => {
      curve.shown = !curve.shown;
      button.setAttribute("aria-pressed", curve.shown);
      this.draw();
    });
    return { item: element("li", {}, button), value, swatch, curve };
  }

  seek(event) {
    const box = this.plot.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    this.act.seek(this.playback.first + Math.min(Math.max(share, 0), 1) * this.playback.length);
  }

  // the range of the curves that are shown
  range(visible) {
    let low = Infinity, high = -Infinity;
    for (const { t, values, width, column } of visible) {
      for (let row = 0; row < t.length; row++) {
        const value = values[row * width + column];
        if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
      }
    }
    if (low > high) return [0, 1];
    const margin = 0.06 * (high - low) || 0.5 * Math.abs(high) || 1;
    return [low - margin, high + margin];
  }

  draw() {
    const width = this.plot.clientWidth, height = this.plot.clientHeight;
    if (!width || !height) return;
    this.plot_width = width - LEFT - RIGHT;
    const fine = Math.max(1, devicePixelRatio), style = getComputedStyle(this.figure);
    [this.canvas.width, this.canvas.height] = [Math.round(width * fine), Math.round(height * fine)];
    const pen = this.canvas.getContext("2d");
    pen.scale(fine, fine);
    pen.font = `10px ${style.fontFamily}`;
    const shown = this.curves.filter((curve) => curve.shown && !curve.away), [low, high] = this.range(shown);
    this.noise = NOISE * (high - low);
    const { first, length } = this.playback;
    const x = (t) => LEFT + (width - LEFT - RIGHT) * (t - first) / (length || 1);
    const y = (value) => TOP + (height - TOP - BOTTOM) * (high - value) / (high - low);
    this.draw_axes(pen, style, { x, y, low, high, width, height });
    pen.save();
    pen.beginPath();
    pen.rect(LEFT - 1, 0, width - LEFT - RIGHT + 2, height);
    pen.clip();
    for (const curve of shown) draw_curve(pen, curve, x, y);
    pen.restore();
    for (const { swatch, curve } of this.entries) {
      swatch.style.setProperty("--color", curve_color(curve.color));
      swatch.classList.toggle("dashed", curve.dash.length > 0);
    }
    this.show(true);
  }

  draw_axes(pen, style, { x, y, low, high, width, height }) {
    const rule = style.getPropertyValue("--rule"), ink = style.getPropertyValue("--quiet");
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const value of ticks(low, high, Math.max(2, (height - TOP - BOTTOM) / 26))) {
      pen.fillStyle = rule;
      pen.fillRect(LEFT, Math.round(y(value)), width - LEFT - RIGHT, 1);
      pen.fillStyle = ink;
      pen.fillText(short_number(value), LEFT - 5, y(value));
    }
    pen.textBaseline = "alphabetic";
    pen.textAlign = "center";
    const { first, last, length } = this.playback;
    if (!(length > 0)) return;
    for (const t of ticks(first, last, Math.max(2, (width - LEFT - RIGHT) / 60))) {
      pen.fillStyle = rule;
      pen.fillRect(Math.round(x(t)), TOP, 1, height - TOP - BOTTOM);
      pen.fillStyle = ink;
      if (x(t) < width - RIGHT - 8) pen.fillText(short_number(t), x(t), height - 5);
    }
    pen.textAlign = "right";
    pen.fillText("s", width - 2, height - 5);
  }

  show(now) {
    const { time } = this.playback;
    this.cursor.style.transform = `translateX(${LEFT + this.plot_width * this.playback.share()}px)`;
    if (!now) return;
    for (const { value, curve } of this.entries) {
      const current = value_at(curve, time);
      write_text(value, short_number(Math.abs(current) < this.noise ? 0 : current));
    }
  }
}

function draw_curve(pen, curve, x, y) {
  const { t, values, width, column } = curve;
  pen.beginPath();
  let open = false; // whether the previous value is known
  for (let row = 0; row < t.length; row++) {
    const value = values[row * width + column];
    if (!Number.isFinite(value)) open = false;
    else if (open) pen.lineTo(x(t[row]), y(value));
    else { pen.moveTo(x(t[row]), y(value)); open = true; }
  }
  pen.setLineDash(curve.dash);
  pen.lineWidth = 1.6;
  pen.lineJoin = "round";
  pen.strokeStyle = curve_color(curve.color);
  pen.stroke();
}

export class Charts {
  constructor(scene, playback, act, holder) {
    this.views = gathered(scene.actors).map((chart) => new ChartView(chart, playback, act));
    this.playback = playback;
    this.written = 0;
    holder.replaceChildren(...this.views.map((view) => view.figure));
    holder.hidden = !this.views.length;
    this.watch = new ResizeObserver(() => this.draw());
    for (const view of this.views) this.watch.observe(view.plot);
    this.draw();
  }

  draw() {
    for (const view of this.views) view.draw();
  }

  show(now) {
    const clock = performance.now();
    const write = now || !this.playback.playing || clock - this.written > UPDATE_INTERVAL_MS;
    if (write) this.written = clock;
    for (const view of this.views) view.show(write);
  }

  // hide or show all curves of an actor
  show_actor(number, on) {
    for (const view of this.views) for (const curve of view.curves) if (curve.actor === number) curve.away = !on;
    this.draw();
  }

  drop() {
    this.watch.disconnect();
  }
}
