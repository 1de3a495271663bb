// The current time: paused, set by the user, or running at a speed until the end.

const MAX_FRAME_MS = 500; // longer intervals are pauses, such as those of a hidden page

export class Playback {
  constructor([first, last]) {
    this.first = first;
    this.last = last;
    this.time = first;
    this.speed = 1;
    this.playing = false;
    this.clock = null; // time of the last frame while playing, in milliseconds
  }

  get length() {
    return this.last - this.first;
  }

  // 0 at the start, 1 at the end
  share(time = this.time) {
    return this.length > 0 ? (time - this.first) / this.length : 0;
  }

  seek(time) {
    if (Number.isFinite(time)) this.time = Math.min(Math.max(time, this.first), this.last);
  }

  play() {
    if (!(this.length > 0)) return;
    if (this.time >= this.last) this.time = this.first;
    this.playing = true;
    this.clock = null;
  }

  pause() {
    this.playing = false;
  }

  // advance the time to a time of the clock, in milliseconds
  advance(clock) {
    if (!this.playing) return;
    if (this.clock !== null) this.time += this.speed * Math.min(clock - this.clock, MAX_FRAME_MS) / 1000;
    this.clock = clock;
    if (this.time >= this.last) {
      this.time = this.last;
      this.playing = false;
    }
  }

  // pause at the next or previous of ascending times
  step(times, direction) {
    if (!times.length) return;
    const close = 1e-9 * Math.max(1, Math.abs(this.last));
    let next = null;
    if (direction > 0) next = times.find((t) => t > this.time + close);
    else for (const t of times) if (t < this.time - close) next = t; else break;
    this.pause();
    if (next !== null && next !== undefined) this.seek(next);
  }
}
