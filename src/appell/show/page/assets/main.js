// The page: shows the scene that it contains, and redraws it only when something changes.

import { Charts } from "./charts.js";
import { by_id, element, write_text } from "./dom.js";
import { Gizmo } from "./gizmo.js";
import { Input } from "./input.js";
import { Live } from "./live.js";
import { page_api } from "./page_api.js";
import { when_theme_changes } from "./palette.js";
import { Panel, show_rate } from "./panel.js";
import { Playback } from "./playback.js";
import { Rate } from "./rate.js";
import { handle_pose, unpacked_scene } from "./scene.js";
import { Simulation } from "./simulation.js";
import { Stage } from "./stage.js";
import { Timeline } from "./timeline.js";

const SETTLE_MS = 140; // without a change, after which the picture is drawn in full quality
const canvas = by_id("stage");
const rate = new Rate();
let show = null; // the current scene, stage, playback, timeline, charts, panel, gizmo, handle, still
let live = null; // the connection to Python, or a simulation in the page
let frame_requested = false, moving = false, settling = 0;

function changed() {
  moving = true;
  redraw();
}

function redraw() {
  show.still = false;
  if (frame_requested) return;
  frame_requested = true;
  requestAnimationFrame(frame);
}

function frame(clock) {
  frame_requested = false;
  const { stage, playback, timeline, charts, gizmo } = show;
  const ran = playback.playing;
  playback.advance(clock);
  live?.advance?.(clock);
  for (const actor_view of stage.actor_views) actor_view.at(playback.time);
  stage.arrows.at(playback.time, playback.speed);
  if (gizmo.thing.shown) place_gizmo();
  stage.draw(moving);
  show.still = !moving;
  timeline.show(ran !== playback.playing || !ran);
  charts.show(ran !== playback.playing || !ran);
  rate.count(clock, moving);
  if (rate.slow(stage)) stage.slow = true;
  show_rate(rate.now(), playback.playing || live?.running);
  window.appell.ready = true;
  clearTimeout(settling);
  if (playback.playing || live?.running) changed();
  else if (moving) settling = setTimeout(settle, SETTLE_MS);
}

function settle() {
  if (!frame_requested && !show.playback.playing && !live?.running) {
    moving = false;
    redraw();
  }
}

function place_gizmo() {
  const { gizmo, handle, stage } = show;
  if (!gizmo.held) gizmo.pose = handle_pose(handle.handle, stage.actor_views[handle.actor].poses);
  gizmo.write();
}

// actions that the parts of the page call
const act = {
  changed,
  seek(time) {
    unpin_actors();
    show.playback.seek(time);
    changed();
  },
  toggle() {
    if (live?.toggle) live.toggle(); else if (show.playback.playing) act.pause(); else act.play();
  },
  play() {
    unpin_actors();
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
    show.stage.actor_views[number].thing.shown = on;
    show.charts.show_actor(number, on);
    changed();
  },
  fit() {
    show.stage.camera.reset_direction();
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
  dropped() {
    live?.release?.();
    changed();
  },
};

// actors with poses set from outside return to their motion when the user changes the time
function unpin_actors() {
  for (const actor_view of show.stage.actor_views) if (actor_view.actor.motion) actor_view.pinned = false;
}

// handlers of messages from Python
const handlers = {
  reply(actor, answer, path) {
    const actor_view = show.stage.actor_views[actor];
    if (!actor_view) return;
    if (answer.poses) actor_view.set_poses(answer.poses);
    const held = path === "pose" ? document.activeElement : null;
    if (answer.values) show.panel.set_values(actor, answer.values, held);
    show.panel.show_note(answer.note ?? "");
    changed();
  },
  async new_scene(scene) {
    show_scene(await unpacked_scene(scene));
  },
  note(text) {
    show.panel.show_note(text);
  },
};

function list_handles() {
  const choice = by_id("handle"), handles_of_all = [];
  show.scene.actors.forEach(({ handles }, actor) => {
    handles.forEach((handle, number) => handles_of_all.push({ actor, number, handle }));
  });
  choice.replaceChildren(element("option", { value: -1 }, "none"), ...handles_of_all.map(({ actor, handle }, k) => {
    const owner = show.scene.actors.length > 1 ? `, ${show.scene.actors[actor].name}` : "";
    return element("option", { value: k }, handle.name + owner);
  }));
  by_id("handles").hidden = !live || !handles_of_all.length;
  const choose = (k) => {
    show.handle = handles_of_all[k] ?? null;
    show.gizmo.thing.shown = show.handle !== null;
    changed();
  };
  choice.onchange = () => choose(Number(choice.value));
  if (live && handles_of_all.length) {
    choice.value = String(handles_of_all.length - 1); // the last is the outermost
    choose(handles_of_all.length - 1);
  }
}

// show a scene instead of the current one
function show_scene(scene) {
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
  show.panel.show_note();
  by_id("sentence").hidden = stage.renderer !== null;
  list_handles();
  window.appell = page_api(canvas, show, act, rate, live);
  moving = false; // the first picture has full quality, also on a slow machine
  redraw();
}

function listen() {
  Timeline.listen(() => show.timeline);
  new Input(canvas, () => show, act);
  let resized = redraw; // the first call reports the initial size
  new ResizeObserver(() => {
    const { camera, points } = show.stage;
    show.stage.measure();
    if (!camera.moved) camera.fit(points);
    resized();
    resized = changed;
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

async function start() {
  const base = document.body.dataset.live;
  try {
    if (!window.DecompressionStream) throw new Error("the browser is too old (it has no DecompressionStream)");
    const scene = await unpacked_scene(by_id("scene").textContent);
    if (base) live = new Live(base, handlers);
    else if (scene.simulation) live = await Simulation.load(scene, handlers, () => show, changed);
    show_scene(scene);
    listen();
    if (live) live.listen();
  } catch (error) {
    write_text(by_id("sentence"), `This scene cannot be shown: ${error.message}.`);
    by_id("sentence").hidden = false;
    throw error;
  }
}

start();
