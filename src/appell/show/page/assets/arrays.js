// Decoding of arrays: base64 of zlib of bytes, all first bytes first (see appell/show/page/page_text.py).

const KINDS = {
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array,
};

async function inflated(text) {
  const compressed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// the numbers of an array, row by row
export async function unpacked(array) {
  const planes = await inflated(array.data);
  const width = KINDS[array.type].BYTES_PER_ELEMENT, count = planes.length / width;
  const bytes = new Uint8Array(planes.length);
  for (let k = 0; k < width; k++) {
    for (let i = 0, at = k, from = k * count; i < count; i++, at += width) bytes[at] = planes[from + i];
  }
  const values = new KINDS[array.type](bytes.buffer);
  if (!array.scale) return values;
  const { offset, scale } = array;
  return Float32Array.from(values, (value, i) => offset[i % 3] + scale[i % 3] * value);
}
