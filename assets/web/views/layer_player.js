// The layer player: play, pause, step or slide through the layers; the head stays.

import { el } from "../core/dom.js";

const PAUSE = 700; // milliseconds a layer is shown
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

// A layer of its own for a player to move, apart from the selection that all tabs share.
export class Depth {
  #listeners = new Set();
  layer = 0;

  set({ layer }) {
    if (layer === this.layer) return;
    this.layer = layer;
    for (const listener of this.#listeners) listener(new Set(["layer"]));
  }

  on(listener) {
    this.#listeners.add(listener);
  }
}

export class Player {
  // `ready` waits until the layer that was chosen is drawn.
  constructor(selection, ready) {
    Object.assign(this, { selection, ready, playing: false });
    const button = (text, label, act) =>
      el("button", { type: "button", class: "viz-small", "aria-label": label, title: label, onclick: act }, text);
    this.toggle = button("▶", "Play the layers", () => (this.playing ? this.pause() : this.#play()));
    this.slider = el("input", {
      type: "range",
      class: "viz-slider",
      min: 0,
      step: 1,
      "aria-label": "Layer",
      oninput: () => this.#go(Number(this.slider.value)),
    });
    this.said = el("output", { class: "viz-player-said" });
    this.node = el(
      "div",
      { class: "viz-player", role: "group", "aria-label": "Play through the layers" },
      button("‹", "One layer back", () => this.#step(-1)),
      this.toggle,
      button("›", "One layer on", () => this.#step(1)),
      this.slider,
      this.said,
    );
    selection.on((changed) => changed.has("layer") && this.#tell());
    stillness.addEventListener("change", () => this.#tell());
  }

  show(run) {
    this.pause();
    this.run = run;
    this.slider.max = run.nLayers - 1;
    this.node.hidden = run.nLayers < 2;
    this.#tell();
  }

  pause() {
    this.playing = false;
    clearTimeout(this.timer);
    this.#tell();
  }

  // From the first layer again where the last one is shown.
  #play() {
    this.playing = true;
    if (this.selection.layer === this.run.nLayers - 1) this.selection.set({ layer: 0 });
    this.#tell();
    this.#wait();
  }

  async #wait() {
    const run = this.run;
    await this.ready();
    if (!this.playing || this.run !== run) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (!this.node.isConnected || this.selection.layer >= run.nLayers - 1) return this.pause();
      this.selection.set({ layer: this.selection.layer + 1 });
      this.#wait();
    }, PAUSE);
  }

  #step(by) {
    this.#go(Math.max(0, Math.min(this.run.nLayers - 1, this.selection.layer + by)));
  }

  #go(layer) {
    this.pause();
    this.selection.set({ layer });
  }

  #tell() {
    if (!this.run) return;
    if (stillness.matches && this.playing) return this.pause();
    this.toggle.hidden = stillness.matches; // who asked for less motion steps by hand
    this.toggle.textContent = this.playing ? "⏸" : "▶";
    const label = this.playing ? "Pause" : "Play the layers";
    this.toggle.setAttribute("aria-label", label);
    this.toggle.title = label;
    this.slider.value = this.selection.layer;
    this.said.textContent = `Layer ${this.selection.layer} of 0 to ${this.run.nLayers - 1}`;
  }
}
