// An exported page: a run's atlas and one of its maps, exact.

import { makeScale } from "../core/colors.js";
import { el, query } from "../core/dom.js";
import { digits, plain, readMaps, unpack } from "./maps.js";
import { at } from "./row_reading.js";
import { RunView } from "./run_view.js";

/** @import { KeptMap } from "./maps.js" */
/** @import { Look } from "./run_view.js" */

/** @type {Look} */
const LOOK = {
  cells: { least: 2, most: 40 },
  widest: Infinity,
  legend: [230, 12],
  hint: "Point at a cell to read its weight.",
};
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @extends {RunView<PageFacts>} */
class Page extends RunView {
  /** @param {PageFacts} facts @param {{ layers: KeptMap[][], chosen: KeptMap }} maps */
  constructor(facts, { layers, chosen }) {
    const row = Math.floor((chosen.about.query ?? 0) / chosen.steps[0]);
    super(facts, layers, chosen, chosen.tokenAt(row), LOOK);
    this.exact = chosen;
    this.#tell();
    this.redraw();
    at("back").addEventListener("click", () => this.show(chosen));
    addEventListener("keydown", (event) => this.atlas.walk(event, this.map));
    addEventListener("resize", () => this.layout());
    dark.addEventListener("change", () => this.redraw());
  }

  /** @override */
  redraw() {
    document.documentElement.classList.toggle("dark", dark.matches);
    super.redraw();
  }

  /** @override */
  told() {
    const { map } = this;
    const { layer, head, name } = map.about;
    const title = head === null ? name : `layer ${layer}, head ${head}`;
    at("name").textContent = title[0].toUpperCase() + title.slice(1);
    at("kept").textContent = map.kept;
    at("back").hidden = map === this.exact;
    this.#tellScale();
  }

  /** @override @type {(map: KeptMap, values: Float32Array) => Scale} */
  scale({ about, top }, values) {
    const { name } = this.facts.scale;
    const together = (name === "layer" ? this.layers[about.layer] : this.layers.flat()).map((map) => map?.top ?? 0);
    return makeScale(name, name === "row" ? 1 : top, Math.max(...together), values);
  }

  #tell() {
    const { facts } = this;
    const entries = Object.entries(facts.facts);
    at("facts").append(
      ...entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, plain(value)))),
    );
    at("colors").textContent = `Colors are ${facts.scale.says}.`;
    at("proof").textContent = facts.proof;
    if (facts.changed) this.#tellChanged(facts.changed);
    at("back").textContent = `Back to ${facts.chosen.name}, exact`;
    at("code").hidden = !facts.snippet;
    query(at("code"), "pre").textContent = facts.snippet;
  }

  // Show the run's changes, and its top answers with and without them.
  #tellChanged(/** @type {NonNullable<PageFacts["changed"]>} */ { made, sentence, answers }) {
    const share = (/** @type {number} */ value) => (value > 0 && value < 0.0005 ? "< 0.001" : value.toFixed(3));
    at("changed").hidden = false;
    at("made").append(...made.map((words) => el("li", {}, plain(words))));
    at("outcome").textContent = plain(sentence);
    at("answers").hidden = !answers.length;
    query(at("answers"), "tbody").append(
      ...answers.map(([label, ...shares]) =>
        el("tr", {}, el("th", { scope: "row" }, plain(label)), ...shares.map((value) => el("td", {}, share(value)))),
      ),
    );
  }

  #tellScale() {
    const { says, measures } = this.facts.scale;
    const scale = this.scale(this.map, this.values);
    const curved = scale.name === "log" || scale.name === "sqrt"; // its middle is not half of its end
    const over = this.map.top > scale.high * 1.0001 && scale.name !== "row" ? " and above" : "";
    const from = scale.low ? `${digits(scale.low, 4)} and below` : "0";
    const to = `${digits(scale.high, 4)}${over}`;
    at("what").textContent = measures;
    at("up-to").textContent = says;
    at("ticks").textContent = `${from} … ${curved ? `${digits(scale.at(0.5), 4)} … ` : ""}${to}`;
    this.drawLegend(from, to);
  }
}

async function start() {
  const read = async (/** @type {string} */ id) => unpack(at(id).textContent);
  /** @type {PageFacts} */
  const facts = JSON.parse(at("data-facts").textContent);
  const maps = readMaps(facts, new Uint8Array(await read("data-maps")), new Float32Array(await read("data-exact")));
  window.vizPage = new Page(facts, maps);
  document.body.dataset.painted = "yes";
}
start();
