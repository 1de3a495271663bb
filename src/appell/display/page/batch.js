// Many parts in one buffer, sorted by what is drawn together: one call for all parts of a body that are shown together.
// A slot is the matrix of a body and a colour. (A matrix for each vertex, out of a table, would need fewer calls; but a
// processor that draws in software then takes twice as long.)

import { placed, turned } from "./matrix.js";
import { shaded } from "./normals.js";

export const STRIDE = 20; // bytes of a vertex: place 3 float32, normal 4 int8, color 4 uint8
const CLEAR = 0.99; // less opacity than this is drawn after all solid things

const shading = new WeakMap(); // of meshes that parts share

function shaded_once(mesh) {
  if (!shading.has(mesh)) shading.set(mesh, shaded(mesh));
  return shading.get(mesh);
}

// items are {mesh, pose, color, layer, slot}; the batch has vertices, faces, and ranges {layer, clear, slot, first, count}
export function batch(items) {
  const key = (item) => `${item.color[3] < CLEAR ? 1 : 0}|${item.layer}|${String(item.slot).padStart(6, "0")}`;
  const sorted = items.map((item, order) => ({ ...item, key: key(item), order }));
  sorted.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.order - b.order));
  const meshes = sorted.map((item) => shaded_once(item.mesh));
  const sum = (list, count) => list.reduce((total, mesh) => total + count(mesh), 0);
  const vertices = new ArrayBuffer(STRIDE * sum(meshes, (mesh) => mesh.vertices.length / 3));
  const faces = new Uint32Array(sum(meshes, (mesh) => mesh.faces.length));
  const ranges = [];
  let vertex = 0, corner = 0;
  sorted.forEach((item, i) => {
    const mesh = meshes[i];
    write_vertices(new DataView(vertices, STRIDE * vertex), mesh, item);
    for (let c = 0; c < mesh.faces.length; c++) faces[corner + c] = vertex + mesh.faces[c];
    if (ranges.length && ranges[ranges.length - 1].key === item.key) ranges[ranges.length - 1].count += mesh.faces.length;
    else {
      const { layer, slot } = item;
      ranges.push({ key: item.key, clear: item.color[3] < CLEAR, layer, slot, first: corner, count: mesh.faces.length });
    }
    vertex += mesh.vertices.length / 3;
    corner += mesh.faces.length;
  });
  return { vertices, faces, ranges };
}

function write_vertices(view, mesh, item) {
  const color = item.color.map((part) => Math.round(255 * Math.min(Math.max(part, 0), 1)));
  for (let i = 0, at = 0; i < mesh.vertices.length; i += 3, at += STRIDE) {
    const place = placed(item.pose, 0, mesh.vertices.subarray(i, i + 3));
    const normal = turned(item.pose, 0, mesh.normals.subarray(i, i + 3));
    for (let k = 0; k < 3; k++) {
      view.setFloat32(at + 4 * k, place[k], true);
      view.setInt8(at + 12 + k, Math.round(127 * normal[k]));
    }
    for (let k = 0; k < 4; k++) view.setUint8(at + 16 + k, color[k]);
  }
}

// matrices and colours for a number of slots, all at the origin and white
export function new_slots(count) {
  const slots = new Float32Array(16 * count);
  for (let s = 0; s < slots.length; s += 16) {
    slots[s] = slots[s + 5] = slots[s + 10] = 1;
    slots.fill(1, s + 12, s + 16);
  }
  return slots;
}
