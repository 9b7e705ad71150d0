// A picture's patches, shaded by where one of them or a prefix token looks.

import { largest } from "../core/colors.js";
import { el, loadPicture, number } from "../core/dom.js";
import { numbered } from "../core/token_names.js";
import { TokenChoice } from "../views/token_choice.js";

/** @import { Chosen } from "../views/token_choice.js" */
/** @import { KeptMap } from "./maps.js" */
/** @import { StripActs } from "./word_strip.js" */

const SIZE = { widest: 340, tallest: 340 }; // pixels

export class PictureStrip {
  chosen = 0;
  said = el("p", { class: "quiet" });

  /** @param {StripFacts & { grid: Grid }} facts @param {StripActs} acts */
  constructor({ grid, tokens, picture }, { preview, choose }) {
    const units = tokens.map((name, at) => ({ name, tokens: [at] }));
    /** @type {Chosen} */
    this.run = {
      ...{ grid, segments: [], shown: () => units, picture: () => loadPicture(picture) },
      named: (token) => numbered(token, tokens[token]),
    };
    this.tokens = new TokenChoice({ hover: preview, choose }, SIZE);
    this.node = el("div", {}, this.tokens.node, this.said);
  }

  // The chips and the patches are those of every map here.
  show(/** @type {KeptMap} */ _map) {}

  mark(/** @type {number} */ row) {
    this.chosen = row;
  }

  paint(/** @type {number} */ row, /** @type {Float32Array} */ weights) {
    this.tokens.show(this.run, this.chosen, { values: weights, say: (at) => number(weights[at]) });
    this.tokens.mark(row === this.chosen ? null : row);
    const top = largest(weights, this.run.grid?.prefix);
    this.said.textContent = `The redder a patch, the larger its weight: from 0 to ${number(top)} here.`;
  }

  layout() {
    this.tokens.draw();
  }
}
