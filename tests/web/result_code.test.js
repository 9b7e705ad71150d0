// The result code in the browser: the same as in Python, whose codes stand here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeResult, encodeResult } from "../../assets/web/learn/result_code.js";

// tests/lesson/test_result_code.py holds these against viz_encoder.lesson.result_code.
const KNOWN = [
  { code: "2000-0000-002F", seat: 0, right: [] },
  {
    code: "2130-0001-01PA",
    seat: 17,
    right: [
      [1, 1],
      [4, 2],
      [12, 3],
    ],
  },
  { code: "3YFZ-ZZZZ-ZZH2", seat: 999, right: everyPlace() },
];

/** @returns {[number, number][]} */
function everyPlace() {
  return Array.from({ length: 36 }, (_, at) => [Math.floor(at / 3) + 1, (at % 3) + 1]);
}

test("a result has the code that Python gives it, and is read back", () => {
  for (const { code, ...result } of KNOWN) {
    assert.equal(encodeResult(/** @type {any} */ (result)), code);
    assert.deepEqual(decodeResult(code), { ...result, lesson: 1 });
  }
});

test("small letters, spaces and letters that look like digits do not matter", () => {
  const { code, ...result } = KNOWN[1];
  const sloppy = ` ${code.toLowerCase().replaceAll("-", " ").replaceAll("0", "o").replaceAll("1", "l")} `;
  assert.deepEqual(decodeResult(sloppy), { ...result, lesson: 1 });
});

test("a wrong character, two that changed places and other texts are no code", () => {
  const { code } = KNOWN[1];
  for (let at = 0; at < code.length; at++) {
    if (code[at] === "-") continue;
    for (const other of "0123456789ABCDEFGHJKMNPQRSTVWXYZ") {
      if (other === code[at]) continue;
      assert.equal(decodeResult(code.slice(0, at) + other + code.slice(at + 1)), null);
    }
  }
  for (const text of ["", "KEYS", `${code}0`, code.slice(1), "UUUU-UUUU-UUUU"]) assert.equal(decodeResult(text), null);
});

test("a seat or an exercise that is not there is refused", () => {
  for (const [seat, right] of [
    [1000, []],
    [-1, []],
    [1.5, []],
    [3, [[13, 1]]],
    [3, [[1, 4]]],
    [3, [[0, 1]]],
  ]) {
    assert.throws(() => encodeResult(/** @type {any} */ ({ seat, right })), RangeError);
  }
});
