// What the form holds that did not run: over all tabs it is said whose results are shown, and a reload leaves it.

import { current } from "./app_state.js";
import { steadily } from "./changed_banner.js";
import { el, painted } from "./dom.js";
import { built, fill, textBox } from "./form.js";
import { quoted } from "./token_names.js";

const EVENTS = ["input", "change", "pointerup", "keyup", "focusout"]; // by which a form takes another choice
const LONGEST = 40; // characters of a text
const HELD = 2000; // characters of texts that a link always holds; of longer ones it may hold the run's key alone

/** @import { BoxName } from "./form.js" */
/** @typedef {Partial<Record<BoxName, string>>} Typed */
/** @typedef {Record<string, string>} Parts of a link: the kind, the texts and the model */

/** Whose results are shown, where the form asks for others; "" where it asks for these.
 * @type {(asked: Parts, link: Parts) => string} */
export function aheadOf(asked, { kind, a, b, model, run, from }) {
  if (!kind) return "";
  const ran = /** @type {Parts} */ ({ kind, a, b, model });
  const long = run && !a && kind !== "image"; // its text is not known here
  const held = `${asked.a}${asked.b ?? ""}`.length < HELD;
  const differs = (/** @type {string} */ name) =>
    long && name in { a, b } ? held : asked[name].trim() !== (ran[name] ?? "").trim();
  const other = Object.keys(asked).filter((name) => asked[name].trim() && differs(name));
  if (!other.length) return "";
  const text = a && a.length > LONGEST ? `${a.slice(0, LONGEST)}…` : a;
  const of = text ? quoted(text) : from ? `a saved run of ${model}` : long ? "a longer text" : "the picture";
  return `These results are of ${other.every((name) => name === "model") ? model : of}; press Run for new ones.`;
}

/** What the form asks for; of a picture its model alone is known here. @returns {Parts} */
function asked() {
  const read = (/** @type {string} */ of) =>
    /** @type {HTMLInputElement | null} */ (document.querySelector(of))?.value ?? "";
  const kind = read("#viz-kind input:checked");
  if (kind === "image") return { kind, model: read("#viz-picture-model input") };
  const texts = { a: textBox("a")?.value ?? "", ...(kind === "pair" && { b: textBox("b")?.value ?? "" }) };
  return { kind, ...texts, model: read("#viz-model input") };
}

export function followForm(/** @type {HTMLElement} */ root) {
  const node = el("section", { class: "viz-unrun", role: "status", hidden: true });
  root.append(node);
  const say = () => {
    const said = current.run ? aheadOf(asked(), current.run.link) : "";
    if (said === node.textContent) return;
    steadily(() => {
      node.textContent = node.title = said;
      node.hidden = !said;
    });
  };
  const form = document.getElementById("viz-inputs");
  for (const event of EVENTS) form?.addEventListener(event, () => painted().then(say));
  form?.addEventListener("keydown", (event) => event.key === "Tab" && event.stopPropagation(), true); // else Gradio's lists reopen
  current.on((run) => (node.hidden && !run?.link.from) || painted().then(say)); // no form asks for a saved run
}

const KEPT = "viz-typed"; // in the window's own memory, which a reload leaves and a new window lacks
const NAMES = /** @type {const} */ (["a", "b"]);

/** Texts to restore into the form: typed, but not what ran.
 * @type {(kept: string | null, link: Record<string, string>) => [BoxName, string][]} */
export function unrun(kept, link) {
  /** @type {Typed} */
  const typed = kept ? JSON.parse(kept) : {};
  return NAMES.flatMap((name) => {
    const text = typed[name];
    return text !== undefined && text !== (link[name] ?? "") ? [[name, text]] : [];
  });
}

// Watch the form, also one that is still being built; after a reload, fill it as it was: the page reloads by itself where a
// run was asked for and the server had gone, and the form would hold the text of the run before, and Run would run that.
export function keepTyped() {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  let waits = entry?.type === "reload"; // for the first run, with which the form is filled
  document.addEventListener("input", ({ target }) => {
    if (!NAMES.some((name) => target === textBox(name))) return;
    const typed = Object.fromEntries(NAMES.map((name) => [name, textBox(name)?.value ?? ""]));
    sessionStorage.setItem(KEPT, JSON.stringify(typed));
  });
  current.on((run) => {
    if (!run) return;
    const typed = unrun(sessionStorage.getItem(KEPT), run.link);
    if (!typed.length) sessionStorage.removeItem(KEPT);
    if (waits) for (const [name, text] of typed) built(() => textBox(name)).then(() => fill(name, text));
    waits = false;
  });
}
