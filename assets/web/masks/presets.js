// What a mask is meant to be: a preset with its sizes, what a file says, or what is painted.

import { alertLine, caption, control, el, options } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { padded, preset } from "./requests.js";

/** @typedef {number | string} Size as it was typed where it is no number, for the server to say so */
/** @typedef {{ name: string, sizes?: Record<string, Size>, lengths?: Size[] }} Origin a preset with its sizes */
/** @typedef {Origin | { code: string }} Meant a painted mask by its code */

const [CUSTOM, FILE] = ["custom", "file"];
const PAUSE = 150; // ms without another size before the server is asked

export class Presets {
  /** @type {Run | null} */
  run = null; // without a mask and without padding
  /** @type {MaskPreset[]} */
  presets = [];
  /** @type {HTMLInputElement[]} */
  fields = []; // one a size
  choice = el("select", { id: "viz-mask-preset", onchange: () => this.#choose() });
  sizes = el("span", { class: "viz-mask-sizes" });
  lengths = el("input", {
    ...{ type: "text", class: "viz-typed", id: "viz-mask-lengths", placeholder: "5, 7, 3" },
    oninput: () => this.#make(PAUSE),
  });
  sentence = caption();
  fault = alertLine();
  custom = el("option", { value: CUSTOM, disabled: true }, "painted");
  #asked = new Latest((sentence) => this.fault.replaceChildren(sentence)); // on a fault the mask stays as it was
  #chosen = false; // by a person, in this run

  /** `made` gets each mask with what made it and its run; `asFile` is called for the mask of the file.
   * @param {(mask: Mask, by: Origin, run: Run) => unknown} made @param {() => unknown} asFile */
  constructor(made, asFile) {
    this.made = made;
    this.asFile = asFile;
  }

  /** `file` stands for what a file says. @type {(run: Run, offered: MasksOffered, file: HTMLOptionElement) => void} */
  show(run, { presets }, file) {
    Object.assign(this, { run, presets });
    this.#asked.stop();
    this.#chosen = false;
    this.choice.replaceChildren(...options(presets.map(({ name, label }) => [name, label])), this.custom, file);
    this.#controls();
    this.fault.textContent = "";
  }

  /** What a person said is meant; null where they did not, or meant the file. @returns {Origin | null} */
  get meant() {
    return this.#chosen ? this.#origin() : null;
  }

  // Whether a mask of padding puts real [PAD] beside the text.
  get pads() {
    return this.presets.some(({ pads }) => pads === "end");
  }

  // Ignore pending requests: another mask was set.
  leave() {
    this.#asked.stop();
  }

  /** Show the mask's origin: a preset with its sizes, the file, or manual edits. @type {(by: Origin | null, file: boolean) => void} */
  mark(by, file) {
    const other = by !== null && this.choice.value !== by.name; // the fields are those of another preset
    this.choice.value = by?.name ?? (file ? FILE : CUSTOM);
    this.sizes.hidden = !by;
    if (other) this.#controls(by);
    else if (by && JSON.stringify(by) !== JSON.stringify(this.#origin())) this.#fill(by);
    this.sentence.textContent = by ? this.#preset().sentence : "";
  }

  #preset() {
    return this.presets.find(({ name }) => name === this.choice.value) ?? this.presets[0];
  }

  #choose() {
    this.#chosen = this.choice.value !== FILE;
    if (!this.#chosen) return this.asFile();
    this.#controls();
    this.#make();
  }

  // Fields for the sizes, with their defaults or those of a mask that is there again.
  #controls(/** @type {Origin | null} */ by = null) {
    const { controls: sizes, lengths, sentence } = this.#preset();
    this.fields = sizes.map(({ name, minimum, ...size }) =>
      el("input", {
        ...{ type: "number", class: "viz-mask-number", "data-size": name },
        ...{ min: minimum, max: this.run?.n, step: 1 },
        value: by?.sizes?.[name] ?? size.default,
        oninput: () => this.#make(PAUSE),
      }),
    );
    this.lengths.value = by?.lengths?.join(", ") ?? "";
    this.sizes.replaceChildren(...sizes.map(({ label }, at) => control(label, this.fields[at])));
    if (lengths) this.sizes.append(control("or lengths of your own", this.lengths));
    this.sizes.hidden = false;
    this.sentence.textContent = sentence;
  }

  // The sizes of a mask that is there again, in the fields that have the focus still.
  #fill(/** @type {Origin} */ { sizes = {}, lengths }) {
    for (const field of this.fields) field.value = String(sizes[field.dataset.size ?? ""] ?? field.value);
    this.lengths.value = lengths?.join(", ") ?? "";
  }

  /** @returns {Origin} */
  #origin() {
    const { name, controls, lengths } = this.#preset();
    const typed = lengths ? lengthsOf(this.lengths.value) : [];
    if (typed.length) return { name, lengths: typed };
    return { name, sizes: Object.fromEntries(controls.map((size, at) => [size.name, sizeOf(this.fields[at].value)])) };
  }

  // A request from before a size was typed must not overwrite its result.
  #make(pause = 0) {
    return this.#asked.run(
      async (fresh) => {
        if (!this.run) return;
        const by = this.#origin();
        const run = await fresh(this.#padded(this.run, by));
        const mask = await fresh(preset(run, by));
        this.fault.textContent = "";
        this.made(mask, by, run);
      },
      { pause },
    );
  }

  /** The run that a preset masks: with real [PAD] where it is of padding. @type {(run: Run, by: Origin) => Promise<Run> | Run} */
  #padded(run, { name, sizes = {} }) {
    const { pads = "" } = this.presets.find((each) => each.name === name) ?? {};
    const { padding } = sizes;
    return pads && Number.isInteger(padding) && Number(padding) > 0 ? padded(run, `${pads}:${padding}`) : run;
  }
}

/** @type {(typed: string) => Size} */
export const sizeOf = (typed) => (typed === "" ? typed : Number(typed));

/** Lengths such as "5, 7 3"; what is no whole number stays as it was typed. @type {(typed: string) => Size[]} */
export const lengthsOf = (typed) =>
  typed
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
