// The layer player: play, pause, step or slide through the layers; the head stays.

import { el, labelled } from "../core/dom.js";
import { Emitter } from "../core/emitter.js";
import { Latest, rest } from "../core/latest.js";

const PAUSE = 700; // milliseconds a layer is shown

/** @typedef {Emitter<[changed: Set<string>]> & { layer: number, set: (to: { layer: number }) => void }} Layered */

/** A layer of its own for a player to move, apart from the selection that all tabs share.
 * @extends {Emitter<[changed: Set<string>]>} */
export class Depth extends Emitter {
  layer = 0;

  set(/** @type {{ layer: number }} */ { layer }) {
    if (layer === this.layer) return;
    this.layer = layer;
    this.tell(new Set(["layer"]));
  }
}

export class Player {
  #latest = new Latest();
  #stillness = matchMedia("(prefers-reduced-motion: reduce)");
  playing = false;
  nLayers = 0;
  toggle = labelled("▶", "Play the layers", () => (this.playing ? this.pause() : this.#play()));
  slider = el("input", {
    type: "range",
    class: "viz-slider",
    min: 0,
    step: 1,
    "aria-label": "Layer",
    oninput: (event) => this.#go(Number(event.currentTarget.value)),
  });
  said = el("output", { class: "viz-player-said" });
  node = el(
    "div",
    { class: "viz-player", role: "group", "aria-label": "Play through the layers" },
    ...[labelled("‹", "Previous layer", () => this.#step(-1)), this.toggle],
    ...[labelled("›", "Next layer", () => this.#step(1)), this.slider, this.said],
  );

  /** `ready` waits until the layer that was chosen is drawn.
   * @param {Layered} selection @param {() => Promise<unknown> | undefined} ready @param {AbortSignal} signal */
  constructor(selection, ready, signal) {
    this.selection = selection;
    this.ready = ready;
    selection.on((changed) => changed.has("layer") && this.#tell(), signal);
    this.#stillness.addEventListener("change", () => this.#tell(), { signal });
  }

  show(/** @type {{ nLayers: number }} */ { nLayers }) {
    this.nLayers = nLayers;
    this.slider.max = String(nLayers - 1);
    this.node.hidden = nLayers < 2;
    this.pause();
  }

  pause() {
    this.playing = false;
    this.#latest.stop();
    this.#tell();
  }

  // Start over if the last layer is shown.
  #play() {
    this.playing = true;
    if (this.selection.layer === this.nLayers - 1) this.selection.set({ layer: 0 });
    this.#tell();
    this.#latest.run(async (fresh) => {
      while (this.playing) {
        await fresh(this.ready());
        await fresh(rest(PAUSE));
        if (!this.node.isConnected || this.selection.layer >= this.nLayers - 1) this.pause();
        else this.selection.set({ layer: this.selection.layer + 1 });
      }
    });
  }

  #step(/** @type {number} */ by) {
    this.#go(Math.max(0, Math.min(this.nLayers - 1, this.selection.layer + by)));
  }

  #go(/** @type {number} */ layer) {
    this.pause();
    this.selection.set({ layer });
  }

  #tell() {
    if (!this.nLayers) return;
    const still = this.#stillness.matches;
    if (still && this.playing) return this.pause();
    this.toggle.hidden = still; // who asked for less motion steps by hand
    this.toggle.textContent = this.playing ? "⏸" : "▶";
    this.toggle.title = this.playing ? "Pause" : "Play the layers";
    this.toggle.setAttribute("aria-label", this.toggle.title);
    this.slider.value = String(this.selection.layer);
    this.said.textContent = `Layer ${this.selection.layer} (0–${this.nLayers - 1})`;
  }
}
