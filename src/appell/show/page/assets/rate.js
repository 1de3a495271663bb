// How many pictures a second are drawn while something moves.

const KEPT = 60; // intervals between pictures
const PAUSE = 250; // milliseconds after which nothing was moving
const TOO_FEW = 40; // pictures a second

export class Rate {
  constructor() {
    this.lengths = new Float64Array(KEPT);
    this.reset();
  }

  reset() {
    this.count_of = 0;
    this.last = null;
  }

  count(clock, moving) {
    const length = this.last === null ? Infinity : clock - this.last;
    if (moving && length < PAUSE) this.lengths[this.count_of++ % KEPT] = length;
    this.last = moving ? clock : null;
  }

  now() {
    const kept = Math.min(this.count_of, KEPT);
    if (!kept) return 0;
    let sum = 0;
    for (let k = 0; k < kept; k++) sum += this.lengths[k];
    return 1000 * kept / sum;
  }

  // whether full quality is too much for this machine
  slow(stage) {
    if (stage.slow || this.count_of < KEPT || this.now() >= TOO_FEW) return false;
    this.reset();
    return true;
  }
}
