// The scene of the page or from the server, with decoded arrays, and the points that a camera must show.

import { unpacked } from "./arrays.js";
import { composed, placed } from "./matrix.js";

const FORMAT = 1;
const MAX_SAMPLES = 40; // times of a motion at which its extent is evaluated
export const WORLD = [0, 0, 0, 0, 0, 0, 1];
export const HIDDEN = ["frames", "centers", "inertia"]; // layers that are hidden initially

export async function unpacked_scene(text) {
  const scene = typeof text === "string" ? JSON.parse(text) : text;
  if (scene.format !== FORMAT) throw new Error("it was written by another version of appell");
  await Promise.all(scene.meshes.map(unpack_mesh));
  await Promise.all(scene.actors.map(unpack_actor));
  for (const part of scene.parts) part.mesh = scene.meshes[part.mesh];
  for (const actor of scene.actors) for (const part of actor.parts) part.mesh = scene.meshes[part.mesh];
  return scene;
}

async function unpack_mesh(mesh) {
  [mesh.vertices, mesh.faces] = await Promise.all([unpacked(mesh.vertices), unpacked(mesh.faces)]);
  mesh.vertices = Float32Array.from(mesh.vertices);
  const lower = [Infinity, Infinity, Infinity], upper = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < mesh.vertices.length; i++) {
    lower[i % 3] = Math.min(lower[i % 3], mesh.vertices[i]);
    upper[i % 3] = Math.max(upper[i % 3], mesh.vertices[i]);
  }
  mesh.lower = lower;
  mesh.upper = upper;
}

async function unpack_actor(actor) {
  actor.poses = Float32Array.from(await unpacked(actor.poses));
  const motion = actor.motion;
  if (!motion) return;
  [motion.t, motion.poses] = await Promise.all([unpacked(motion.t), unpacked(motion.poses)]);
  for (const chart of motion.charts) {
    [chart.t, chart.values] = await Promise.all([unpacked(chart.t), unpacked(chart.values)]);
  }
}

function corners(mesh) {
  const { lower, upper } = mesh, points = [];
  if (!(lower[0] <= upper[0])) return points;
  for (let k = 0; k < 8; k++) points.push([0, 1, 2].map((axis) => (k >> axis & 1 ? upper : lower)[axis]));
  return points;
}

// corners of the bounding boxes of all parts of an actor, at times spread over its motion
export function seen_points(actor) {
  const result = [], motion = actor.motion, frames = motion ? motion.t.length : 1;
  const bodies = actor.bodies.length;
  const seen = actor.parts.filter((part) => !HIDDEN.includes(part.layer));
  const boxes = (seen.length ? seen : actor.parts).map((part) => {
    return { body: part.body, points: corners(part.mesh).map((point) => placed(part.pose, 0, point)) };
  });
  for (const strut of actor.struts) {
    for (const k of [0, 1]) boxes.push({ body: strut.bodies[k], points: [strut.ends.slice(3 * k, 3 * k + 3)] });
  }
  const samples = Math.min(frames, MAX_SAMPLES);
  for (let sample = 0; sample < samples; sample++) {
    const frame = samples > 1 ? Math.round(sample * (frames - 1) / (samples - 1)) : 0;
    const poses = motion ? motion.poses : actor.poses, start = frame * bodies * 7;
    for (const box of boxes) {
      for (const point of box.points) result.push(box.body < 0 ? point : placed(poses, start + 7 * box.body, point));
    }
    if (!boxes.length) {
      for (let o = start; o < start + 7 * bodies; o += 7) result.push(Array.from(poses.subarray(o, o + 3)));
    }
  }
  return result;
}

// corners of the bounding boxes of static parts
export function static_points(parts) {
  return parts.flatMap((part) => corners(part.mesh).map((point) => placed(part.pose, 0, point)));
}

// the marks of all actors in order of time
export function all_marks(scene) {
  const marks = scene.actors.flatMap((actor) => (actor.motion ? actor.motion.marks : []));
  return marks.sort((a, b) => a.time - b.time);
}

// the pose of a handle if the bodies of its actor are at `poses`
export function handle_pose(handle, poses) {
  const body = handle.body < 0 ? WORLD : Array.from(poses.subarray(7 * handle.body, 7 * handle.body + 7));
  return composed(body, handle.pose);
}
