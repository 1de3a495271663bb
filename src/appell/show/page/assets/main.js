// The page: what came with it is put on the stage, and redrawn when something changes and not otherwise.

import { Charts } from "./charts.js";
import { by_id, element, write_text } from "./dom.js";
import { face } from "./face.js";
import { Gizmo } from "./gizmo.js";
import { Hands } from "./hands.js";
import { Live } from "./live.js";
import { when_theme_changes } from "./palette.js";
import { Panel, tell_rate } from "./panel.js";
import { Playback } from "./playback.js";
import { Rate } from "./rate.js";
import { handle_pose, unpacked_scene } from "./scene.js";
import { Stage } from "./stage.js";
import { Timeline } from "./timeline.js";

const STILL = 140; // milliseconds without a change until the picture is drawn in full quality
const canvas = by_id("stage");
const rate = new Rate();
let show = null; // what is on: scene, stage, playback, timeline, charts, panel, gizmo, handle, still
let live = null;
let asked = false, moving = false, settling = 0;

function changed() {
  moving = true;
  show.still = false;
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

function frame(clock) {
  asked = false;
  const { stage, playback, timeline, charts, gizmo } = show;
  const ran = playback.playing;
  playback.advance(clock);
  for (const performer of stage.performers) performer.at(playback.time);
  stage.arrows.at(playback.time, playback.speed);
  if (gizmo.thing.shown) place_gizmo();
  stage.draw(moving);
  show.still = !moving;
  timeline.show(ran !== playback.playing || !ran);
  charts.show(ran !== playback.playing || !ran);
  rate.count(clock, moving);
  if (rate.slow(stage)) stage.slow = true;
  tell_rate(rate.now(), playback.playing);
  window.appell.ready = true;
  clearTimeout(settling);
  if (playback.playing) changed();
  else if (moving) settling = setTimeout(settle, STILL);
}

function settle() {
  if (!asked && !show.playback.playing) {
    moving = false;
    asked = true;
    requestAnimationFrame(frame);
  }
}

function place_gizmo() {
  const { gizmo, handle, stage } = show;
  if (!gizmo.held) gizmo.pose = handle_pose(handle.handle, stage.performers[handle.actor].poses);
  gizmo.write();
}

// what the parts of the page ask for
const act = {
  changed,
  seek(time) {
    release_put();
    show.playback.seek(time);
    changed();
  },
  toggle() {
    if (show.playback.playing) act.pause(); else act.play();
  },
  play() {
    release_put();
    show.playback.play();
    rate.reset();
    changed();
  },
  pause() {
    show.playback.pause();
    changed();
  },
  speed(value) {
    if (!(value > 0 && Number.isFinite(value))) return;
    show.playback.speed = value;
    const choice = by_id("speed");
    const known = [...choice.options].some((option) => Number(option.value) === value);
    if (!known) choice.append(element("option", { value }, `${value}×`));
    choice.value = String(value);
    changed();
  },
  show(layer, on) {
    show.stage.show(layer, on);
    show.panel.tick(layer, on);
    changed();
  },
  show_actor(number, on) {
    show.stage.performers[number].thing.shown = on;
    show.charts.show_actor(number, on);
    changed();
  },
  fit() {
    show.stage.camera.face();
    show.stage.camera.fit(show.stage.points);
    changed();
  },
  pose(actor) {
    live?.pose(actor, show.panel.values(actor));
  },
  drag(pose) {
    const { handle, panel } = show;
    live?.drag(handle.actor, handle.number, pose, panel.values(handle.actor));
    changed();
  },
  dropped: changed,
};

// an actor that was put somewhere goes on with its motion as soon as somebody touches the time
function release_put() {
  for (const performer of show.stage.performers) if (performer.actor.motion) performer.put = false;
}

const hear = {
  answered(actor, answer, path) {
    const performer = show.stage.performers[actor];
    if (!performer) return;
    if (answer.poses) performer.place(answer.poses);
    const held = path === "pose" ? document.activeElement : null;
    if (answer.values) show.panel.set_values(actor, answer.values, held);
    show.panel.tell(answer.note ?? "");
    changed();
  },
  async new_scene(scene) {
    put_on(await unpacked_scene(scene));
  },
  told(note) {
    show.panel.tell(note);
  },
};

function list_handles() {
  const choice = by_id("handle"), found = [];
  show.scene.actors.forEach(({ handles }, actor) => {
    handles.forEach((handle, number) => found.push({ actor, number, handle }));
  });
  choice.replaceChildren(element("option", { value: -1 }, "nothing"), ...found.map(({ actor, handle }, k) => {
    const owner = show.scene.actors.length > 1 ? `, ${show.scene.actors[actor].name}` : "";
    return element("option", { value: k }, handle.name + owner);
  }));
  by_id("handles").hidden = !live || !found.length;
  const choose = (k) => {
    show.handle = found[k] ?? null;
    show.gizmo.thing.shown = show.handle !== null;
    changed();
  };
  choice.onchange = () => choose(Number(choice.value));
  if (live && found.length) {
    choice.value = String(found.length - 1); // the last is the outermost
    choose(found.length - 1);
  }
}

// make the page show a scene, in place of the one before
function put_on(scene) {
  if (show) {
    show.stage.drop();
    show.charts.drop();
  }
  const stage = new Stage(canvas, scene), playback = new Playback(scene.span), gizmo = new Gizmo(stage.camera);
  playback.speed = show ? show.playback.speed : 1;
  stage.top.push(gizmo.thing);
  document.title = scene.title || "appell";
  write_text(by_id("title"), scene.title);
  show = { scene, stage, playback, gizmo, handle: null };
  show.timeline = new Timeline(scene, playback, act);
  show.panel = new Panel(scene, stage, act, live !== null);
  show.charts = new Charts(scene, playback, act, by_id("charts"));
  show.panel.tell();
  by_id("sentence").hidden = stage.renderer !== null;
  list_handles();
  window.appell = face(canvas, show, act, rate);
  changed();
}

function listen() {
  Timeline.listen(() => show.timeline);
  new Hands(canvas, () => show, act);
  new ResizeObserver(() => {
    const { camera, points } = show.stage;
    show.stage.measure();
    if (!camera.steered) camera.fit(points);
    changed();
  }).observe(canvas);
  when_theme_changes(() => {
    show.stage.recolor();
    show.timeline.place_marks();
    show.charts.draw();
    show.panel.list_actors();
    changed();
  });
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => { show.stage.start(); changed(); });
  by_id("fit").addEventListener("click", act.fit);
  by_id("fold").addEventListener("click", () => {
    const folded = document.body.classList.toggle("folded");
    by_id("fold").setAttribute("aria-expanded", String(!folded));
  });
}

async function begin() {
  const base = document.body.dataset.live;
  try {
    if (!window.DecompressionStream) throw new Error("this browser is too old to unpack it");
    const scene = await unpacked_scene(by_id("scene").textContent);
    if (base) live = new Live(base, hear);
    put_on(scene);
    listen();
    if (live) live.listen();
  } catch (error) {
    write_text(by_id("sentence"), `This scene cannot be shown: ${error.message}.`);
    by_id("sentence").hidden = false;
    throw error;
  }
}

begin();
