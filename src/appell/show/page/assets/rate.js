// The number of frames per second while something moves.

const MAX_INTERVALS = 60; // between frames that are averaged
const PAUSE_MS = 250; // longer intervals are pauses
const MIN_RATE = 40; // frames per second for full quality

export class Rate {
  constructor() {
    this.lengths = new Float64Array(MAX_INTERVALS);
    this.reset();
  }

  reset() {
    this.count_of = 0;
    this.last = null;
  }

  count(clock, moving) {
    const length = this.last === null ? Infinity : clock - this.last;
    if (moving && length < PAUSE_MS) this.lengths[this.count_of++ % MAX_INTERVALS] = length;
    this.last = moving ? clock : null;
  }

  now() {
    const count = Math.min(this.count_of, MAX_INTERVALS);
    if (!count) return 0;
    let sum = 0;
    for (let k = 0; k < count; k++) sum += this.lengths[k];
    return 1000 * count / sum;
  }

  // whether this machine is too slow for full quality
  slow(stage) {
    if (stage.slow || this.count_of < MAX_INTERVALS || this.now() >= MIN_RATE) return false;
    this.reset();
    return true;
  }
}
