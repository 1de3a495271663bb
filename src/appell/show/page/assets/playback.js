// The time that is shown: it stands, it is set, or it runs at a speed until the end.

const LONGEST = 500; // milliseconds of a picture; what is longer was a sleep, as of a page that nobody looked at

export class Playback {
  constructor([first, last]) {
    this.first = first;
    this.last = last;
    this.time = first;
    this.speed = 1;
    this.playing = false;
    this.clock = null; // of the last frame while it runs, in milliseconds
  }

  get length() {
    return this.last - this.first;
  }

  // 0 at the beginning, 1 at the end
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

  // let the time go on to a moment of the clock
  advance(clock) {
    if (!this.playing) return;
    if (this.clock !== null) this.time += this.speed * Math.min(clock - this.clock, LONGEST) / 1000;
    this.clock = clock;
    if (this.time >= this.last) {
      this.time = this.last;
      this.playing = false;
    }
  }

  // the next or previous of some rising times
  step(times, direction) {
    if (!times.length) return;
    const close = 1e-9 * Math.max(1, Math.abs(this.last));
    let found = null;
    if (direction > 0) found = times.find((t) => t > this.time + close);
    else for (const t of times) if (t < this.time - close) found = t; else break;
    this.pause();
    if (found !== null && found !== undefined) this.seek(found);
  }
}
