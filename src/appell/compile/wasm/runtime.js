// A function that appell compiled to WebAssembly: single samples, batches, and rollouts of a step.
//
// The file is a module without imports. Its section `appell` describes arguments and results; its section `simd128`
// holds the same function for several numbers per register, with the same bits. It is used for batches as soon as it is
// compiled, if the engine supports it. Kernels follow NumPy's convention for inner loops: addresses, lengths and
// strides are tables of 64-bit integers.

const ALIGN = 64; // bytes; of arrays in the memory of a module
const PAGE_BYTES = 65536;

// load a function from an URL, a Response, a buffer or a WebAssembly.Module
export async function load_kernel(source) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(await bytes_of(source));
  const [text] = WebAssembly.Module.customSections(module, "appell");
  if (!text) throw new TypeError("The WebAssembly file was not written by appell: it has no section 'appell'.");
  return new Kernel(JSON.parse(new TextDecoder().decode(text)), module);
}

async function bytes_of(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (globalThis.process?.versions?.node && source instanceof URL && source.protocol === "file:") {
    return (await import("node:fs/promises")).readFile(source);
  }
  const response = source instanceof Response ? source : await fetch(source);
  if (!response.ok) throw new Error(`${response.url} cannot be loaded: status ${response.status}.`);
  return response.arrayBuffer();
}

class Kernel {
  constructor(description, module) {
    Object.assign(this, description); // name, title, inputs, outputs, dtype, scan
    this.modules = { scalar: module };
    this.blocks = {};
    this.ready = this.compile_wide(); // resolved when batches run at full speed
    this.numbers = this.dtype === "float32" ? Float32Array : Float64Array;
    this.operands = [...this.inputs, ...this.outputs];
    const block = new Block(new WebAssembly.Instance(module));
    block.clear(this.operands.reduce((sum, { size }) => sum + 8 * size + ALIGN, 8 * this.operands.length), this.title);
    const table = block.reserve(8 * this.operands.length);
    const views = this.operands.map(({ size }) => {
      return new this.numbers(block.memory.buffer, block.reserve(size * this.numbers.BYTES_PER_ELEMENT), size);
    });
    block.write(table, views.map((view) => view.byteOffset));
    const single = block.exports.single;
    this.input = Object.fromEntries(this.inputs.map(({ name }, k) => [name, views[k]]));
    this.output = Object.fromEntries(this.outputs.map(({ name }, k) => [name, views[this.inputs.length + k]]));
    this.run = () => single(table); // computes `output` from `input`
  }

  async compile_wide() {
    const [wide] = WebAssembly.Module.customSections(this.modules.scalar, "simd128");
    if (wide && WebAssembly.validate(wide)) this.modules.wide = await WebAssembly.compile(wide);
  }

  get simd() {
    return this.modules.wide !== undefined;
  }

  // Compute many samples. An argument has `size` numbers, the same for all samples, or `size` numbers per sample.
  batch(given) {
    if (this.scan) throw new TypeError(`${this.title} is a step; call rollout().`);
    this.check_names(given);
    const counts = this.inputs.map((input) => this.multiple(input, given[input.name]));
    const count = Math.max(1, ...counts);
    const wrong = counts.findIndex((each) => each !== 1 && each !== count);
    if (wrong >= 0) {
      throw this.rejected(this.inputs[wrong], given, `${this.inputs[wrong].size} or ${count} times as many`);
    }
    const steps = counts.map((each, k) => (each === 1 ? 0 : this.inputs[k].size));
    return this.call("loop", given, count, [count], this.inputs.map((input, k) => [steps[k], ...strides(input.shape)]),
      this.outputs.map(({ size, shape }) => [size, ...strides(shape)]), 1);
  }

  // Repeat the step. Carried and held arguments have `size` numbers, or `size` per member; driven ones `size` numbers
  // for all steps, `size` per step, or `size` per member and step. Results are stored after every `every`-th step.
  rollout(given, { steps, every = 1, members = 1 }) {
    if (!this.scan) throw new TypeError(`${this.title} is not a step; call batch().`);
    if (![steps, every, steps / every, members].every((count) => Number.isInteger(count) && count > 0)) {
      const what = `${steps} steps for ${members} members, stored every ${every} steps`;
      throw new RangeError(`${this.title}: ${what}: expected positive integers, and a multiple of 'every'.`);
    }
    this.check_names(given);
    const fixed = this.scan.carried + this.scan.held, rows = steps / every;
    const sources = this.inputs.map((input, k) => {
      const { size, shape } = input, count = this.multiple(input, given[input.name]);
      if (k < fixed && (count === 1 || count === members)) return [count === 1 ? 0 : size, ...strides(shape)];
      if (k >= fixed && count === 1) return [0, 0, 0, ...strides(shape)];
      if (k >= fixed && (count === steps || count === members * steps)) {
        return [count === steps ? 0 : steps * size, every * size, size, ...strides(shape)];
      }
      const sizes = k < fixed ? [size, members * size] : [size, steps * size, members * steps * size];
      throw this.rejected(input, given, [...new Set(sizes)].join(" or "));
    });
    const lengths = [members];
    lengths[this.scan.rows] = rows;
    lengths[this.scan.every] = every;
    const targets = this.outputs.map(({ size, shape }) => [rows * size, size, ...strides(shape)]);
    return this.call("scan", given, members, lengths, sources, targets, rows);
  }

  // Run a loop: `sources` and `targets` are the strides of each operand, in numbers, that from sample to sample first.
  call(name, given, count, lengths, sources, targets, rows) {
    const kind = count > 1 && this.simd ? "wide" : "scalar";
    const block = this.blocks[kind] ??= new Block(new WebAssembly.Instance(this.modules[kind]));
    const item = this.numbers.BYTES_PER_ELEMENT, all = [...sources, ...targets];
    const sizes = [...this.inputs.map((input) => given[input.name].length ?? 1),
      ...this.outputs.map(({ size }) => size * count * rows)];
    const bytes = [8 * all.length, 8 * lengths.length, 8 * all.flat().length, ...sizes.map((size) => size * item)];
    block.clear(bytes.reduce((sum, each) => sum + each + ALIGN, 0), this.title);
    const [args, dims, steps, ...arrays] = bytes.map((each) => block.reserve(each));
    block.write(args, arrays);
    block.write(dims, Array.from(lengths, (length) => length ?? 0));
    const ordered = [...all.map((each) => each[0]), ...all.flatMap((each) => each.slice(1))];
    block.write(steps, ordered.map((each) => each * item));
    this.inputs.forEach((input, k) => {
      const value = given[input.name];
      new this.numbers(block.memory.buffer, arrays[k], sizes[k]).set(value.length === undefined ? [value] : value);
    });
    block.exports[name](args, dims, steps, 0);
    return Object.fromEntries(this.outputs.map((output, j) => {
      const k = this.inputs.length + j;
      return [output.name, new this.numbers(block.memory.buffer, arrays[k], sizes[k]).slice()];
    }));
  }

  check_names(given) {
    const known = this.inputs.map(({ name }) => name), list = known.join(", ");
    for (const name of known) {
      if (given?.[name] === undefined) {
        throw new TypeError(`${this.title}: argument '${name}' is missing; it takes ${list}.`);
      }
    }
    const unknown = Object.keys(given).find((name) => !known.includes(name));
    if (unknown) throw new TypeError(`${this.title} has no argument '${unknown}'; it takes ${list}.`);
  }

  // how many times the size of an argument a given array has
  multiple(input, value) {
    const count = (value.length ?? 1) / input.size;
    if (!Number.isInteger(count) || count < 1) {
      throw this.rejected(input, { [input.name]: value }, `a multiple of ${input.size}`);
    }
    return count;
  }

  rejected(input, given, expected) {
    const length = given[input.name].length ?? 1;
    return new RangeError(`${this.title}: argument '${input.name}' has ${length} numbers, expected ${expected}.`);
  }
}

// strides of a packed array, in numbers
function strides(shape) {
  return shape.map((_, axis) => shape.slice(axis + 1).reduce((product, length) => product * length, 1));
}

// the memory of an instance, allocated from `heap` on
class Block {
  constructor(instance) {
    this.exports = instance.exports;
    this.memory = instance.exports.memory;
    this.end = this.exports.heap.value >>> 0;
  }

  // free everything and grow the memory to hold a number of bytes
  clear(bytes, title) {
    this.end = this.exports.heap.value >>> 0;
    const missing = Math.ceil((this.end + bytes - this.memory.buffer.byteLength) / PAGE_BYTES);
    try {
      if (missing > 0) this.memory.grow(missing);
    } catch {
      throw new RangeError(`${title}: ${bytes} bytes of memory cannot be allocated; split the batch.`);
    }
  }

  reserve(bytes) {
    const start = this.end;
    this.end = Math.ceil((start + bytes) / ALIGN) * ALIGN;
    return start;
  }

  // write 64-bit integers
  write(at, values) {
    new BigInt64Array(this.memory.buffer, at, values.length).set(values.map(BigInt));
  }
}
