// The shaders. Light comes from the sky, from the ground, and from one lamp over the viewer's shoulder. Colours are
// blended in linear light, approximated by squares. The normal of a flat face follows from derivatives of the position.

export const SOLID_VERTEX = `#version 300 es
precision highp float;
uniform vec4 slot[4]; // three rows of a matrix, and a colour
uniform mat4 view_projection;
uniform vec4 tint;
uniform float opacity;
in vec3 position;
in vec3 normal;
in vec4 color;
out vec3 world_normal;
out vec3 world_position;
out vec4 linear_color;
void main() {
  vec4 p = vec4(position, 1.0);
  world_position = vec3(dot(slot[0], p), dot(slot[1], p), dot(slot[2], p));
  vec3 x = slot[0].xyz, y = slot[1].xyz, z = slot[2].xyz; // rows of the normal matrix are their cross products
  world_normal = vec3(dot(cross(y, z), normal), dot(cross(z, x), normal), dot(cross(x, y), normal));
  vec4 c = color * slot[3];
  c.rgb = mix(c.rgb, tint.rgb, tint.a);
  linear_color = vec4(c.rgb * c.rgb, c.a * opacity);
  gl_Position = view_projection * vec4(world_position, 1.0);
}`;

export const SOLID_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 back; // towards the viewer at the centre of the picture; a good approximation elsewhere
uniform vec3 lamp;
uniform vec3 half_way; // between lamp and viewer
uniform vec3 up;
uniform vec3 sky;
uniform vec3 ground;
uniform float lamplight;
in vec3 world_normal;
in vec3 world_position;
in vec4 linear_color;
out vec4 output_color;
void main() {
  vec3 face = cross(dFdx(world_position), dFdy(world_position));
  vec3 front_normal = gl_FrontFacing ? world_normal : -world_normal;
  vec3 n = normalize(dot(world_normal, world_normal) > 0.0 ? front_normal : face);
  float lit = max(dot(n, lamp), 0.0);
  float shine = max(dot(n, half_way), 0.0);
  shine *= shine; shine *= shine; shine *= shine; shine *= shine; shine *= shine;
  float edge = 1.0 - abs(dot(n, back));
  vec3 light = mix(ground, sky, 0.5 + 0.5 * dot(n, up)) + lamplight * lit;
  vec3 c = linear_color.rgb * light + 0.10 * shine + 0.10 * edge * edge * edge * sky;
  output_color = vec4(sqrt(c), linear_color.a);
}`;

export const GRID_VERTEX = `#version 300 es
precision highp float;
uniform mat4 view_projection;
uniform vec3 middle;
uniform vec3 right;
uniform vec3 ahead;
uniform float reach;
uniform vec2 shift;
in vec2 corner;
out vec2 from_middle;
out vec2 along;
void main() {
  from_middle = corner;
  along = shift + reach * corner;
  gl_Position = view_projection * vec4(middle + reach * (corner.x * right + corner.y * ahead), 1.0);
}`;

export const GRID_FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 ink;
uniform float spacing;
uniform float dark;
uniform int taps; // samples of the shadow around the point
uniform sampler2D shadow;
uniform vec4 shadow_transform;
in vec2 from_middle;
in vec2 along;
out vec4 output_color;
float line(vec2 x, vec2 pixels) { // pixels from one line to the next
  vec2 thin = clamp(1.2 - abs(fract(x - 0.5) - 0.5) * pixels, 0.0, 1.0) * clamp(0.7 * pixels - 1.0, 0.0, 1.0);
  return max(thin.x, thin.y);
}
void main() {
  float r = dot(from_middle, from_middle);
  if (r >= 1.0) discard;
  vec2 x = along / spacing, pixels = 1.0 / max(fwidth(x), vec2(1e-6));
  float a = max(0.42 * line(x, pixels), line(0.2 * x, 5.0 * pixels)) * ink.a * (1.0 - r) * (1.0 - r);
  vec4 c = vec4(ink.rgb, a);
  vec2 s = (along - shadow_transform.xy) * shadow_transform.z + 0.5, out_by = abs(s - 0.5);
  if (dark > 0.0 && max(out_by.x, out_by.y) < 0.5) {
    float covered = 0.0;
    vec2 aside = taps > 1 ? vec2(shadow_transform.w, 0.0) : vec2(0.0);
    for (int i = 0; i < taps; i++) {
      covered += textureLod(shadow, s + (i % 2 == 0 ? 1.0 : 0.45) * aside, 0.0).r;
      aside = mat2(0.7071, 0.7071, -0.7071, 0.7071) * aside; // an eighth of a turn
    }
    float b = dark * covered / float(taps) * (1.0 - r);
    c = vec4(mix(c.rgb * c.a, vec3(0.0), b), a + b - a * b);
    c.rgb /= max(c.a, 1e-4);
  }
  output_color = c;
}`;

export const SHADOW_FRAGMENT = `#version 300 es
precision mediump float;
out vec4 covered;
void main() { covered = vec4(1.0); }`;
