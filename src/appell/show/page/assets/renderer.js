// Draws things on a canvas with WebGL 2: solid ones, the floor, ghosts over them, clear ones last, handles and arrows
// on top of all. A thing is {batch, slots, used, hidden, shown, tint, opacity}; slots from `used` on are not drawn.

import { STRIDE } from "./batch.js";
import { GRID_FRAGMENT, GRID_VERTEX, SHADOW_FRAGMENT, SOLID_FRAGMENT, SOLID_VERTEX } from "./shaders.js";

const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i;
const SHADOW_SIZE = 512;
const LATER = 6; // pictures for which a shadow does on a slow machine
const PLACES = { place: 0, normal: 1, color: 2, corner: 0 };

export class Renderer {
  constructor(canvas) {
    const wanted = { alpha: false, antialias: false, depth: true, stencil: false, powerPreference: "high-performance" };
    this.gl = canvas.getContext("webgl2", wanted);
    if (!this.gl) throw new Error("no WebGL 2");
    this.canvas = canvas;
    const gl = this.gl, name = gl.getExtension("WEBGL_debug_renderer_info");
    this.software = name !== null && SOFTWARE.test(gl.getParameter(name.UNMASKED_RENDERER_WEBGL));
    this.solid = this.program(SOLID_VERTEX, SOLID_FRAGMENT);
    this.cover = this.program(SOLID_VERTEX, SHADOW_FRAGMENT);
    this.grid = this.program(GRID_VERTEX, GRID_FRAGMENT);
    this.age = 0; // of the shadow, in pictures
    this.coarse = false; // whether to draw fewer triangles, where a thing has lists `coarse` and `coarsest` of them
    this.known = new Map(); // what has been sent to the graphics processor, by thing
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
    for (const [name, place] of Object.entries(PLACES)) gl.bindAttribLocation(made, place, name);
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
    gl.enableVertexAttribArray(PLACES.corner);
    gl.vertexAttribPointer(PLACES.corner, 2, gl.FLOAT, false, 0, 0);
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

  // the buffers of a thing, made when it is first drawn: its vertices, and lists of faces of them
  sent(thing, list) {
    const gl = this.gl;
    let found = this.known.get(thing);
    if (!found) {
      found = { vertices: gl.createBuffer(), lists: new Map() };
      gl.bindBuffer(gl.ARRAY_BUFFER, found.vertices);
      gl.bufferData(gl.ARRAY_BUFFER, thing.batch.vertices, gl.STATIC_DRAW);
      this.known.set(thing, found);
    }
    if (!found.lists.has(list)) {
      const vao = gl.createVertexArray(), faces = gl.createBuffer();
      gl.bindVertexArray(vao);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, faces);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, list.faces, gl.STATIC_DRAW);
      gl.bindBuffer(gl.ARRAY_BUFFER, found.vertices);
      for (const place of [PLACES.place, PLACES.normal, PLACES.color]) gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(PLACES.place, 3, gl.FLOAT, false, STRIDE, 0);
      gl.vertexAttribPointer(PLACES.normal, 3, gl.BYTE, true, STRIDE, 12);
      gl.vertexAttribPointer(PLACES.color, 4, gl.UNSIGNED_BYTE, true, STRIDE, 16);
      gl.bindVertexArray(null);
      found.lists.set(list, { vao, faces });
    }
    return found.lists.get(list).vao;
  }

  forget(thing) {
    const gl = this.gl, found = this.known.get(thing);
    if (!found) return;
    this.known.delete(thing);
    gl.deleteBuffer(found.vertices);
    for (const { vao, faces } of found.lists.values()) {
      gl.deleteVertexArray(vao);
      gl.deleteBuffer(faces);
    }
  }

  // the triangles of a thing that are clear, or that are not; of closed meshes those towards the viewer
  ranges(thing, clear, at, list = (this.coarse && thing.coarse) || thing.batch) {
    const gl = this.gl;
    gl.bindVertexArray(this.sent(thing, list));
    for (const range of list.ranges) {
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
    this.ranges(thing, clear, at);
  }

  // one frame: `things` in the scene, `top` over everything, `look` of the camera, the floor and the theme
  draw(things, top, look) {
    const gl = this.gl, shown = things.filter((thing) => thing.shown);
    this.coarse = look.coarse;
    if (look.dark > 0 && (!look.coarse || this.age++ % LATER === 0)) this.draw_shadow(shown, look);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...look.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.solid.made);
    this.light(this.solid.at, look);
    for (const thing of shown) if (thing.opacity === 1) this.paint(thing, false);
    gl.enable(gl.BLEND);
    if (look.grid) this.draw_floor(look);
    gl.useProgram(this.solid.made);
    for (const thing of shown) if (thing.opacity < 1) this.paint_ghost(thing);
    gl.depthMask(false);
    for (const thing of shown) this.paint(thing, true);
    gl.depthMask(true);
    if (top.some((thing) => thing.shown)) gl.clear(gl.DEPTH_BUFFER_BIT);
    for (const thing of top) if (thing.shown) this.paint_ghost(thing);
    gl.disable(gl.BLEND);
  }

  // only its nearest surface, so that what is inside does not shine through
  paint_ghost(thing) {
    const gl = this.gl;
    gl.enable(gl.POLYGON_OFFSET_FILL); // behind what it coincides with
    gl.polygonOffset(thing.behind ?? 0, 4 * (thing.behind ?? 0));
    gl.colorMask(false, false, false, false);
    this.paint(thing, false);
    gl.colorMask(true, true, true, true);
    gl.depthFunc(gl.LEQUAL);
    this.paint(thing, false);
    gl.depthFunc(gl.LESS);
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  light(at, look) {
    const gl = this.gl;
    gl.uniformMatrix4fv(at.seen, false, look.seen);
    for (const name of ["back", "lamp", "half_way", "up", "sky", "ground"]) gl.uniform3fv(at[name], look[name]);
    gl.uniform1f(at.lamplight, look.lamplight);
  }

  draw_floor(look) {
    const gl = this.gl, at = this.grid.at;
    gl.useProgram(this.grid.made);
    gl.uniformMatrix4fv(at.seen, false, look.seen);
    gl.uniform3fv(at.middle, look.floor.middle);
    gl.uniform3fv(at.right, look.floor.right);
    gl.uniform3fv(at.ahead, look.floor.ahead);
    gl.uniform2fv(at.shift, look.floor.shift);
    gl.uniform1f(at.reach, look.floor.reach);
    gl.uniform1f(at.spacing, look.floor.spacing);
    gl.uniform4fv(at.ink, look.ink);
    gl.uniform1f(at.dark, look.dark);
    gl.uniform1i(at.taps, look.coarse ? 1 : 8);
    gl.uniform4fv(at.shadow_place, look.shadow_place);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    gl.depthMask(false);
    gl.bindVertexArray(this.floor);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
  }

  // the floor seen from above: 1 where something stands over it
  draw_shadow(shown, look) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadow_frame);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.cover.made);
    gl.uniformMatrix4fv(this.cover.at.seen, false, look.from_above);
    gl.disable(gl.DEPTH_TEST);
    const list = (thing) => (this.coarse && thing.coarsest) || thing.batch;
    for (const thing of shown) if (thing.casts) this.ranges(thing, false, this.cover.at, list(thing));
    gl.enable(gl.DEPTH_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
}
