// A model's own safetensors file, as the page holds it, read as tensors of numbers.

/** @typedef {{ shape: number[], values: Float32Array | Float64Array }} Tensor row by row */
/** @typedef {{ dtype: string, shape: number[], data_offsets: [number, number] }} Place */

const LENGTH = 8; // bytes that say how long the header is

/** @type {(base64: string) => Uint8Array<ArrayBuffer>} */
export const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** The tensors by their names. @type {(file: Uint8Array) => Map<string, Tensor>} */
export function readTensors(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = LENGTH + Number(view.getBigUint64(0, true));
  const { __metadata__: _, ...places } = JSON.parse(new TextDecoder().decode(file.subarray(LENGTH, start)));
  const tensor = (/** @type {Place} */ { dtype, shape, data_offsets: [from, to] }) => {
    const read = READERS[dtype];
    if (!read) throw new Error(`Weights of type ${dtype} cannot be read here.`);
    const count = (to - from) / read.bytes;
    return { shape, values: Float32Array.from({ length: count }, (_, at) => read.at(view, start + from, at)) };
  };
  return new Map(Object.entries(places).map(([name, place]) => [name, tensor(place)]));
}

/** @type {Record<string, { bytes: number, at: (view: DataView, start: number, place: number) => number }>} */
const READERS = {
  F16: { bytes: 2, at: (view, start, place) => half(view.getUint16(start + 2 * place, true)) },
  F32: { bytes: 4, at: (view, start, place) => view.getFloat32(start + 4 * place, true) },
};

/** A number of 16 bits (IEEE 754): 1 for the sign, 5 for the exponent, 10 for the fraction.
 * @type {(bits: number) => number} */
export function half(bits) {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
}
