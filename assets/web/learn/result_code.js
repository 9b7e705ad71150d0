// A result as a short code to hand in: which exercises were right on which seat, and no name.
// viz_encoder/lesson/result_code.py says how it is made, and reads it.

/** @typedef {{ seat: number, right: [step: number, level: number][], lesson: number }} Result */

export const LESSON = 1;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const [N_STEPS, N_LEVELS, LAST_SEAT, PRIME] = [12, 3, 999, 1021];
const [N_PAYLOAD, N_CHECK] = [10, 2];
const SEATS = 2 ** 10;
const RESULTS = 2 ** (N_STEPS * N_LEVELS);

/** @type {(result: { seat: number, right: [number, number][], lesson?: number }) => string} */
export function encodeResult({ seat, right, lesson = LESSON }) {
  if (!(within(lesson, 1, 15) && within(seat, 0, LAST_SEAT))) throw new RangeError(`There is no seat ${seat}.`);
  const bits = new Set(right.map(([step, level]) => bitOf(step, level)));
  let payload = (lesson * SEATS + seat) * RESULTS; // below 2^50, so that a double holds it
  for (const bit of bits) payload += 2 ** bit;
  const digits = digitsOf(payload, N_PAYLOAD) + digitsOf(payload % PRIME, N_CHECK);
  return digits.replace(/(.{4})(?=.)/g, "$1-");
}

/** Whether a text is the number of a seat. @type {(text: string) => boolean} */
export const isSeat = (text) => /^[1-9]\d*$/.test(text) && Number(text) <= LAST_SEAT;

/** Decode a code; null if it is invalid or mistyped. @type {(code: string) => Result | null} */
export function decodeResult(code) {
  const plain = code.toUpperCase().replace(/[\s-]/g, "").replaceAll("O", "0").replace(/[IL]/g, "1");
  if (plain.length !== N_PAYLOAD + N_CHECK || [...plain].some((digit) => !ALPHABET.includes(digit))) return null;
  const payload = numberOf(plain.slice(0, N_PAYLOAD));
  const head = Math.floor(payload / RESULTS);
  const [lesson, seat] = [Math.floor(head / SEATS), head % SEATS];
  if (payload % PRIME !== numberOf(plain.slice(N_PAYLOAD)) || !lesson || seat > LAST_SEAT) return null;
  /** @type {[number, number][]} */
  const right = [];
  for (let bit = 0; bit < N_STEPS * N_LEVELS; bit++) {
    const [step, level] = [Math.floor(bit / N_LEVELS) + 1, (bit % N_LEVELS) + 1];
    if (Math.floor(payload / 2 ** bit) % 2) right.push([step, level]);
  }
  return { seat, right, lesson };
}

function bitOf(/** @type {number} */ step, /** @type {number} */ level) {
  if (!(within(step, 1, N_STEPS) && within(level, 1, N_LEVELS))) {
    throw new RangeError(`There is no exercise ${step}.${level}.`);
  }
  return (step - 1) * N_LEVELS + level - 1;
}

function within(/** @type {number} */ value, /** @type {number} */ least, /** @type {number} */ most) {
  return Number.isInteger(value) && value >= least && value <= most;
}

function digitsOf(/** @type {number} */ value, /** @type {number} */ count) {
  let digits = "";
  for (let at = 0; at < count; at++, value = Math.floor(value / 32)) digits = ALPHABET[value % 32] + digits;
  return digits;
}

function numberOf(/** @type {string} */ digits) {
  return [...digits].reduce((value, digit) => 32 * value + ALPHABET.indexOf(digit), 0);
}
