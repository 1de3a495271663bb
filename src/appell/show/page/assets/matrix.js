// Vectors, rotations and matrices. A pose is x y z qx qy qz qw; a 4x4 matrix is stored by columns, as WebGL requires.
// Functions that run in every frame write into a given array and allocate none.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const size = (a) => Math.hypot(a[0], a[1], a[2]);

export function unit(a, otherwise = [0, 0, 1]) {
  const length = size(a);
  return length > 0 ? scaled(a, 1 / length) : otherwise;
}

// a unit vector perpendicular to another
export function across(a) {
  const axis = Math.abs(a[0]) < 0.9 * size(a) ? [1, 0, 0] : [0, 1, 0];
  return unit(minus(axis, scaled(a, dot(axis, a) / dot(a, a))));
}

// a vector rotated by the quaternion that starts at pose[o + 3]
export function turned(pose, o, v) {
  const x = pose[o + 3], y = pose[o + 4], z = pose[o + 5], w = pose[o + 6];
  const tx = 2 * (y * v[2] - z * v[1]), ty = 2 * (z * v[0] - x * v[2]), tz = 2 * (x * v[1] - y * v[0]);
  return [v[0] + w * tx + y * tz - z * ty, v[1] + w * ty + z * tx - x * tz, v[2] + w * tz + x * ty - y * tx];
}

// a point of a body with this pose, in the world
export function placed(pose, o, point) {
  const v = turned(pose, o, point);
  return [v[0] + pose[o], v[1] + pose[o + 1], v[2] + pose[o + 2]];
}

// a vector of the world, in the axes of the pose
export function turned_back(pose, o, v) {
  return turned([0, 0, 0, -pose[o + 3], -pose[o + 4], -pose[o + 5], pose[o + 6]], 0, v);
}

export function product(a, b) {
  return [
    a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
    a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
    a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
    a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
  ];
}

// the product of two poses
export function composed(outer, inner) {
  const quaternion = product([outer[3], outer[4], outer[5], outer[6]], [inner[3], inner[4], inner[5], inner[6]]);
  return [...placed(outer, 0, inner), ...quaternion];
}

// interpolate between two poses: linearly, and along the shorter rotation
export function between(out, o, a, i, b, j, part) {
  for (let k = 0; k < 3; k++) out[o + k] = a[i + k] + part * (b[j + k] - a[i + k]);
  let cosine = 0;
  for (let k = 3; k < 7; k++) cosine += a[i + k] * b[j + k];
  const sign = cosine < 0 ? -1 : 1;
  cosine = Math.min(Math.abs(cosine), 1);
  let from = 1 - part, to = part;
  if (cosine < 0.9995) { // otherwise linear interpolation is accurate enough
    const angle = Math.acos(cosine), sine = Math.sin(angle);
    from = Math.sin(from * angle) / sine;
    to = Math.sin(to * angle) / sine;
  }
  let square = 0;
  for (let k = 3; k < 7; k++) {
    const value = from * a[i + k] + sign * to * b[j + k];
    out[o + k] = value;
    square += value * value;
  }
  const length = Math.sqrt(square) || 1;
  for (let k = 3; k < 7; k++) out[o + k] /= length;
}

// write the first three rows of the matrix of a pose into a slot, which has four rows
export function write_pose(slots, slot, pose, o) {
  const x = pose[o + 3], y = pose[o + 4], z = pose[o + 5], w = pose[o + 6], s = 16 * slot;
  slots[s] = 1 - 2 * (y * y + z * z); slots[s + 1] = 2 * (x * y - z * w); slots[s + 2] = 2 * (x * z + y * w);
  slots[s + 4] = 2 * (x * y + z * w); slots[s + 5] = 1 - 2 * (x * x + z * z); slots[s + 6] = 2 * (y * z - x * w);
  slots[s + 8] = 2 * (x * z - y * w); slots[s + 9] = 2 * (y * z + x * w); slots[s + 10] = 1 - 2 * (x * x + y * y);
  slots[s + 3] = pose[o]; slots[s + 7] = pose[o + 1]; slots[s + 11] = pose[o + 2];
}

// write the matrix that maps a unit rod along z to a rod between two points
export function write_rod(slots, slot, ax, ay, az, bx, by, bz, radius) {
  const dx = bx - ax, dy = by - ay, dz = bz - az, s = 16 * slot;
  const length = Math.sqrt(dx * dx + dy * dy + dz * dz) || 1e-9;
  let ux = 0, uy = 0, uz = 0; // perpendicular to the rod and to the axis that is least parallel to it
  if (Math.abs(dx) <= Math.abs(dy) && Math.abs(dx) <= Math.abs(dz)) { uy = -dz; uz = dy; }
  else if (Math.abs(dy) <= Math.abs(dz)) { ux = dz; uz = -dx; }
  else { ux = -dy; uy = dx; }
  const scale = radius / (Math.sqrt(ux * ux + uy * uy + uz * uz) || 1);
  ux *= scale; uy *= scale; uz *= scale;
  const vx = (dy * uz - dz * uy) / length, vy = (dz * ux - dx * uz) / length, vz = (dx * uy - dy * ux) / length;
  slots[s] = ux; slots[s + 1] = vx; slots[s + 2] = dx; slots[s + 3] = ax;
  slots[s + 4] = uy; slots[s + 5] = vy; slots[s + 6] = dy; slots[s + 7] = ay;
  slots[s + 8] = uz; slots[s + 9] = vz; slots[s + 10] = dz; slots[s + 11] = az;
}

export function multiply(out, a, b) {
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + r] * b[4 * c + k];
      out[4 * c + r] = sum;
    }
  }
}
