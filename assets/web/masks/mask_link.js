// A painted mask in the link: a preset with its sizes, or its bits, packed; and back again.

import { Mask } from "./mask_bits.js";
import { preset } from "./requests.js";

/** @import { Size } from "./presets.js" */

export const MOST_CHARACTERS = 3000;
const BITS = "z."; // before the bits, through zlib, as base64 for addresses

/** A preset as a short text: "window:reach=2", "documents:5.7.3" or its name alone. @type {(by: Origin) => string} */
export function originCode({ name, sizes = {}, lengths }) {
  if (lengths) return `${name}:${lengths.join(".")}`;
  const given = Object.entries(sizes).map(([size, value]) => `${size}=${value}`);
  return given.length ? `${name}:${given.join(",")}` : name;
}

/** The preset that such a text names. @type {(code: string) => Origin} */
export function originFrom(code) {
  const [name, rest = ""] = code.split(":");
  const numbers = (/** @type {string[]} */ typed) => typed.map(Number);
  if (rest && !rest.includes("=")) return { name, lengths: numbers(rest.split(".")) };
  const sizes = rest.split(",").filter(Boolean);
  return { name, sizes: Object.fromEntries(sizes.map((size) => [size.split("=")[0], Number(size.split("=")[1])])) };
}

/** A mask as a short text; "" where it would be too long. @type {(mask: Mask, by: Origin | null) => Promise<string>} */
export async function codeOf(mask, by) {
  if (by) return originCode(by);
  const packed = await through(new CompressionStream("deflate"), mask.pack());
  if (packed.length > MOST_CHARACTERS) return "";
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  const code = BITS + letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return code.length <= MOST_CHARACTERS ? code : "";
}

/** The mask of a text, with what made it; an Error says why there is none. `presets` are those that there are.
 * @type {(code: string, run: Run, presets: string[]) => Promise<{ mask: Mask, by: Origin | null }>} */
export async function maskFrom(code, run, presets) {
  if (!code.startsWith(BITS)) {
    const by = originFrom(code);
    const numbers = [...Object.values(by.sizes ?? {}), ...(by.lengths ?? [])];
    if (!presets.includes(by.name) || !numbers.every(Number.isInteger))
      throw new Error(`“${code.slice(0, 40)}” is not a preset; the presets are ${presets.join(", ")}`);
    return { mask: await preset(run, by), by };
  }
  const bits = await unpacked(code.slice(BITS.length)).catch(() => null); // the browser's own message is not useful
  if (!bits) throw new Error("it is damaged; copy the whole link again");
  if (bits.length !== Math.ceil(run.n ** 2 / 8)) throw new Error("it was made for another number of tokens");
  return { mask: Mask.unpack(run.n, bits), by: null };
}

// The bytes of a text that was packed.
async function unpacked(/** @type {string} */ text) {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  return through(new DecompressionStream("deflate"), packed);
}

/** @type {(stream: CompressionStream | DecompressionStream, bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>>} */
async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}
