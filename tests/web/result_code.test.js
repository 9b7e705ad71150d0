// The result code in the browser: the same as in Python, whose codes stand here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeResult, PLACES } from "../../assets/web/learn/result_code.js";

// tests/lesson/test_seats.py holds the same against viz_encoder.lesson.result_code.
const KNOWN = [
  { code: "070YS2-W5RBZW-0P00DN", seat: 0, right: [], wrong: [] },
  { code: "072WW8-6DM17V-707Z5F", seat: 17, right: ["1.1", "4.4", "12.3"], wrong: ["2.1", "9.5"] },
  { code: "07VDX0-BGW291-HPJTS2", seat: 240, right: PLACES, wrong: [] },
];

test("a result has the code that Python gives it", () => {
  for (const { code, ...result } of KNOWN) assert.equal(encodeResult(result), code);
});

test("a seat or an exercise that is not there is refused", () => {
  for (const [seat, right] of [
    [241, []],
    [-1, []],
    [1.5, []],
    [3, ["13.1"]],
    [3, ["1.4"]],
    [3, ["0.1"]],
  ]) {
    assert.throws(() => encodeResult(/** @type {any} */ ({ seat, right, wrong: [] })), RangeError);
  }
});
