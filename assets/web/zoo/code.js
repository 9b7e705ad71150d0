// Lines of code: the wrong one and the corrected one with their difference marked, each to copy.

import { el } from "../core/dom.js";

export class Lines {
  constructor() {
    this.body = el("div", { class: "viz-zoo-lines" });
    this.node = el("section", { class: "viz-zoo-box", "aria-label": "The line" }, el("h3", {}, "The line"), this.body);
  }

  show({ wrong, right }) {
    const [before, after] = difference(wrong, right);
    this.body.replaceChildren(this.#line("Wrong", "−", wrong, before), this.#line("Corrected", "+", right, after));
  }

  #line(name, sign, text, parts) {
    const pieces = parts.map(({ text: part, changed }) => (changed ? el("mark", {}, part) : part));
    return el(
      "div",
      { class: `viz-zoo-line viz-zoo-${name.toLowerCase()}` },
      el("span", { class: "viz-zoo-line-name" }, `${sign} ${name}`),
      new CodeLine(`the ${name.toLowerCase()} line`, text, pieces).node,
    );
  }
}

export class CodeLine {
  constructor(what, text, pieces = [text]) {
    this.text = text;
    this.code = el(
      "pre",
      { class: "viz-zoo-code", tabindex: "0", "aria-label": `Code: ${what}` },
      el("code", {}, ...pieces),
    );
    this.said = el("span", { class: "viz-caption", role: "status" });
    this.node = el(
      "div",
      { class: "viz-zoo-code-row" },
      this.code,
      el(
        "button",
        { type: "button", class: "viz-small", "aria-label": `Copy: ${what}`, onclick: () => this.#copy() },
        "Copy",
      ),
      this.said,
    );
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.text);
      this.said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(this.code);
      this.said.textContent = "Selected; press Ctrl+C.";
    }
  }
}

// Both texts in pieces, `changed` where they are not in the longest common run of words.
export function difference(one, other) {
  const [a, b] = [one, other].map((text) => text.match(/\w+|\s+|[^\w\s]/g) ?? []);
  const longest = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const [before, after] = [[], []];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const same = i < a.length && a[i] === b[j];
    const dropped = same || j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1]);
    if (dropped) before.push({ text: a[i++], changed: !same });
    if (same || !dropped) after.push({ text: b[j++], changed: !same });
  }
  return [before, after].map(joined);
}

function joined(pieces) {
  const found = [];
  for (const { text, changed } of pieces) {
    if (found.at(-1)?.changed === changed) found.at(-1).text += text;
    else found.push({ text, changed });
  }
  return found;
}
