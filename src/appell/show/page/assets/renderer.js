// Draws things on a canvas with WebGL 2: opaque ones, the floor, ghosts, transparent ones, and gizmo and arrows on top.
// A thing is {batch, slots, used, hidden, shown, tint, opacity}; slots from `used` on are not drawn.

import { STRIDE } from "./batch.js";
import { GRID_FRAGMENT, GRID_VERTEX, SHADOW_FRAGMENT, SOLID_FRAGMENT, SOLID_VERTEX } from "./shaders.js";

const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i;
const SHADOW_SIZE = 512; // pixels of the shadow texture
const SHADOW_INTERVAL = 6; // frames between updates of the shadow on a slow machine
const ATTRIBUTES = { position: 0, normal: 1, color: 2, corner: 0 };

export class Renderer {
  constructor(canvas) {
    const options = { alpha: false, antialias: false, depth: true, stencil: false };
    this.gl = canvas.getContext("webgl2", { ...options, powerPreference: "high-performance" });
    if (!this.gl) throw new Error("WebGL 2 is not available");
    this.canvas = canvas;
    const gl = this.gl, name = gl.getExtension("WEBGL_debug_renderer_info");
    this.software = name !== null && SOFTWARE.test(gl.getParameter(name.UNMASKED_RENDERER_WEBGL));
    this.solid = this.program(SOLID_VERTEX, SOLID_FRAGMENT);
    this.cover = this.program(SOLID_VERTEX, SHADOW_FRAGMENT);
    this.grid = this.program(GRID_VERTEX, GRID_FRAGMENT);
    this.age = 0; // of the shadow, in frames
    this.coarse = false; // whether to draw the batch `coarse` of a thing, if it has one
    this.buffers = new Map(); // buffers on the graphics processor, by thing
    this.make_floor();
    gl.enable(gl.DEPTH_TEST);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    for (const [name, index] of Object.entries(ATTRIBUTES)) gl.bindAttribLocation(made, index, name);
    gl.linkProgram(made);
    const linked = gl.getProgramParameter(made, gl.LINK_STATUS) || gl.isContextLost();
    if (!linked) throw new Error(gl.getProgramInfoLog(made));
    const at = {};
    for (let k = 0; k < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); k++) {
      const { name } = gl.getActiveUniform(made, k);
      at[name.replace("[0]", "")] = gl.getUniformLocation(made, name);
    }
    return { made, at };
  }

  make_floor() {
    const gl = this.gl;
    this.floor = gl.createVertexArray();
    gl.bindVertexArray(this.floor);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, Float32Array.of(-1, -1, 1, -1, -1, 1, 1, 1), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(ATTRIBUTES.corner);
    gl.vertexAttribPointer(ATTRIBUTES.corner, 2, gl.FLOAT, false, 0, 0);
    this.shadow = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R8, SHADOW_SIZE, SHADOW_SIZE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    this.shadow_frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadow_frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.shadow, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  // the vertex array of a batch of a thing; buffers are created when they are first drawn
  vertex_array(thing, made) {
    const gl = this.gl;
    if (!this.buffers.has(thing)) this.buffers.set(thing, new Map());
    const batches = this.buffers.get(thing);
    if (!batches.has(made)) {
      const vao = gl.createVertexArray(), vertices = gl.createBuffer(), faces = gl.createBuffer();
      gl.bindVertexArray(vao);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, faces);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, made.faces, gl.STATIC_DRAW);
      gl.bindBuffer(gl.ARRAY_BUFFER, vertices);
      gl.bufferData(gl.ARRAY_BUFFER, made.vertices, gl.STATIC_DRAW);
      const { position, normal, color } = ATTRIBUTES;
      for (const index of [position, normal, color]) gl.enableVertexAttribArray(index);
      gl.vertexAttribPointer(position, 3, gl.FLOAT, false, STRIDE, 0);
      gl.vertexAttribPointer(normal, 3, gl.BYTE, true, STRIDE, 12);
      gl.vertexAttribPointer(color, 4, gl.UNSIGNED_BYTE, true, STRIDE, 16);
      gl.bindVertexArray(null);
      batches.set(made, { vao, vertices, faces });
    }
    return batches.get(made).vao;
  }

  // delete the buffers of a thing
  forget(thing) {
    const gl = this.gl;
    for (const { vao, vertices, faces } of this.buffers.get(thing)?.values() ?? []) {
      gl.deleteVertexArray(vao);
      gl.deleteBuffer(vertices);
      gl.deleteBuffer(faces);
    }
    this.buffers.delete(thing);
  }

  // draw the transparent or the opaque triangles of a thing; only front faces of closed meshes
  draw_ranges(thing, clear, at) {
    const gl = this.gl, made = (this.coarse && thing.coarse) || thing.batch;
    gl.bindVertexArray(this.vertex_array(thing, made));
    for (const range of made.ranges) {
      if (range.clear !== clear || range.slot >= thing.used || thing.hidden.has(range.layer)) continue;
      if (range.closed || clear) gl.enable(gl.CULL_FACE); else gl.disable(gl.CULL_FACE);
      gl.uniform4fv(at.slot, thing.slots, 16 * range.slot, 16);
      gl.drawElements(gl.TRIANGLES, range.count, gl.UNSIGNED_INT, 4 * range.first);
    }
    gl.disable(gl.CULL_FACE);
  }

  paint(thing, clear) {
    const gl = this.gl, at = this.solid.at;
    gl.uniform4fv(at.tint, thing.tint);
    gl.uniform1f(at.opacity, thing.opacity);
    this.draw_ranges(thing, clear, at);
  }

  // draw one frame: `things` of the scene, `top` over everything; `settings` has camera, floor and theme
  draw(things, top, settings) {
    const gl = this.gl, shown = things.filter((thing) => thing.shown);
    this.coarse = settings.coarse;
    const is_due = !settings.coarse || this.age++ % SHADOW_INTERVAL === 0;
    if (settings.dark > 0 && is_due) this.draw_shadow(shown, settings);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...settings.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.solid.made);
    this.set_light(this.solid.at, settings);
    for (const thing of shown) if (thing.opacity === 1) this.paint(thing, false);
    gl.enable(gl.BLEND);
    if (settings.grid) this.draw_floor(settings);
    gl.useProgram(this.solid.made);
    for (const thing of shown) if (thing.opacity < 1) this.paint_ghost(thing);
    gl.depthMask(false);
    for (const thing of shown) this.paint(thing, true);
    gl.depthMask(true);
    if (top.some((thing) => thing.shown)) gl.clear(gl.DEPTH_BUFFER_BIT);
    for (const thing of top) if (thing.shown) this.paint_ghost(thing);
    gl.disable(gl.BLEND);
  }

  // draw only the nearest surface of a thing, so that its inner parts are not visible through it
  paint_ghost(thing) {
    const gl = this.gl;
    gl.enable(gl.POLYGON_OFFSET_FILL); // behind surfaces that coincide with it
    gl.polygonOffset(thing.behind ?? 0, 4 * (thing.behind ?? 0));
    gl.colorMask(false, false, false, false);
    this.paint(thing, false);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.LEQUAL);
    this.paint(thing, false);
    gl.depthFunc(gl.LESS);
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  set_light(at, settings) {
    const gl = this.gl;
    gl.uniformMatrix4fv(at.view_projection, false, settings.view_projection);
    for (const name of ["back", "lamp", "half_way", "up", "sky", "ground"]) gl.uniform3fv(at[name], settings[name]);
    gl.uniform1f(at.lamplight, settings.lamplight);
  }

  draw_floor(settings) {
    const gl = this.gl, at = this.grid.at;
    gl.useProgram(this.grid.made);
    gl.uniformMatrix4fv(at.view_projection, false, settings.view_projection);
    gl.uniform3fv(at.middle, settings.floor.middle);
    gl.uniform3fv(at.right, settings.floor.right);
    gl.uniform3fv(at.ahead, settings.floor.ahead);
    gl.uniform2fv(at.shift, settings.floor.shift);
    gl.uniform1f(at.reach, settings.floor.reach);
    gl.uniform1f(at.spacing, settings.floor.spacing);
    gl.uniform4fv(at.ink, settings.ink);
    gl.uniform1f(at.dark, settings.dark);
    gl.uniform1i(at.taps, settings.coarse ? 1 : 8);
    gl.uniform4fv(at.shadow_transform, settings.shadow_transform);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    gl.depthMask(false);
    gl.bindVertexArray(this.floor);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
  }

  // draw the shadow texture, the floor seen from above: 1 where something is over it
  draw_shadow(shown, settings) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadow_frame);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.cover.made);
    gl.uniformMatrix4fv(this.cover.at.view_projection, false, settings.from_above);
    gl.disable(gl.DEPTH_TEST);
    for (const thing of shown) if (thing.casts) this.draw_ranges(thing, false, this.cover.at);
    gl.enable(gl.DEPTH_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
}
