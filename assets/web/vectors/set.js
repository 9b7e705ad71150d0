// A set of items: which pooling at which layer, in numbers; its plane, each item's neighbors, and its files.

import { current } from "../core/app_state.js";
import { dataset } from "../core/dataset.js";
import { alertLine, caption, control, controls, counted, el, onTheme, onWidth, options, query } from "../core/dom.js";
import { built } from "../core/form.js";
import { numbers } from "../core/server.js";
import { afterBlocks } from "../core/states.js";
import { follow } from "../core/tab_shell.js";
import { View } from "../core/view.js";
import { ItemPlane } from "./item_plane.js";
import { SetTable } from "./method_table.js";
import { Neighbors } from "./neighbors.js";
import { called, OWN, ownOrNot } from "./results.js";
import { SetLink } from "./set_link.js";
import { fileAt, saveRow } from "../views/save_row.js";

// Called by the page once; `read` gives the set's description, `watch` tells when it changes.
/** @type {(root: HTMLElement, read: () => string, watch: Watch) => void} */
export function mount(root, read, watch) {
  const view = new SetView(root);
  built(() => /** @type {HTMLTextAreaElement | null} */ (document.querySelector("#viz-set-lines textarea"))).then(
    takeTexts,
  );
  follow(read, watch, (/** @type {SetDescription} */ set) => view.set?.key === set.key || view.show(set));
}

// The box holds the texts of the whole page. A file of texts fills it, also one that is dropped on it.
function takeTexts(/** @type {HTMLTextAreaElement} */ box) {
  const upload = /** @type {HTMLInputElement | null} */ (document.querySelector("input:has(+ #viz-set-files)"));
  dataset.bind(box);
  const read = async () => {
    const [file, ...more] = upload?.files ?? [];
    if (file && !more.length && TEXTS.test(file.name)) dataset.set(await file.text());
  };
  upload?.addEventListener("change", read, true); // before Gradio empties it
  box.addEventListener("drop", (event) => {
    const { files } = event.dataTransfer ?? {};
    if (!upload || !files?.length) return;
    event.preventDefault();
    upload.files = files;
    upload.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

const TEXTS = /\.(?:csv|tsv|txt)$/i;
const UNLABELED =
  "Add labels to compare poolings: with a CSV of columns text,label, silhouette, nearest-centroid accuracy and " +
  "recall@1 say which pooling at which layer tells the groups apart.";

/** @type {[text: string, title: string, path: string][]} */
const FILES = [
  ["Table (CSV)", "All methods at all layers with their numbers", "table.csv"],
  ["Vectors of this row (CSV)", "The vectors of the chosen method and layer, to check a number by hand", "csv?"],
  ["All vectors (CSV)", "Every method at every layer, one row per item", "csv"],
  ["All vectors (npz)", "The same for NumPy", "npz"],
  ["All vectors (Parquet)", "The same for pandas, Polars or DuckDB; needs pyarrow on the server", "parquet"],
];

class SetView extends View {
  /** @type {SetDescription | null} */
  set = null;
  named = el("h3", { dir: "auto" }); // which example or file this is the result of
  model = el("span", { class: "viz-fact" });
  other = caption(); // where the box holds other texts, or the input at the top was run on another model
  texts = ""; // of the box when this set came
  answer = el("p", { class: "viz-pool-answer", role: "status" });
  more = caption();
  notes = el("ul", { class: "viz-notes" });
  table = new SetTable((method, layer) => this.#choose(method, layer));
  method = el("select", { id: "viz-set-method", onchange: () => this.#chosen() });
  layer = el("select", { id: "viz-set-layer", onchange: () => this.#chosen() });
  choices = controls(control("Method", this.method), control("After n blocks", this.layer));
  own = caption();
  plane = new ItemPlane((item) => this.#item(item));
  neighbors = new Neighbors((item) => this.#item(item));
  views = [this.plane, this.neighbors];
  row = ""; // of which the vectors are: the chosen method and layer
  files = saveRow(
    "Save the table or the vectors",
    FILES.map(([text, title, path]) => [text, title, () => fileAt(this.#file(path))]),
  );
  link = new SetLink(this.signal);
  first = ""; // method and layer that it begins with
  fault = alertLine();
  node = el(
    "div",
    { class: "viz-pool", hidden: true },
    el("div", { class: "viz-facts" }, this.named, this.model),
    ...[this.other, this.answer, this.more, this.notes, this.fault],
    el(
      "div",
      { class: "viz-pool-columns viz-set-columns" },
      el("div", {}, this.table.node, this.choices, this.own, this.neighbors.node),
      el("div", {}, this.plane.node, this.files),
    ),
  );
  #asked = this.latest((sentence) => {
    this.behind(false);
    this.fault.textContent = sentence;
  });

  constructor(/** @type {HTMLElement} */ root) {
    super();
    root.replaceChildren(this.node);
    query(this.files, "button").append(" table or vectors"); // beside the plane's
    onTheme(() => this.draw(), this.signal);
    for (const source of [current, dataset]) source.on(() => this.#sayModel(), this.signal);
    this.link.open();
    onWidth(root, () => this.link.begin());
  }

  show(/** @type {SetDescription} */ set) {
    const { names, labels, table, methods, layers, leftOut, notes } = set;
    const groups = new Set(labels).size;
    const examples = [...document.querySelectorAll(".viz-set-example")].map((each) => each.textContent.trim());
    this.texts = examples.includes(set.set) ? "" : dataset.text;
    this.set = set;
    this.node.hidden = false;
    this.named.textContent = set.set;
    this.answer.textContent = set.answer;
    this.answer.hidden = !set.answer;
    const one = `One item is ${(1 / names.length).toFixed(3)} of recall@1 and of nearest-centroid accuracy`;
    const [of, small] = groups
      ? [` of ${counted(groups, "label")}`, ` ${one}: smaller differences mean nothing.`]
      : ["", ""];
    this.more.textContent = `${counted(names.length, "item")}${of}.${small || ` ${UNLABELED}`}`;
    this.#sayModel();
    const said = [...Object.entries(leftOut).map(([name, why]) => `${name}: ${why}`), ...notes];
    this.notes.replaceChildren(...said.map((text) => el("li", {}, text)));
    this.table.show(table);
    this.method.replaceChildren(
      ...Object.entries(methods).map(([name, title]) => el("option", { value: name, title }, called(name))),
    );
    this.layer.replaceChildren(...options(layers.map((layer) => [layer, String(layer)])));
    query(this.files, ".viz-saves button").hidden = !table.length; // the table's own
    this.neighbors.enter(set);
    const best = table[0] ?? { method: OWN in methods ? OWN : "mean", state: layers.at(-1) };
    const linked = this.link.came(set);
    this.first = `${best.method}:${best.state}`;
    if (linked) this.neighbors.item = linked.item;
    this.#choose(linked?.method ?? best.method, linked?.layer ?? best.state);
  }

  #sayModel() {
    const [{ set }, { run }] = [this, current];
    if (!set) return;
    const unread = dataset.text.trim() && dataset.text !== this.texts;
    const other = run && run.model !== set.model;
    this.model.textContent = `Model: ${set.model}`;
    this.other.textContent =
      (unread ? `These results are of ${set.set}; press Compare for those of your texts. ` : "") +
      (other ? `The text at the top of the page was run on another model, ${run.model}.` : "");
    this.other.hidden = !other && !unread;
  }

  #choose(/** @type {string} */ method, /** @type {number} */ layer) {
    this.method.value = method;
    this.layer.value = String(layer);
    this.#chosen();
  }

  #chosen() {
    const { set } = this;
    if (!set) return;
    const [method, layer] = [this.method.value, this.layer.value];
    this.own.textContent = ownOrNot(set.own, method);
    const row = `${new URLSearchParams({ method, layer })}`;
    this.table.mark(method, Number(layer));
    this.row = row;
    this.behind();
    return this.#asked.run(async (fresh) => {
      const several = set.names.length > 1; // one item alone has no plane
      const plane = several && (await fresh(numbers(`viz/set/${set.key}/plane?${row}`)));
      const title = `${called(method)}, ${afterBlocks(Number(layer))}`;
      this.behind(false);
      this.fault.textContent = "";
      this.plane.node.hidden = !plane;
      if (plane) this.plane.show(set, plane, title, this.neighbors.item);
      this.#item(this.neighbors.item);
      this.painted(`${set.key}:${method}:${layer}`);
    });
  }

  #file(/** @type {string} */ path) {
    return `viz/set/${this.set?.key}/take/${path}${path.endsWith("?") ? this.row : ""}`;
  }

  #item(/** @type {number} */ item) {
    if (!this.set) return;
    const [method, layer] = [this.method.value, Number(this.layer.value)];
    this.link.note({ method, layer, item }, item === 0 && this.first === `${method}:${layer}`);
    this.neighbors.show(this.set, method, layer, item);
    this.plane.mark(item);
  }
}
