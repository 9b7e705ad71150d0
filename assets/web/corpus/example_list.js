// A head's strongest examples: texts with their query and key marked; a click runs one in the other tabs.

import { current } from "../core/app_state.js";
import { button, caption, el } from "../core/dom.js";
import { built, runText, textBox } from "../core/form.js";
import { itemOf } from "../views/head_tables.js";
import { openTab } from "../core/tab_link.js";
import { headName } from "../views/cells.js";
import { oneStop } from "../views/one_stop.js";
import { section } from "../views/headed.js";
import { ShortList } from "../views/short_list.js";
import { examplesOf, markedParts } from "./tables.js";

const FIRST = 5; // examples at first
const RUN = "Run this text on the model above, and look at this pair in the Explore tab";

export class ExampleList {
  heading = el("h3", {});
  list = new ShortList(oneStop(el("ol", { class: "viz-corpus-examples" })), FIRST);
  none = caption();
  once = el("span");
  node = section(
    "viz-corpus-strongest",
    "Strongest examples",
    this.heading,
    caption(
      ...[el("mark", { class: "viz-corpus-query" }, "query"), " gives its weight to "],
      ...[el("mark", { class: "viz-corpus-key" }, "key"), ". ", this.once],
    ),
    this.list.node,
    this.list.rest,
    this.none,
  );

  /** @type {(table: HeadTable, place: HeadPlace) => void} */
  show(table, place) {
    const found = examplesOf(table, place);
    this.heading.textContent = `Where head ${headName(place)} is strongest`;
    this.once.textContent = `One example per ${itemOf(table)}; special tokens are left out.`;
    this.list.show(found.map((one) => lineOf(one, table.names?.[one.item])));
    this.none.textContent = found.length ? "" : "This table has no examples of this head.";
  }
}

/** A picture is told by its file's name, if that is known. @type {(example: HeadExample, name?: string) => HTMLElement} */
function lineOf(example, name) {
  const { score, query_token: query, key_token: key, texts, item } = example;
  const pair = el("bdi", { class: "viz-corpus-pair" }, el("b", {}, query), " → ", el("b", {}, key));
  const marked = texts.map((_, side) => el("p", { class: "viz-corpus-text", dir: "auto" }, ...partsOf(example, side)));
  const run = button("Run", () => runExample(example), {
    title: RUN,
    "aria-label": `Run: ${query} → ${key}, ${texts[0]?.slice(0, 80) ?? ""}`,
  });
  return el(
    "li",
    { "data-item": item },
    el("span", { class: "viz-corpus-score" }, score.toFixed(2)),
    el(
      "div",
      {},
      pair,
      ...(texts.length ? marked : [el("p", { class: "viz-corpus-text" }, name ?? `Item ${item + 1}`)]),
    ),
    ...(texts.length ? [run] : []),
  );
}

/** @type {(example: HeadExample, side: number) => (string | Node)[]} */
const partsOf = (example, side) =>
  markedParts(example, side).map(([text, role]) => {
    if (!role) return text;
    const names = role.split(" ").map((each) => `viz-corpus-${each}`);
    return el("mark", { class: names.join(" ") }, text);
  });

/** Show the text in the other tabs, with this head and this pair chosen. @param {HeadExample} example */
async function runExample({ layer, head, query, key, texts }) {
  const { selection } = current;
  const [first, second] = texts;
  const asked = { kind: second ? "pair" : "text", a: first, b: second ?? "" };
  selection.set({ layer, head });
  selection.hold(asked, { layer, head, query, key });
  selection.leaves = selection.tab;
  await built(() => textBox("a"));
  const kind = /** @type {HTMLInputElement | null} */ (
    document.querySelector(`#viz-kind input[value='${second ? "pair" : "text"}']`)
  );
  if (kind && !kind.checked) kind.click();
  await runText(first, second);
  openTab("explore");
  scrollTo({ top: 0 });
}
