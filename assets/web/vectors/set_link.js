// A set in the link: which example or which typed texts it is of, and the pooling, layer and item chosen in it.

import { current } from "../core/app_state.js";
import { built } from "../core/form.js";

/** @typedef {{ method: string, layer: number, item: number }} Place */

const [SET, PLACE] = ["pool.set", "pool.place"];
const [EXAMPLE, TYPED] = ["example:", "texts:"];
const FIRST = "example:4 topics"; // what is told until another set is asked for
const LONGEST = 1500; // characters of typed texts; an address holds not much more
const BUTTONS = ".viz-set-example";
const lines = () => /** @type {HTMLTextAreaElement | null} */ (document.querySelector("#viz-set-lines textarea"));

/** The place a link names in a set, if the set has it. @type {(noted: string, set: SetDescription) => Place | null} */
export function placeIn(noted, { methods, layers, names }) {
  const [method, layer, item] = noted.split(":");
  const place = { method, layer: Number(layer), item: Number(item) };
  const there = Object.hasOwn(methods, method) && layers.includes(place.layer) && place.item in names;
  return there ? place : null;
}

export class SetLink {
  #asked = ""; // what was pressed last
  #begun = false;
  #linked = current.selection.noted(PLACE); // until the set is there

  constructor(/** @type {AbortSignal} */ signal) {
    const pressed = (/** @type {MouseEvent} */ { target }) => target instanceof Element && this.#pressed(target);
    document.addEventListener("click", pressed, { signal });
  }

  // Press again what the link says was pressed.
  async open() {
    const noted = current.selection.noted(SET);
    if (!noted) return;
    const button = await built(() => buttonOf(noted));
    const box = lines();
    if (noted.startsWith(TYPED) && box) {
      box.value = noted.slice(TYPED.length);
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
    requestAnimationFrame(() => button.click()); // the form takes the texts over with its next update
  }

  // Once it is seen by itself, tell of an example, where nothing was asked for and no texts are there.
  async begin() {
    if (this.#begun || !document.querySelector("#viz-tab-vectors[data-part=set] #viz-set")) return;
    this.#begun = true;
    const button = await built(() => buttonOf(FIRST));
    requestAnimationFrame(() => {
      if (this.#asked || current.selection.noted(SET) || lines()?.value.trim()) return;
      button.click();
      this.#asked = "";
    });
  }

  /** The set is there: the link holds it, and says where in it to begin. @type {(set: SetDescription) => Place | null} */
  came(set) {
    const place = placeIn(this.#linked, set);
    this.#linked = "";
    current.selection.note({ [SET]: this.#asked, [PLACE]: "" });
    return place;
  }

  /** @type {(place: Place, usual: boolean) => void} */
  note({ method, layer, item }, usual) {
    const held = current.selection.noted(SET); // an uploaded set is in no link
    current.selection.note({ [PLACE]: usual || !held ? "" : `${method}:${layer}:${item}` });
  }

  #pressed(/** @type {Element} */ target) {
    const example = target.closest(BUTTONS);
    if (example) this.#asked = EXAMPLE + named(example);
    else if (target.closest("#viz-set-compare")) this.#asked = typed();
    else if (target.closest("#viz-set-files")) this.#asked = ""; // an uploaded set is in no link
  }
}

const named = (/** @type {Element} */ button) => button.textContent.trim();

function typed() {
  const text = lines()?.value.trim() ?? "";
  return text && text.length <= LONGEST ? TYPED + text : "";
}

/** @type {(noted: string) => HTMLElement | null} */
function buttonOf(noted) {
  /** @type {NodeListOf<HTMLElement>} */
  const examples = document.querySelectorAll(BUTTONS);
  if (noted.startsWith(TYPED)) return document.querySelector("#viz-set-compare");
  return [...examples].find((each) => EXAMPLE + named(each) === noted) ?? null;
}
