// The Explore tab: facts of the run, the atlas, the big map and the words or picture, as one.

import { current } from "../core/app_state.js";
import { control, controls, count, el, options, painted } from "../core/dom.js";
import { earlyPlace, settle } from "./early_place.js";
import { sizeSaid } from "../core/run.js";
import { TabShell } from "../core/tab_shell.js";
import { known } from "../core/view.js";
import { Atlas } from "./atlas.js";
import { CutHere } from "./cut_here.js";
import { AnyView } from "./any_view.js";
import { Explained } from "./explained.js";
import { ExportPanel } from "./export_panel.js";
import { FindingsView } from "./findings.js";
import { followKeys, HeadChoice, HINT } from "./head_choice.js";
import { HeadOrder } from "./head_order.js";
import { HeadStatistics } from "./head_statistics.js";
import { HeadsPlane } from "./heads_plane.js";
import { InputView } from "./input_view.js";
import { LinesView } from "./lines.js";
import { AttentionMap } from "./map.js";
import { MapChanges } from "./map_changes.js";
import { OverTexts } from "./over_texts.js";
import { PairLinksView } from "./pair_links.js";
import { Predictions } from "./predictions.js";
import { Reference } from "./reference.js";
import { SimilarHeadsView } from "./similar_heads.js";
import { mapPart } from "./tiles.js";
import { DisplayOptions } from "../views/display_options.js";

const NARROW = 760;
const ONE_SCALE =
  "Shares, effects and changes have one scale of their own; choose Attention, or turn off “Show the change”";
const MORE = "More: find heads, statistics, figures";
const UNCHECKED = "The maps are hidden because they could not be verified.";

class ExploreTab extends TabShell {
  always = true;
  selection = current.selection;
  #latest = this.latest((sentence) => this.#hide(`${UNCHECKED} ${sentence}`));
  /** @type {Run | null} */ #shown = null;
  /** @type {Run | null} */ #more = null; // whose folded parts are there
  #opened = false; // whether any run was shown
  readout = el("p", { class: "viz-readout", role: "status", "aria-live": "polite" });
  #say = (/** @type {string} */ text) => this.readout.replaceChildren(text);
  measures = new HeadStatistics();
  pair = new PairLinksView(this.selection, this.measures);
  similar = new SimilarHeadsView(this.selection);
  order = new HeadOrder(this.selection, this.measures, this.pair);
  changes = new MapChanges(this.selection, this.measures, this.signal);
  map = new AttentionMap(this.selection, this.#say);
  #expect = (/** @type {HeadPlace | null} */ place) => this.map.parts.expect(place);
  atlas = new Atlas(this.selection, this.measures, this.order, this.#expect);
  lines = new LinesView(this.selection, this.#say);
  predictions = new Predictions(this.selection);
  reference = new Reference(this.selection, this.measures, this.pair);
  source = new InputView(this.selection, this.#say, this.reference);
  explained = new Explained(this.selection, this.pair, this.reference, this.#expect);
  plane = new HeadsPlane(this.selection, this.pair, this.measures, this.explained);
  texts = new OverTexts(this.selection);
  any = new AnyView(this.selection);
  findings = new FindingsView(this.selection, this.pair, this.reference);
  cut = new CutHere(this.selection);
  exports = new ExportPanel(this.selection, this.map, () => this.explained.asked);
  head = new HeadChoice(this.selection);
  display = new DisplayOptions(this.selection);
  views = [
    ...[this.explained, this.findings, this.reference, this.cut, this.map, this.source, this.predictions],
    ...[this.pair, this.similar, this.atlas, this.plane, this.lines, this.texts, this.any],
  ];
  layer = el("select", {
    id: "viz-layer",
    onchange: (event) => this.selection.set({ layer: Number(event.currentTarget.value) }),
  });
  scale = el("select", {
    id: "viz-scale",
    onchange: (event) => this.selection.set({ scale: event.currentTarget.value }),
  });
  how = el("div", { class: "viz-how-columns" });
  belowHow = el("div", { class: "viz-below-how" }); // where the input stands, and what is predicted
  more = el("details", { class: "viz-folded viz-more" }, el("summary", {}, MORE));
  #moreLatest = this.latest((sentence) => this.readout.replaceChildren(sentence));
  facts = el("div", { class: "viz-facts" });
  notes = el("ul", { class: "viz-notes" });

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-body");
    for (const signed of [this.explained.maps, this.changes]) {
      this.map.lend(signed);
      signed.on(() => {
        if (this.run) this.#sync(this.run);
      }, this.signal);
    }
    this.atlas.follow(this.changes);
    const menus = [control("Layer", this.layer), this.head.node, control("Color scale", this.scale), this.display.node];
    this.map.stage.before(this.exports.row);
    const { explained, findings } = this;
    const left = el("div", { class: "viz-left" }, this.pair.node, this.similar.node);
    const right = el("div", { class: "viz-right" }, this.atlas.node);
    const columns = el("div", { class: "viz-columns" }, left, right);
    this.more.append(controls(...menus), columns, this.plane.node, this.lines.node);
    this.more.append(this.texts.node, this.any.node);
    this.belowHow.append(this.source.node, this.predictions.node);
    const beside = el("div", { class: "viz-how-beside" }, explained.heads.node, this.map.node, this.readout);
    const picture = [explained.measures, explained.node, findings.said, this.reference.node, this.belowHow];
    this.how.append(el("div", { class: "viz-how-left" }, ...picture), beside);
    findings.node.prepend(this.cut.node);
    this.body.append(
      ...[this.notes, el("div", { class: "viz-asked" }, explained.question.node, findings.actions, this.facts)],
      ...[explained.said, findings.node, this.how, this.more],
    );
    this.more.addEventListener("toggle", () => this.run && this.#showMore(this.run));
    explained.on(() =>
      this.findings.weigh(explained.found, explained.effect, explained.token, explained.yardstick.said),
    );
    this.selection.on(() => this.run && this.#sync(this.run), this.signal);
    this.layer.title = this.head.select.title = HINT;
    followKeys(root, this.selection, () => this.run, this.signal);
    this.open();
  }

  /** @override */
  entered(/** @type {Run | null} */ run) {
    if (run) this.reference.follow(run);
  }

  /** @override */
  show(/** @type {Run} */ run) {
    if (this.#shown?.key === run.key) return;
    // On a narrow screen the result is below the form: go there, but not when the page opens.
    const another = this.#opened && this.#shown?.plainKey !== run.plainKey;
    if (another && window.innerWidth < NARROW) this.root.scrollIntoView({ behavior: "smooth" });
    [this.#shown, this.#opened] = [run, true];
    this.clear();
    this.explained.enter(run);
    this.exports.show(run);
    this.atlas.enter(run);
    const notes = [...run.notes, this.selection.fallen].filter(Boolean);
    this.notes.replaceChildren(...notes.map((note) => el("li", {}, note)));
    this.cut.show(run);
    this.#tell(run, null);
    this.#sync(run);
    this.#latest.run(async (fresh) => {
      if (this.selection.measure !== "attention") await fresh(this.explained.prepare(run, fresh));
      await fresh(this.map.show(run));
      await fresh(painted()); // before anything else is asked for
      await fresh(this.explained.show(run));
      await fresh(this.source.show(run));
      this.pair.show(run);
      this.findings.show(run);
      this.reference.restore();
      await fresh(this.predictions.show(run));
      this.#tell(run, null);
      this.#showMore(run);
      const proof = await fresh(run.proof());
      this.#tell(run, proof);
      this.cut.ask(run);
      const failed = proof.checked && !proof.passed;
      if (failed) this.#hide(`These maps are hidden because they failed verification. ${proof.sentence}`);
    });
  }

  // What is folded away is asked for once it is opened.
  #showMore(/** @type {Run} */ run) {
    if (!this.more.open || this.#more === run) return;
    this.#more = run;
    for (const part of [this.similar, this.any, this.plane, this.texts]) part.show(run);
    this.#moreLatest.run(async (fresh) => {
      for (const part of [this.atlas, this.lines]) await fresh(part.show(run));
    });
  }

  // Maps that are not the ones that ran are not shown.
  #hide(/** @type {string} */ sentence) {
    this.#shown = null;
    this.#latest.stop();
    current.enter(null);
    this.facts.replaceChildren();
    this.fail(sentence);
    this.empty.hidden = true;
  }

  /** The run in short. @type {(run: Run, proof: Proof | null) => void} */
  #tell(run, proof) {
    const length = run.grid ? `${run.grid.rows} rows × ${run.grid.cols} columns of patches` : `${count(run.n)} tokens`;
    const facts = [
      [`${sizeSaid(run)} · ${length}`, `Ran on ${run.device} in ${run.dtype}, ${run.kernel} kernel`],
      [run.model, "The model"],
    ];
    const badge = {
      class: `viz-fact ${proof?.passed ? "viz-good" : ""}`,
      id: "viz-proof",
      title: proof?.sentence ?? "",
    };
    const { answer } = this.predictions;
    if (answer) facts.splice(1, 0, [answer, "What the model predicts; the other labels are below"]);
    this.facts.replaceChildren(
      ...facts.map(([text, title]) => el("span", { class: "viz-fact", title }, text)),
      el("span", badge, ...verdict(proof)),
    );
  }

  // Bring the controls in line with the selection.
  #sync(/** @type {Run} */ run) {
    const { layer, scale } = this.selection;
    const layers = Array.from({ length: run.nLayers }, (_, at) => /** @type {const} */ ([at, String(at)]));
    const scales = Object.entries(run.vocabulary.scales).map(
      ([name, { title }]) => /** @type {const} */ ([name, title]),
    );
    if (this.layer.options.length !== layers.length) this.layer.replaceChildren(...options(layers));
    if (!this.scale.options.length) this.scale.replaceChildren(...options(scales));
    [this.layer.value, this.scale.value] = [String(layer), scale];
    this.scale.disabled = this.map.signed !== null; // what has signs has a scale of its own
    this.scale.title = this.scale.disabled ? ONE_SCALE : "";
    this.head.show(run);
    this.display.show(run);
  }
}

/** @type {(proof: Proof | null) => (string | Node)[]} */
function verdict(proof) {
  if (!proof) return ["Verifying the maps …"];
  if (!proof.checked) return ["Not verified: hover to see why"];
  const how = el("span", { class: "viz-wide" }, `: recomputed maps match (${proof.error.toExponential(0)})`);
  return proof.passed ? ["✓ Verified", how] : ["✗ Verification failed"];
}

// Until the page is built, the tab has an early place; without one, its first map is prefetched
// into the run.
const early = earlyPlace();
if (early) known("vizTab", new ExploreTab(early));
let mounted = early !== null;
current.on(
  (run) =>
    run && !mounted && current.selection.measure === "attention" && mapPart(run, current.selection).catch(() => {}),
);

// Called by the page once.
export function mount(/** @type {HTMLElement} */ root) {
  mounted = true;
  if (early) settle(early, root);
  else known("vizTab", new ExploreTab(root));
}
