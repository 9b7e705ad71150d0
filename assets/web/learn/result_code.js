// A result as a short code to hand in: which exercises were tried and right on which seat, and no name.
// viz_encoder/lesson/result_code.py says how it is made, and reads it.

/** @typedef {{ seat: number, right: string[], wrong: string[] }} Result exercises by step and level, such as "4.1" */

const LESSON = 2n;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const [N_STEPS, USUAL, LAST_SEAT, PRIME] = [12, 3, 240, 1021n];
const MORE = /** @type {Record<number, number>} */ ({ 4: 4, 9: 5 });
const [N_PAYLOAD, N_CHECK] = [16, 2];
const [WRONG, RIGHT] = [1n, 2n];

/** All exercises in order. */
export const PLACES = Array.from({ length: N_STEPS }, (_, at) =>
  Array.from({ length: MORE[at + 1] ?? USUAL }, (_, level) => `${at + 1}.${level + 1}`),
).flat();

/** @type {(result: Result) => string} */
export function encodeResult({ seat, right, wrong }) {
  if (seat && !isSeat(String(seat))) throw new RangeError(`There is no seat ${seat}.`);
  const unknown = [...right, ...wrong].find((place) => !PLACES.includes(place));
  if (unknown) throw new RangeError(`There is no exercise ${unknown}.`);
  let payload = (LESSON * 1024n + BigInt(seat)) * 3n ** BigInt(PLACES.length);
  for (const [at, place] of PLACES.entries()) {
    payload += (right.includes(place) ? RIGHT : wrong.includes(place) ? WRONG : 0n) * 3n ** BigInt(at);
  }
  const digits = digitsOf(payload, N_PAYLOAD) + digitsOf(payload % PRIME, N_CHECK);
  return digits.replace(/(.{6})(?=.)/g, "$1-");
}

/** Whether a text is the number of a seat. @type {(text: string) => boolean} */
export const isSeat = (text) => /^[1-9]\d*$/.test(text) && Number(text) <= LAST_SEAT;

function digitsOf(/** @type {bigint} */ value, /** @type {number} */ count) {
  let [left, digits] = [value, ""];
  for (let at = 0; at < count; at++, left /= 32n) digits = ALPHABET[Number(left % 32n)] + digits;
  return digits;
}
