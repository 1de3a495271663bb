// Mouse, touch and keyboard input: rotate, pan and zoom the view, drag the gizmo, and control the time.

const TYPING = "input[type=number], select, textarea";

export class Input {
  // `now` returns the objects of the current scene (see main.js); `act` are the actions of the page
  constructor(canvas, now, act) {
    Object.assign(this, { canvas, now, act });
    this.pointers = new Map(); // last position of each pressed pointer
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => this.release(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("dblclick", (event) => this.set_target(event));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  // position of an event on the canvas, in pixels
  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  down(event) {
    const [x, y] = this.position(event), { gizmo } = this.now();
    this.canvas.setPointerCapture(event.pointerId);
    const hit = event.button === 0 && !this.pointers.size ? gizmo.hit(x, y) : null;
    this.pointers.set(event.pointerId, [x, y]);
    if (hit) {
      gizmo.take(hit, x, y);
      this.act.changed();
    }
    this.canvas.classList.add("held");
  }

  move(event) {
    const [x, y] = this.position(event), { gizmo, stage } = this.now(), last = this.pointers.get(event.pointerId);
    if (!last) return this.hover(gizmo, x, y);
    const [dx, dy] = [x - last[0], y - last[1]];
    if (gizmo.held) this.act.drag(gizmo.drag(x, y));
    else if (this.pointers.size === 2) this.pinch(event.pointerId, last, [x, y]);
    else if (event.buttons & 2 || event.buttons & 4 || event.shiftKey) stage.camera.pan(dx, dy);
    else stage.camera.orbit(dx, dy);
    this.pointers.set(event.pointerId, [x, y]);
    this.act.changed();
  }

  hover(gizmo, x, y) {
    const over = gizmo.hit(x, y), key = (hit) => (hit ? hit.kind + hit.k : "");
    if (key(over) === key(gizmo.over)) return;
    gizmo.over = over;
    this.canvas.classList.toggle("grip", over !== null);
    this.act.changed();
  }

  // two fingers: their midpoint pans, their distance zooms
  pinch(moving, before, after) {
    const other = [...this.pointers].find(([id]) => id !== moving)[1], { camera } = this.now().stage;
    const distance = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
    camera.pan((after[0] - before[0]) / 2, (after[1] - before[1]) / 2);
    camera.zoom(distance(before) / distance(after), (after[0] + other[0]) / 2, (after[1] + other[1]) / 2);
  }

  release(event) {
    const { gizmo } = this.now();
    this.pointers.delete(event.pointerId);
    this.canvas.classList.toggle("held", this.pointers.size > 0);
    if (!gizmo.held) return;
    gizmo.release();
    this.act.dropped();
  }

  wheel(event) {
    event.preventDefault();
    const [x, y] = this.position(event), lines = event.deltaMode === 1 ? 30 : 1;
    this.now().stage.camera.zoom(Math.exp(0.0012 * Math.max(-250, Math.min(250, event.deltaY * lines))), x, y);
    this.act.changed();
  }

  // set the centre of rotation to the point under the pointer
  set_target(event) {
    const { stage } = this.now(), hit = stage.pick(...this.position(event));
    if (!hit) return this.act.fit();
    stage.camera.target = hit.point;
    this.act.changed();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TYPING)) return;
    const joint = event.target.matches?.("input[type=range]:not(#time)");
    const button = event.target.closest?.("button, summary, a");
    if (this.handle_key(event, joint, button)) event.preventDefault();
  }

  // perform the action of a key; return whether it has one
  handle_key(event, joint, button) {
    const { timeline, playback, stage } = this.now(), { camera } = stage;
    const turns = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] };
    if (event.shiftKey && turns[event.key] && !joint) camera.orbit(...turns[event.key].map((step) => -step));
    else if (event.key === " ") {
      if (button || event.target.matches?.("input[type=checkbox]")) return false;
      this.act.toggle();
    } else if (joint) return false;
    else if (event.key === "ArrowRight") timeline.to_frame(1);
    else if (event.key === "ArrowLeft") timeline.to_frame(-1);
    else if (event.key === "Home") this.act.seek(playback.first);
    else if (event.key === "End") this.act.seek(playback.last);
    else if (event.key === "]") timeline.to_mark(1);
    else if (event.key === "[") timeline.to_mark(-1);
    else if (event.key === "+" || event.key === "=") camera.zoom(0.85);
    else if (event.key === "-") camera.zoom(1 / 0.85);
    else if (event.key === "f") this.act.fit();
    else return false;
    this.act.changed();
    return true;
  }
}
