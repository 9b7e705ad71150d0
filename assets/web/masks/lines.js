// Lines of code: the wrong one and the corrected one with their difference marked, each to copy.

import { button, el } from "../core/dom.js";
import { commonSubsequence } from "../core/token_alignment.js";
import { copyText } from "../views/save_row.js";
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
  /** @type {[Piece[], Piece[]]} */
  const [before, after] = [[], []];
  let [i, j] = [0, 0];
  for (const [at, to] of [...commonSubsequence(a, b), [a.length, b.length]]) {
    while (i < at) extend(before, a[i++], true);
    while (j < to) extend(after, b[j++], true);
    if (i < a.length) extend(before, a[i++], false);
    if (j < b.length) extend(after, b[j++], false);
  }
  return [before, after];
}

/** @type {(pieces: Piece[], text: string, changed: boolean) => void} */
function extend(pieces, text, changed) {
  const last = pieces.at(-1);
  if (last?.changed === changed) last.text += text;
  else pieces.push({ text, changed });
}
