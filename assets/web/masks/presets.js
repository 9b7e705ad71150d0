// Where a mask comes from: a preset with its sizes, or a file in a convention that one names.

import { el } from "../core/dom.js";
import { bits } from "./requests.js";

const PAUSE = 150; // ms without another size before the server is asked

export class Presets {
  // `made(mask, by)` gets each mask with what made it; `convention()` is the one that is chosen.
  constructor({ made, convention }) {
    Object.assign(this, { made, convention });
    this.choice = el("select", { id: "viz-mask-preset", onchange: () => this.#choose() });
    this.sizes = el("span", { class: "viz-mask-sizes" });
    this.sentence = el("p", { class: "viz-caption" });
    this.fault = el("p", { class: "viz-alert", role: "alert", hidden: true });
    this.file = el("input", { type: "file", id: "viz-mask-file", accept: ".npy,.csv", onchange: () => this.#upload() });
    this.node = el(
      "div",
      {},
      el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "Preset", this.choice), this.sizes),
      this.sentence,
      el(
        "div",
        { class: "viz-controls" },
        el(
          "label",
          { class: "viz-control viz-mask-upload" },
          "Or a file (.npy, .csv), read by the convention below",
          this.file,
        ),
      ),
      this.fault,
    );
  }

  show(run, offered) {
    this.run = run;
    this.presets = offered.presets;
    this.choice.replaceChildren(
      ...this.presets.map(({ name, label }) => el("option", { value: name }, label)),
      el("option", { value: "custom", disabled: true }, "Custom (painted)"),
    );
    this.choice.value = this.presets[0].name;
    this.#controls();
    this.file.value = "";
    this.#say("");
  }

  // What made the mask that is there: a preset with its sizes, or a hand.
  mark(by) {
    this.choice.value = by?.name ?? "custom";
    this.sizes.hidden = !by;
    if (by && JSON.stringify(by) !== JSON.stringify(this.#asked())) this.#controls(by);
    this.sentence.textContent = by
      ? this.presets.find(({ name }) => name === by.name).sentence
      : "Painted cell by cell, or read from a file.";
  }

  #choose() {
    this.#controls();
    this.#make();
  }

  // Fields for the sizes, with their defaults or those of a mask that is there again.
  #controls(by) {
    const preset = this.presets.find(({ name }) => name === this.choice.value);
    const fields = preset.controls.map((control) => {
      const field = el("input", {
        type: "number",
        class: "viz-mask-number",
        "data-size": control.name,
        min: control.minimum,
        max: this.run.n,
        step: 1,
        value: by?.sizes?.[control.name] ?? control.default,
        oninput: () => this.#soon(),
      });
      return el("label", { class: "viz-control" }, control.label, field);
    });
    this.lengths = preset.lengths
      ? el("input", {
          type: "text",
          class: "viz-flow-typed",
          id: "viz-mask-lengths",
          placeholder: "5, 7, 3",
          value: by?.lengths?.join(", ") ?? "",
          oninput: () => this.#soon(),
        })
      : null;
    if (this.lengths) fields.push(el("label", { class: "viz-control" }, "or lengths of their own", this.lengths));
    this.sizes.hidden = false;
    this.sizes.replaceChildren(...fields);
    this.sentence.textContent = preset.sentence;
  }

  // A size is being typed: what was asked for before it must not come and take its place.
  #soon() {
    this.asked = null;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#make(), PAUSE);
  }

  #asked() {
    const sizes = Object.fromEntries(
      [...this.sizes.querySelectorAll("[data-size]")].map((field) => [
        field.dataset.size,
        field.value === "" ? field.value : Number(field.value),
      ]),
    );
    const lengths = this.lengths?.value
      .trim()
      .split(/[\s,;]+/)
      .filter(Boolean)
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    return { name: this.choice.value, ...(lengths?.length ? { lengths } : { sizes }) };
  }

  async #make() {
    const { run } = this;
    const by = this.#asked();
    await this.#take(() => bits(run, "preset", { body: JSON.stringify(by) }), by);
  }

  async #upload() {
    const [file] = this.file.files;
    const { run } = this;
    if (!file) return;
    const options = new URLSearchParams({ name: file.name, convention: this.convention() });
    await this.#take(() => bits(run, `upload?${options}`, { body: file }), null);
    this.file.value = "";
  }

  // The last one asked for wins; on a fault the mask stays as it was.
  async #take(work, by) {
    const { run } = this;
    const asked = (this.asked = {});
    try {
      const mask = await work();
      if (this.asked !== asked || this.run !== run) return;
      this.#say("");
      this.made(mask, by);
    } catch (fault) {
      if (this.asked === asked && this.run === run) this.#say(fault.message);
    }
  }

  #say(sentence) {
    this.fault.textContent = sentence;
    this.fault.hidden = !sentence;
  }
}
