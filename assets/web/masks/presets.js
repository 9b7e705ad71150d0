// Source of a mask: a preset with its sizes, or a file in a named convention.

import { caption, control, controls, count, el, options } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { padded, preset, uploaded } from "./requests.js";

/** @import { MaskPreset, MasksOffered } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { Mask } from "./mask_bits.js" */
/** @typedef {number | string} Size as it was typed where it is no number, for the server to say so */
/** @typedef {{ name: string, sizes?: Record<string, Size>, lengths?: Size[] }} Origin a preset with its sizes */

const PAUSE = 150; // ms without another size before the server is asked

export class Presets {
  /** @type {Run | null} */
  run = null; // without a mask and without padding
  /** @type {Run | null} */
  shown = null; // whose mask is there, with padding where it has some
  /** @type {MaskPreset[]} */
  presets = [];
  most = 0; // bytes of a file
  /** @type {HTMLInputElement[]} */
  fields = []; // one a size
  choice = el("select", { id: "viz-mask-preset", onchange: () => this.#choose() });
  sizes = el("span", { class: "viz-mask-sizes" });
  lengths = el("input", {
    type: "text",
    class: "viz-typed",
    id: "viz-mask-lengths",
    placeholder: "5, 7, 3",
    oninput: () => this.#make(PAUSE),
  });
  sentence = caption();
  fault = el("p", { class: "viz-alert", role: "alert", hidden: true });
  file = el("input", { type: "file", id: "viz-mask-file", accept: ".npy,.csv", onchange: () => this.#upload() });
  upload = control("Or a file (.npy, .csv), read by the convention below", this.file);
  /** @type {File | null} */
  batch = null; // the file whose samples can be chosen
  /** @type {HTMLSelectElement} */
  sample = el("select", { id: "viz-mask-sample", onchange: () => this.#reread() });
  samples = control("Sample of the batch", this.sample);
  bar = controls(control("Preset", this.choice), this.sizes);
  node = el("div", {}, this.bar, this.sentence, controls(this.upload, this.samples), this.fault);
  #asked = new Latest((sentence) => this.#say(sentence)); // on a fault the mask stays as it was

  /** `made` gets each mask with what made it and its run; `convention` is the one that is chosen.
   * @param {(mask: Mask, by: Origin | null, run: Run) => unknown} made @param {() => string} convention */
  constructor(made, convention) {
    this.made = made;
    this.convention = convention;
    this.upload.classList.add("viz-mask-upload");
    this.#batch(null, 1, 0);
  }

  /** @type {(run: Run, offered: MasksOffered) => void} */
  show(run, { presets, fileBytes: most }) {
    Object.assign(this, { run, shown: run, presets, most });
    this.#asked.stop();
    this.choice.replaceChildren(
      ...options(presets.map(({ name, label }) => [name, label])),
      el("option", { value: "custom", disabled: true }, "Custom (painted)"),
    );
    this.#controls();
    this.file.value = "";
    this.#batch(null, 1, 0);
    this.#say("");
  }

  // Whether a mask of padding puts real [PAD] beside the text.
  get pads() {
    return this.presets.some(({ pads }) => pads === "end");
  }

  // Ignore pending requests: another mask was set.
  leave() {
    this.#asked.stop();
  }

  // Show the mask's origin: a preset with its sizes, or manual edits.
  mark(/** @type {Origin | null} */ by) {
    const other = by !== null && this.choice.value !== by.name; // the fields are those of another preset
    this.choice.value = by?.name ?? "custom";
    this.sizes.hidden = !by;
    if (other) this.#controls(by);
    else if (by && JSON.stringify(by) !== JSON.stringify(this.#origin())) this.#fill(by);
    this.sentence.textContent = by ? this.#preset().sentence : "Painted cell by cell, or read from a file.";
  }

  #preset() {
    return this.presets.find(({ name }) => name === this.choice.value) ?? this.presets[0];
  }

  #choose() {
    this.#controls();
    this.#make();
  }

  // Fields for the sizes, with their defaults or those of a mask that is there again.
  #controls(/** @type {Origin | null} */ by = null) {
    const { controls: sizes, lengths, sentence } = this.#preset();
    this.fields = sizes.map(({ name, minimum, ...size }) =>
      el("input", {
        type: "number",
        class: "viz-mask-number",
        "data-size": name,
        min: minimum,
        max: this.run?.n,
        step: 1,
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
        this.#take(await fresh(preset(run, by)), by, run);
      },
      { pause },
    );
  }

  #reread() {
    return this.#read(this.batch, Number(this.sample.value));
  }

  /** The run that a preset masks: with real [PAD] where it is of padding. @type {(run: Run, by: Origin) => Promise<Run> | Run} */
  #padded(run, { name, sizes = {} }) {
    const { pads = "" } = this.presets.find((each) => each.name === name) ?? {};
    const { padding } = sizes;
    return pads && Number.isInteger(padding) && Number(padding) > 0 ? padded(run, `${pads}:${padding}`) : run;
  }

  async #upload() {
    await this.#read(this.file.files?.[0] ?? null, 0);
    this.file.value = "";
  }

  /**
   * Read one sample of a file.
   * @type {(file: File | null, sample: number) => Promise<unknown> | void}
   */
  #read(file, sample) {
    const { run: home, shown, most } = this;
    if (!file || !shown || !home) return;
    if (file.size > most)
      return this.#say(`${file.name} has ${count(file.size)} bytes; at most ${count(most)} are allowed here.`);
    return this.#asked.run(async (fresh) => {
      const read = async (/** @type {Run} */ run) => ({
        run,
        ...(await uploaded(run, file, this.convention(), sample)),
      });
      const other = (/** @type {Error} */ fault) => (shown === home ? Promise.reject(fault) : read(home));
      const { run, mask, samples, says } = await fresh(read(shown).catch(other)); // of the text with its padding, or alone
      this.#take(mask, null, run);
      this.sentence.textContent = [`Read from ${file.name}.`, says].join(" ");
      this.#batch(file, samples, sample);
    });
  }

  /** @type {(file: File | null, samples: number, chosen: number) => void} */
  #batch(file, samples, chosen) {
    this.batch = file;
    this.samples.hidden = samples < 2;
    const names = Array.from(
      { length: samples },
      (_, at) => /** @type {[number, string]} */ ([at, `${at} of ${samples}`]),
    );
    this.sample.replaceChildren(...options(names));
    this.sample.value = String(chosen);
  }

  /** @type {(mask: Mask, by: Origin | null, run: Run) => void} */
  #take(mask, by, run) {
    this.#say("");
    this.#batch(null, 1, 0);
    this.made(mask, by, run);
  }

  #say(/** @type {string} */ sentence) {
    this.fault.textContent = sentence;
    this.fault.hidden = !sentence;
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
