// A mask as a file of its own, .npy or .csv, as code and uploads read it: bool, true = may attend.

const MAGIC = [0x93, ...Array.from("NUMPY", (letter) => letter.charCodeAt(0)), 1, 0];
const ALIGNED = 64; // bytes that numpy lets a header fill whole times

/** An array "query key" of numpy's bool. @type {(mask: Mask) => Uint8Array<ArrayBuffer>} */
export function npyOf({ n, cells }) {
  const says = `{'descr': '|b1', 'fortran_order': False, 'shape': (${n}, ${n}), }`;
  const before = MAGIC.length + 2; // the header's length, two bytes
  const length = Math.ceil((before + says.length + 1) / ALIGNED) * ALIGNED - before;
  const header = new TextEncoder().encode(`${says.padEnd(length - 1)}\n`);
  const file = new Uint8Array(before + length + cells.length);
  file.set([...MAGIC, length & 255, length >> 8]);
  file.set(header, before);
  file.set(cells, before + length);
  return file;
}

/** A line a query, a cell a key. @type {(mask: Mask) => string} */
export function csvOf({ n, cells }) {
  const words = ["False", "True"];
  const row = (/** @type {number} */ at) => Array.from(cells.subarray(at * n, (at + 1) * n), (may) => words[may]);
  return Array.from({ length: n }, (_, at) => `${row(at).join(",")}\n`).join("");
}
