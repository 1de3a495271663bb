// The bar below the stage: play and pause, the timeline with marks, and the speed.

import { by_id, element, write_text } from "./dom.js";
import { curve_color, kind_number } from "./palette.js";
import { all_marks } from "./scene.js";

const MAX_MARKS = 2000; // on the timeline; more than a screen has pixels
const UPDATE_INTERVAL_MS = 100; // of the displayed time while playing

export class Timeline {
  constructor(scene, playback, act) {
    this.playback = playback;
    this.act = act;
    this.bar = by_id("transport");
    this.marks = all_marks(scene);
    this.times = this.marks.map((mark) => mark.time);
    this.frames = frame_times(scene.actors);
    this.digits = Math.min(6, Math.max(2, 3 - Math.floor(Math.log10(playback.length || 1))));
    this.written = 0;
    this.last_mark = null;
    this.bar.hidden = !(playback.length > 0);
    const range = by_id("time");
    range.min = playback.first;
    range.max = playback.last;
    range.value = playback.time;
    write_text(by_id("last"), `/ ${playback.last.toFixed(this.digits)} s`);
    for (const id of ["before", "after", "event"]) by_id(id).hidden = !this.marks.length;
    this.place_marks();
    this.show(true);
  }

  // attach listeners to the elements of the bar, once for all scenes
  static listen(now) {
    by_id("play").addEventListener("click", () => now().act.toggle());
    by_id("time").addEventListener("input", (event) => now().act.seek(Number(event.target.value)));
    by_id("speed").addEventListener("change", (event) => now().act.speed(Number(event.target.value)));
    by_id("before").addEventListener("click", () => now().to_mark(-1));
    by_id("after").addEventListener("click", () => now().to_mark(1));
  }

  place_marks() {
    const line = by_id("marks"), thin = Math.ceil(this.marks.length / MAX_MARKS);
    line.replaceChildren(...this.marks.filter((mark, k) => k % thin === 0).map((mark) => {
      const label = mark.label || mark.kind, share = this.playback.share(mark.time);
      const made = element("button", {
        class: "mark", type: "button", tabindex: "-1", "data-time": mark.time, "data-kind": mark.kind, title: label,
        "aria-label": `${label}, at ${mark.time.toFixed(this.digits)} s`, onclick: () => this.act.seek(mark.time),
      });
      made.style.left = `${100 * share}%`;
      made.style.setProperty("--color", curve_color(kind_number(mark.kind)));
      return made;
    }));
  }

  to_mark(direction) {
    this.playback.step(this.times, direction);
    this.act.changed();
  }

  to_frame(direction) {
    this.playback.step(this.frames, direction);
    this.act.changed();
  }

  // show the current time in the bar
  show(now) {
    const { playback } = this, clock = performance.now();
    if (this.bar.hidden) return;
    by_id("time").value = playback.time;
    if (!now && playback.playing && clock - this.written < UPDATE_INTERVAL_MS) return;
    this.written = clock;
    write_text(by_id("now"), playback.time.toFixed(this.digits));
    by_id("time").setAttribute("aria-valuetext", `${playback.time.toFixed(this.digits)} seconds`);
    const play = by_id("play");
    play.classList.toggle("playing", playback.playing);
    play.setAttribute("aria-label", playback.playing ? "Pause" : "Play");
    play.title = playback.playing ? "Pause (space)" : "Play (space)";
    this.show_mark();
  }

  // show the text of the latest event, also for screen readers
  show_mark() {
    const duration = 0.3 * this.playback.speed + 1e-9, { time } = this.playback;
    let latest = null;
    for (const mark of this.marks) {
      if (mark.time > time) break;
      if (time - mark.time < duration) latest = mark;
    }
    if (latest === this.last_mark) return;
    this.last_mark = latest;
    write_text(by_id("event"), latest ? latest.label || latest.kind : "");
    by_id("event").style.setProperty("--color", latest ? curve_color(kind_number(latest.kind)) : "transparent");
  }
}

// the distinct times of the actor with the most frames
function frame_times(actors) {
  let best = [];
  for (const { motion } of actors) if (motion && motion.t.length > best.length) best = motion.t;
  return Array.from(best).filter((t, k) => k === 0 || t > best[k - 1]);
}
