/**
 * The binary answer of the dashboard: a JSON header and the arrays behind it, which are read where they lie.
 *
 * Little-endian uint32 length of the header, the header, zeros or spaces to a multiple of 8, then the arrays. An array
 * stands in the header as {"$": [kind, shape, offset]}; the offset counts from the end of the padded header.
 */

const KINDS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, i4: Int32Array };

function array(buffer, base, [kind, shape, offset]) {
  const Kind = KINDS[kind];
  const count = shape.reduce((product, length) => product * length, 1);
  const size = count * (Kind?.BYTES_PER_ELEMENT ?? NaN);
  if (!(offset >= 0 && base + offset + size <= buffer.byteLength)) {
    throw new Error(`the answer is damaged: an array of kind ${kind} and shape ${shape} does not fit in it`);
  }
  const found = new Kind(buffer, base + offset, count);
  Object.defineProperty(found, "shape", { value: shape });
  return found;
}

function filled(value, buffer, base) {
  if (Array.isArray(value)) return value.map((item) => filled(item, buffer, base));
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value.$) && Object.keys(value).length === 1) return array(buffer, base, value.$);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, buffer, base)]));
}

/**
 * Return what an answer holds. Arrays are flat typed arrays, without a copy; `shape` says how they are to be read.
 *
 * @param {ArrayBuffer} buffer the whole answer
 * @returns {object}
 */
export function decode(buffer) {
  const length = buffer.byteLength < 4 ? Infinity : new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength) throw new Error("the answer is damaged: it ends within its header");
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return filled(header, buffer, Math.ceil((4 + length) / 8) * 8);
}
