// One-click What if: remove the chosen head, cut the pair, or hide, mask, delete or replace its
// key.

import { cutting, deleting, hiding, masking, removing, replacing } from "../core/change_codes.js";
import { changedRun, codesOf } from "../core/changed_run.js";
import { button, el, painted } from "../core/dom.js";
import { sentenceOf } from "../core/latest.js";
import { headsOf } from "../core/selection_address.js";
import { quoted } from "../core/token_names.js";
import { View } from "../core/view.js";
import { popover } from "../views/popover.js";
import { shownName } from "./pair_links.js";

/** @typedef {HTMLButtonElement & { codes: () => string[] }} Choice and the codes of what it does */

const FUSED = "Choose one head, or several by their numbers, to remove them.";
const PATCH = "Only the words of a text can be masked, deleted or replaced.";
const MASK = /^[▁Ġ ]*(\[mask\]|<mask>)$/i; // a word of the text, though the tokenizer calls it special
const MASKED_WORD = "It is already masked.";
const OTHERS = "Mask, delete or replace the word";
const DONE = "Done; click to undo";

export class CutHere extends View {
  #missing = ""; // why nothing can be changed
  #due = false;
  remove = this.#toggle(() => removing(this.selection.layer, headsOf(this.selection.head)), "remove");
  cut = this.#toggle(() => cutting({ ...this.selection, ...this.#units() }), "cut");
  hide = this.#toggle(() => hiding(this.#units().keys), "hide");
  mask = this.#toggle(() => masking(this.#units().keys), "mask");
  delete = this.#toggle(() => deleting(this.#units().keys[0]), "delete");
  word = el("input", {
    ...{ type: "text", class: "viz-cut-word", enterkeyhint: "go" },
    onkeydown: (event) => this.#key(event),
  });
  more = button("▾", () => {}, { class: "viz-small viz-cut-open", "aria-label": OTHERS, title: OTHERS });
  others = popover(this.more, this.mask, this.delete, this.word);
  told = el("span", { class: "viz-caption viz-cut-told", role: "status" });
  node = el(
    "div",
    { class: "viz-cut", role: "group", "aria-label": "What if" },
    el("span", { class: "viz-caption" }, "What if:"),
    ...[this.remove, this.cut, el("span", { class: "viz-cut-pair" }, this.hide, this.more)],
    ...[this.told, this.others],
  );
  #tell = (/** @type {string} */ sentence) => {
    this.told.textContent = this.told.title = sentence;
  };

  constructor(/** @type {PageSelection} */ selection) {
    super(selection);
    selection.on(() => this.#soon(), this.signal);
  }

  // A new run; whether it can be run again is asked by ask(), once the maps are there.
  show(/** @type {Run} */ run) {
    [this.run, this.#missing] = [run, ""];
    this.#tell("");
    this.#draw();
  }

  async ask(/** @type {Run} */ run) {
    const said = await run.json("whatif/offered").catch((fault) => ({ fixed: sentenceOf(fault) }));
    if (this.run !== run) return;
    this.#missing = /** @type {WhatIfOffered} */ (said).fixed;
    this.#draw();
    if (this.#missing) this.#tell(this.#missing);
    this.painted(run.key);
  }

  // Update after the click is painted, once per burst of choices.
  #soon() {
    if (this.#due || !this.run) return;
    this.#due = true;
    painted().then(() => {
      this.#due = false;
      this.#draw();
    });
  }

  #draw() {
    const run = this.run;
    if (!run) return;
    const { layer, head, query, key } = this.selection;
    const [from, to] = [query, key].map((token) => shownName(run, this.selection, token));
    const { heads, where } = headWords(layer, head);
    const why = this.#missing;
    const masked = MASK.test(to);
    const added = run.special[key] && !masked;
    const word = why || (run.grid && PATCH) || (added && `${quoted(to)} is not a word of the text.`) || "";
    this.#label(this.remove, ["remove ", heads], why || (headsOf(head).length ? "" : FUSED));
    this.#label(this.cut, ["cut ", from, " → ", to, where], why);
    this.#label(this.hide, ["hide ", to, " from all"], why);
    this.#label(this.mask, ["mask ", to], word || (masked && !codesOf(run).length ? MASKED_WORD : ""));
    this.#label(this.delete, ["delete ", to], word);
    this.more.disabled = Boolean(word);
    this.more.title = word || OTHERS;
    this.word.placeholder = `Replace ${to} with …`;
    this.word.title = `Enter runs the text with another word for ${quoted(to)}, and compares the two`;
    this.word.setAttribute("aria-label", `Replace ${to} with`);
  }

  // Only what is another is written: the words of a long text would be styled anew for each new node.
  /** @type {(node: Choice, words: string[], why: string) => void} */
  #label(node, words, why) {
    const made = Boolean(!why && this.run && changedRun.has(this.run, node.codes()));
    if (node.childElementCount !== words.length) node.replaceChildren(...words.map(part));
    for (const [at, word] of words.entries()) {
      const text = /** @type {Text} */ (node.children[at].firstChild);
      if (text.data !== word) text.data = word;
    }
    if (node.disabled !== Boolean(why)) node.disabled = Boolean(why);
    if (node.ariaPressed !== String(made)) node.ariaPressed = String(made);
    node.title = why || (made ? DONE : words.join(""));
  }

  /** @type {(codes: () => string[], name: string) => Choice} */
  #toggle(codes, name) {
    const node = button("", () => this.#change(codes()), { class: "viz-small viz-pressed", "data-cut": name });
    return Object.assign(node, { codes });
  }

  #change(/** @type {string[]} */ codes) {
    if (this.others.matches(":popover-open")) this.others.hidePopover();
    return changedRun.toggle(codes, this.#tell);
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const word = this.word.value.trim();
    if (event.key !== "Enter" || event.isComposing || !word) return;
    event.stopPropagation(); // Ctrl + Enter runs the form
    event.preventDefault(); // else the key presses the button, too, to which the focus goes back
    this.word.value = "";
    this.#change(replacing(this.#units().keys[0], word));
  }

  // The tokens of the chosen pair; all of a word, where sub-words are merged.
  #units() {
    const { query, key, words } = this.selection;
    const units = this.run?.shown({ hide: false, words });
    const of = (/** @type {number} */ token) => units?.[units.places[token]]?.tokens ?? [token];
    return { queries: of(query), keys: of(key) };
  }
}

// Tokens stand between other words, each isolated where it is read from right to left.
const part = (/** @type {string} */ word, /** @type {number} */ at) => el(at % 2 ? "bdi" : "span", {}, word);

/** The heads in words, and where a pair is cut: in one head, or in all of the layer.
 * @type {(layer: number, head: Head) => { heads: string, where: string }} */
function headWords(layer, head) {
  const heads = headsOf(head).map((one) => `${layer}.${one}`);
  const where = typeof head === "number" ? `${layer}.${head}` : `layer ${layer}`;
  return { heads: heads.length > 1 ? `heads ${heads.join(", ")}` : `head ${heads[0] ?? ""}`, where: ` in ${where}` };
}
