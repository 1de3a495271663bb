// Many parts in one buffer, sorted so that one draw call renders all parts of a body that are shown together. A slot is
// the matrix of a body and a colour. (A table of matrices with an index per vertex would need one call for all bodies,
// but takes as long in software rendering and limits the number of bodies.)

import { placed, turned } from "./matrix.js";
import { shaded } from "./normals.js";

export const STRIDE = 20; // bytes per vertex: position 3 float32, normal 4 int8, color 4 uint8
const MIN_CELLS = 6; // along the longest side of a mesh
const OPAQUE = 0.99; // parts with less opacity are drawn after all opaque ones

const shading = new WeakMap(); // shaded meshes, which parts share

function shaded_once(mesh) {
  if (!shading.has(mesh)) shading.set(mesh, shaded(mesh));
  return shading.get(mesh);
}

// items are {mesh, pose, color, layer, slot}; the batch has vertices, faces, and ranges of faces, each
// {layer, clear, closed, slot, first, count}; pieces are its parts, for coarser copies
export function batch(items) {
  const pieces = items.map((item, order) => {
    const mesh = shaded_once(item.mesh), clear = item.color[3] < OPAQUE;
    const key = [clear, item.layer, String(item.slot).padStart(6, "0"), mesh.closed].join();
    return { item, mesh, clear, order, key };
  });
  pieces.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.order - b.order));
  return joined(pieces);
}

// the vertices and faces of all pieces in one list each, and the ranges of faces that are drawn together
function joined(pieces) {
  const total = (numbers) => pieces.reduce((sum, { mesh }) => sum + mesh[numbers].length, 0);
  const vertices = new ArrayBuffer(STRIDE * total("vertices") / 3), faces = new Uint32Array(total("faces")), ranges = [];
  let start = 0, corner = 0, last = null;
  for (const { key, item, clear, mesh } of pieces) {
    write_vertices(new DataView(vertices, STRIDE * start), mesh, item);
    for (let c = 0; c < mesh.faces.length; c++) faces[corner + c] = start + mesh.faces[c];
    const { layer, slot } = item;
    if (key !== last) ranges.push({ layer, slot, clear, closed: mesh.closed, first: corner, count: 0 });
    ranges[ranges.length - 1].count += mesh.faces.length;
    start += mesh.vertices.length / 3;
    corner += mesh.faces.length;
    last = key;
  }
  return { vertices, pieces, faces, ranges };
}

// the same batch with fewer triangles
export function coarser(made, cell) {
  const meshes = new Map(); // of meshes that several parts share
  return joined(made.pieces.map((piece) => {
    if (!meshes.has(piece.mesh)) meshes.set(piece.mesh, clustered(piece.mesh, cell));
    return { ...piece, mesh: meshes.get(piece.mesh) };
  }));
}

// The mesh if all vertices in a cell move to the one that is nearest their mean. Faces that touch before touch after:
// a surface stays connected also along sharp edges, where it has several vertices, with different normals, at one
// point. Normals are averaged for each of six directions, positions for all of them. Vertices of open edges stay where
// they are, because another mesh may continue there.
function clustered(mesh, cell) {
  const { vertices, normals, on_rim, faces, closed } = mesh, count = vertices.length / 3;
  const size = Math.min(cell, extent(vertices) / MIN_CELLS) || 1;
  const cells = new Map(), of = new Uint32Array(count), sums = [];
  for (let i = 0; i < count; i++) {
    let key = 0; // 2^15 cells along each axis
    for (let k = 0; k < 3; k++) key = key * 32768 + (Math.floor(vertices[3 * i + k] / size) & 32767);
    if (on_rim[i]) key = `${vertices[3 * i]},${vertices[3 * i + 1]},${vertices[3 * i + 2]}`;
    if (!cells.has(key)) {
      cells.set(key, sums.length / 4);
      sums.push(0, 0, 0, 0);
    }
    const n = of[i] = cells.get(key);
    for (let k = 0; k < 3; k++) sums[4 * n + k] += vertices[3 * i + k];
    sums[4 * n + 3]++;
  }
  const best = new Uint32Array(cells.size), least = new Float64Array(cells.size).fill(Infinity);
  for (let i = 0; i < count; i++) {
    const n = of[i], weight = sums[4 * n + 3];
    let far = 0;
    for (let k = 0; k < 3; k++) far += (vertices[3 * i + k] - sums[4 * n + k] / weight) ** 2;
    if (far < least[n]) { least[n] = far; best[n] = i; }
  }
  const corners = new Map(), points = [], directions = []; // vertices of the result, by cell and direction
  const corner = (i) => {
    let way = 0, most = 0;
    for (let k = 0; k < 3; k++) {
      const along = normals[3 * i + k];
      if (Math.abs(along) > most) { most = Math.abs(along); way = 2 * k + (along > 0 ? 2 : 1); }
    }
    const key = 8 * of[i] + way;
    if (!corners.has(key)) {
      corners.set(key, points.length / 3);
      for (let k = 0; k < 3; k++) { points.push(vertices[3 * best[of[i]] + k]); directions.push(0); }
    }
    const number = corners.get(key);
    for (let k = 0; k < 3; k++) directions[3 * number + k] += normals[3 * i + k];
    return number;
  };
  const kept = [], known = new Set();
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [of[faces[f]], of[faces[f + 1]], of[faces[f + 2]]];
    if (a === b || b === c || c === a) continue;
    const least = Math.min(a, b, c), [second, third] = least === a ? [b, c] : least === b ? [c, a] : [a, b];
    const key = (least * best.length + second) * best.length + third;
    if (known.has(key)) continue;
    known.add(key);
    kept.push(corner(faces[f]), corner(faces[f + 1]), corner(faces[f + 2]));
  }
  for (let i = 0; i < directions.length; i += 3) {
    const length = Math.hypot(directions[i], directions[i + 1], directions[i + 2]) || 1;
    for (let k = 0; k < 3; k++) directions[i + k] /= length;
  }
  return { vertices: Float32Array.from(points), normals: Float32Array.from(directions), faces: kept, closed };
}

// the longest side of the bounding box
function extent(vertices) {
  let most = 0;
  for (let k = 0; k < 3; k++) {
    let low = Infinity, high = -Infinity;
    for (let i = k; i < vertices.length; i += 3) {
      low = Math.min(low, vertices[i]);
      high = Math.max(high, vertices[i]);
    }
    most = Math.max(most, high - low);
  }
  return most;
}

function write_vertices(view, mesh, item) {
  const color = item.color.map((part) => Math.round(255 * Math.min(Math.max(part, 0), 1)));
  for (let i = 0, at = 0; i < mesh.vertices.length; i += 3, at += STRIDE) {
    const position = placed(item.pose, 0, mesh.vertices.subarray(i, i + 3));
    const normal = turned(item.pose, 0, mesh.normals.subarray(i, i + 3));
    for (let k = 0; k < 3; k++) {
      view.setFloat32(at + 4 * k, position[k], true);
      view.setInt8(at + 12 + k, Math.round(127 * normal[k]));
    }
    for (let k = 0; k < 4; k++) view.setUint8(at + 16 + k, color[k]);
  }
}

// matrices and colours of slots, all at the origin and white
export function new_slots(count) {
  const slots = new Float32Array(16 * count);
  for (let s = 0; s < slots.length; s += 16) {
    slots[s] = slots[s + 5] = slots[s + 10] = 1;
    slots.fill(1, s + 12, s + 16);
  }
  return slots;
}
