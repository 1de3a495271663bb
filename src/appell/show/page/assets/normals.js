// Normals of a mesh at each corner. A smooth mesh is shaded across edges, except across edges that are sharper than the
// crease angle or where its vertices are duplicated, so that the ends of a cylinder stay flat. Only the front faces of
// a closed mesh are drawn; if all its faces point inwards, they are reversed.

const MAX_OPEN_EDGES = 0.12; // share of edges with only one face in a mesh that counts as closed
const MAX_NET_AREA = 0.05; // length of the sum of area vectors of a closed mesh, relative to its area
const CREASE_COSINE = Math.cos(48 * Math.PI / 180); // of the angle between faces above which an edge is sharp

// for every vertex the index of the first vertex at the same position
function welded(vertices) {
  const first = new Map(), representative = new Uint32Array(vertices.length / 3);
  for (let i = 0; i < representative.length; i++) {
    const key = `${vertices[3 * i]},${vertices[3 * i + 1]},${vertices[3 * i + 2]}`;
    if (!first.has(key)) first.set(key, i);
    representative[i] = first.get(key);
  }
  return representative;
}

function face_normals(vertices, faces) {
  const normals = new Float32Array(faces.length); // with a length of twice the area
  for (let f = 0; f < faces.length; f += 3) {
    const a = 3 * faces[f], b = 3 * faces[f + 1], c = 3 * faces[f + 2];
    const x = vertices[a], y = vertices[a + 1], z = vertices[a + 2];
    const ux = vertices[b] - x, uy = vertices[b + 1] - y, uz = vertices[b + 2] - z;
    const vx = vertices[c] - x, vy = vertices[c + 1] - y, vz = vertices[c + 2] - z;
    normals[f] = uy * vz - uz * vy;
    normals[f + 1] = uz * vx - ux * vz;
    normals[f + 2] = ux * vy - uy * vx;
  }
  return normals;
}

// the face corners at each vertex: those of vertex i are list[start[i]] to list[start[i + 1] - 1]
function corners_about(faces, count) {
  const start = new Uint32Array(count + 1), list = new Uint32Array(faces.length);
  for (let c = 0; c < faces.length; c++) start[faces[c] + 1]++;
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const next = start.slice();
  for (let c = 0; c < faces.length; c++) list[next[faces[c]]++] = c;
  return { start, list };
}

// whether a mesh is the surface of a solid, except for small holes: few edges are open, and the area vectors of its
// faces cancel, unlike those of a sheet; and which vertices are ends of open edges
function openings(vertex, faces, flat) {
  const sum = [0, 0, 0];
  let area = 0;
  for (let f = 0; f < faces.length; f += 3) {
    for (let k = 0; k < 3; k++) sum[k] += flat[f + k];
    area += Math.hypot(flat[f], flat[f + 1], flat[f + 2]);
  }
  const edges = new Set(), count = vertex.length, on_rim = new Uint8Array(count);
  const for_each_edge = (visit) => {
    for (let c = 0; c < faces.length; c++) visit(vertex[faces[c]], vertex[faces[c % 3 === 2 ? c - 2 : c + 1]]);
  };
  for_each_edge((a, b) => edges.add(a * count + b));
  let open = 0;
  for_each_edge((a, b) => {
    if (edges.has(b * count + a)) return;
    open++;
    on_rim[a] = on_rim[b] = 1;
  });
  const closed = Math.hypot(...sum) <= MAX_NET_AREA * area && open <= MAX_OPEN_EDGES * faces.length;
  return { closed, on_rim: on_rim.map((_, i) => on_rim[vertex[i]]) };
}

function volume(vertices, faces) {
  let sum = 0;
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
    sum += vertices[a] * (vertices[b + 1] * vertices[c + 2] - vertices[b + 2] * vertices[c + 1])
      + vertices[a + 1] * (vertices[b + 2] * vertices[c] - vertices[b] * vertices[c + 2])
      + vertices[a + 2] * (vertices[b] * vertices[c + 1] - vertices[b + 1] * vertices[c]);
  }
  return sum;
}

function reversed(faces) {
  return faces.map((_, c) => faces[c + [0, 1, -1][c % 3]]);
}

// vertices and faces for drawing, with one normal per vertex: {vertices, normals, on_rim, faces, closed}; vertices of
// flat faces have the normal 0, for which the shader computes the normal of the face
export function shaded(mesh) {
  const { vertices } = mesh, vertex = welded(vertices);
  const { closed, on_rim } = openings(vertex, mesh.faces, face_normals(vertices, mesh.faces));
  const inward = closed && volume(vertices, mesh.faces) < 0;
  const faces = inward ? reversed(mesh.faces) : mesh.faces;
  if (!mesh.smooth) return { vertices, normals: new Float32Array(vertices.length), on_rim, faces, closed };
  const flat = face_normals(vertices, faces);
  const lengths = new Float32Array(faces.length / 3);
  for (let f = 0; f < lengths.length; f++) lengths[f] = Math.hypot(flat[3 * f], flat[3 * f + 1], flat[3 * f + 2]);
  const { start, list } = corners_about(faces, vertices.length / 3);
  const positions = [], normals = [], rim = [], corners = new Uint32Array(faces.length);
  const made = new Map(); // the drawn vertices of a vertex, with normals, as [x, y, z, index, ...]
  for (let c = 0; c < faces.length; c++) {
    const i = faces[c], f = c - c % 3, length_f = lengths[f / 3] || 1;
    let x = 0, y = 0, z = 0;
    for (let k = start[i]; k < start[i + 1]; k++) {
      const g = list[k] - list[k] % 3;
      const along = flat[f] * flat[g] + flat[f + 1] * flat[g + 1] + flat[f + 2] * flat[g + 2];
      if (along >= CREASE_COSINE * length_f * lengths[g / 3]) { x += flat[g]; y += flat[g + 1]; z += flat[g + 2]; }
    }
    const length = Math.sqrt(x * x + y * y + z * z) || 1;
    x /= length; y /= length; z /= length;
    let here = made.get(i);
    if (!here) made.set(i, here = []);
    let number = -1;
    for (let k = 0; k < here.length; k += 4) {
      if (here[k] * x + here[k + 1] * y + here[k + 2] * z > 0.9995) { number = here[k + 3]; break; }
    }
    if (number < 0) {
      number = normals.length / 3;
      here.push(x, y, z, number);
      positions.push(vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2]);
      normals.push(x, y, z);
      rim.push(on_rim[i]);
    }
    corners[c] = number;
  }
  return {
    vertices: Float32Array.from(positions), normals: Float32Array.from(normals), on_rim: rim, faces: corners, closed,
  };
}
