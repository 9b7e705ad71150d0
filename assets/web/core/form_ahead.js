// Over all tabs, while the form asks for another run than the one that is shown: whose results these are.

import { current } from "./app_state.js";
import { steadily } from "./changed_banner.js";
import { el, painted } from "./dom.js";
import { textBox } from "./form.js";
import { quoted } from "./token_names.js";

const EVENTS = ["input", "change", "pointerup", "keyup", "focusout"]; // by which a form takes another choice
const LONGEST = 40; // characters of a text
const HELD = 2000; // characters of texts that a link always holds; of longer ones it may hold the run's key alone

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
