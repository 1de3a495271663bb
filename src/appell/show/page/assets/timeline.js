// The bar below the stage: play and pause, the time with the marks on it, and the speed.

import { by_id, element, write_text } from "./dom.js";
import { curve_color, kind_number } from "./palette.js";
import { all_marks } from "./scene.js";

const MOST_MARKS = 2000; // elements on the line; more than a screen has pixels
const OVERDUE = 100; // milliseconds between two writings of the time while it runs

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
    const still = !(playback.length > 0);
    this.bar.hidden = still;
    const range = by_id("time");
    range.min = playback.first;
    range.max = playback.last;
    range.value = playback.time;
    write_text(by_id("last"), `/ ${playback.last.toFixed(this.digits)} s`);
    for (const id of ["before", "after", "event"]) by_id(id).hidden = !this.marks.length;
    this.place_marks();
    this.show(true);
  }

  // listen to the elements of the bar, once for all scenes
  static listen(now) {
    by_id("play").addEventListener("click", () => now().act.toggle());
    by_id("time").addEventListener("input", (event) => now().act.seek(Number(event.target.value)));
    by_id("speed").addEventListener("change", (event) => now().act.speed(Number(event.target.value)));
    by_id("before").addEventListener("click", () => now().to_mark(-1));
    by_id("after").addEventListener("click", () => now().to_mark(1));
  }

  place_marks() {
    const line = by_id("marks"), thin = Math.ceil(this.marks.length / MOST_MARKS);
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

  // bring the bar to the time that is shown
  show(now) {
    const { playback } = this, clock = performance.now();
    if (this.bar.hidden) return;
    by_id("time").value = playback.time;
    if (!now && playback.playing && clock - this.written < OVERDUE) return;
    this.written = clock;
    write_text(by_id("now"), playback.time.toFixed(this.digits));
    by_id("time").setAttribute("aria-valuetext", `${playback.time.toFixed(this.digits)} seconds`);
    const play = by_id("play");
    play.classList.toggle("playing", playback.playing);
    play.setAttribute("aria-label", playback.playing ? "Pause" : "Play");
    play.title = playback.playing ? "Pause (space)" : "Play (space)";
    this.tell_mark();
  }

  // say what happened last, for those who do not see the marks
  tell_mark() {
    const lately = 0.3 * this.playback.speed + 1e-9, { time } = this.playback;
    let found = null;
    for (const mark of this.marks) {
      if (mark.time > time) break;
      if (time - mark.time < lately) found = mark;
    }
    if (found === this.last_mark) return;
    this.last_mark = found;
    write_text(by_id("event"), found ? found.label || found.kind : "");
    by_id("event").style.setProperty("--color", found ? curve_color(kind_number(found.kind)) : "transparent");
  }
}

// the times of the actor with the most frames, each once
function frame_times(actors) {
  let best = [];
  for (const { motion } of actors) if (motion && motion.t.length > best.length) best = motion.t;
  return Array.from(best).filter((t, k) => k === 0 || t > best[k - 1]);
}
