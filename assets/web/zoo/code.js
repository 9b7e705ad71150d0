// Lines of code: the wrong one and the corrected one with their difference marked, each to copy.

import { button, el } from "../core/dom.js";
import { copyText } from "../views/copy.js";
import { section } from "../views/headed.js";

/** @typedef {{ text: string, changed: boolean }} Piece of a line */

export class Lines {
  body = el("div", { class: "viz-zoo-lines" });
  node = section("viz-zoo-box", "The line", "The line", this.body);

  show(/** @type {Specimen} */ { wrong, right }) {
    const [before, after] = difference(wrong, right);
    this.body.replaceChildren(codeLine("Wrong", "−", before), codeLine("Corrected", "+", after));
  }
}

/** @type {(name: string, sign: string, pieces: Piece[]) => HTMLElement} */
function codeLine(name, sign, pieces) {
  const marked = pieces.map(({ text, changed }) => (changed ? el("mark", {}, text) : text));
  return el(
    "div",
    { class: `viz-zoo-line viz-zoo-${name.toLowerCase()}` },
    el("span", { class: "viz-zoo-line-name" }, `${sign} ${name}`),
    codeToCopy(`the ${name.toLowerCase()} line`, ...marked),
  );
}

/** @type {(what: string, ...pieces: (string | Node)[]) => HTMLElement} */
export function codeToCopy(what, ...pieces) {
  const said = el("span", { class: "viz-caption", role: "status" });
  const code = el("code", {}, ...pieces);
  const copy = button("Copy", () => copyText(code, said), { "aria-label": `Copy: ${what}` });
  const box = el("pre", { class: "viz-zoo-code", tabindex: "0", "aria-label": `Code: ${what}` }, code);
  return el("div", { class: "viz-zoo-code-row" }, box, copy, said);
}

/** Both texts in pieces, `changed` where they are not in the longest common run of words.
 * @type {(one: string, other: string) => [Piece[], Piece[]]} */
export function difference(one, other) {
  const [a, b] = [one, other].map((text) => text.match(/\w+|\s+|[^\w\s]/g) ?? []);
  const longest = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  /** @type {[Piece[], Piece[]]} */
  const [before, after] = [[], []];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const same = i < a.length && a[i] === b[j];
    const dropped = same || j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1]);
    if (dropped) extend(before, a[i++], !same);
    if (same || !dropped) extend(after, b[j++], !same);
  }
  return [before, after];
}

/** @type {(pieces: Piece[], text: string, changed: boolean) => void} */
function extend(pieces, text, changed) {
  const last = pieces.at(-1);
  if (last?.changed === changed) last.text += text;
  else pieces.push({ text, changed });
}
