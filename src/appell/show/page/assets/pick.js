// Picking: intersection of a line of sight with the triangles of all visible parts.

import { minus, turned_back } from "./matrix.js";
import { WORLD } from "./scene.js";

// whether a line intersects a box at a distance of at most `far`
function meets(from, along, lower, upper, far) {
  let near = 0, end = far;
  for (let k = 0; k < 3; k++) {
    const a = (lower[k] - from[k]) / along[k], b = (upper[k] - from[k]) / along[k];
    if (Number.isNaN(a) || Number.isNaN(b)) continue; // the line is parallel to this side of the box
    near = Math.max(near, Math.min(a, b));
    end = Math.min(end, Math.max(a, b));
  }
  return near <= end;
}

// distance along the line to the first triangle of the mesh; Infinity if there is none
function distance_to(mesh, from, along) {
  const { vertices, faces } = mesh;
  let best = Infinity;
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
    const ax = vertices[a], ay = vertices[a + 1], az = vertices[a + 2];
    const ux = vertices[b] - ax, uy = vertices[b + 1] - ay, uz = vertices[b + 2] - az;
    const vx = vertices[c] - ax, vy = vertices[c + 1] - ay, vz = vertices[c + 2] - az;
    const px = along[1] * vz - along[2] * vy, py = along[2] * vx - along[0] * vz, pz = along[0] * vy - along[1] * vx;
    const volume = ux * px + uy * py + uz * pz;
    if (volume === 0) continue;
    const sx = from[0] - ax, sy = from[1] - ay, sz = from[2] - az;
    const u = (sx * px + sy * py + sz * pz) / volume;
    if (u < 0 || u > 1) continue;
    const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux;
    const v = (along[0] * qx + along[1] * qy + along[2] * qz) / volume;
    if (v < 0 || u + v > 1) continue;
    const far = (vx * qx + vy * qy + vz * qz) / volume;
    if (far > 0 && far < best) best = far;
  }
  return best;
}

// a line in the axes of a pose
function into(line, pose, o) {
  const origin = [pose[o], pose[o + 1], pose[o + 2]];
  return { from: turned_back(pose, o, minus(line.from, origin)), along: turned_back(pose, o, line.along) };
}

// the nearest part on a line of sight: {actor, part, point} or null; `hidden` are layers, `walls` parts of the scene
export function picked(line, actor_views, walls, hidden) {
  let best = null, least = Infinity;
  const try_part = (part, poses, actor) => {
    if (hidden.has(part.layer)) return;
    const on_body = part.body < 0 ? into(line, WORLD, 0) : into(line, poses, 7 * part.body);
    const local = into(on_body, part.pose, 0);
    if (!meets(local.from, local.along, part.mesh.lower, part.mesh.upper, least)) return;
    const far = distance_to(part.mesh, local.from, local.along);
    if (far < least) {
      least = far;
      best = { actor, part };
    }
  };
  for (const actor_view of actor_views) {
    if (!actor_view.thing.shown) continue;
    for (const part of actor_view.actor.parts) try_part(part, actor_view.poses, actor_view.actor);
  }
  for (const part of walls) try_part(part, null, null);
  if (best) best.point = line.from.map((x, k) => x + least * line.along[k]);
  return best;
}
