// Meshes of solids that the page adds to a scene: rods of unit length, tips of arrows, balls and rings.

const SIDES = 20;

function mesh(vertices, faces) {
  return { vertices: Float32Array.from(vertices), faces: Uint32Array.from(faces), smooth: true };
}

// solid of revolution about z: profile [radius, height, ...] from the lowest to the highest point, both on the axis
function revolved(profile, sides = SIDES) {
  const vertices = [], faces = [], rows = profile.length / 2;
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < sides; k++) {
      const angle = 2 * Math.PI * k / sides;
      vertices.push(profile[2 * row] * Math.cos(angle), profile[2 * row] * Math.sin(angle), profile[2 * row + 1]);
    }
  }
  for (let row = 0; row + 1 < rows; row++) {
    for (let k = 0; k < sides; k++) {
      const a = row * sides + k, b = row * sides + (k + 1) % sides;
      if (profile[2 * row] > 0) faces.push(a, b, b + sides);
      if (profile[2 * row + 2] > 0) faces.push(a, b + sides, a + sides);
    }
  }
  return mesh(vertices, faces);
}

export const rod = () => revolved([0, 0, 1, 0, 1, 1, 0, 1]);
export const tip = () => revolved([0, 0, 1, 0, 0, 1]);

export function ball(rows = 10) {
  const profile = [];
  for (let row = 0; row <= rows; row++) {
    const angle = Math.PI * row / rows;
    profile.push(row === 0 || row === rows ? 0 : Math.sin(angle), -Math.cos(angle));
  }
  return revolved(profile);
}

// torus about the z axis with radius 1 and a given thickness
export function ring(thickness, segments = 56, sides = 8) {
  const vertices = [], faces = [];
  for (let i = 0; i < segments; i++) {
    const around = 2 * Math.PI * i / segments;
    for (let k = 0; k < sides; k++) {
      const angle = 2 * Math.PI * k / sides, radius = 1 + thickness * Math.cos(angle);
      vertices.push(radius * Math.cos(around), radius * Math.sin(around), thickness * Math.sin(angle));
      const next = (i + 1) % segments * sides, l = (k + 1) % sides;
      faces.push(i * sides + k, next + k, next + l, i * sides + k, next + l, i * sides + l);
    }
  }
  return mesh(vertices, faces);
}
