// Report of an audit: its verdict in a sentence, then each check with its cause and fix.

import { button, caption, el } from "../core/dom.js";
import { table } from "../views/headed.js";

/** @type {Record<string, string>} */
const SIGNS = { PASS: "✓", FAIL: "✗", ERROR: "✗", WARN: "!", INFO: "i", "NOT TESTED": "–" };

const KEPT = "Kept from when this version was made: random seed 0, on a tiny model with random weights.";

export class Report {
  verdict = el("p", { class: "viz-zoo-sentence", role: "status" });
  made = caption(); // when it was audited
  node = el("details", { class: "viz-zoo-report viz-mask-folded viz-folded" });

  /** `run` audits it now. @param {() => unknown} run */
  constructor(run) {
    this.run = run;
  }

  /** @type {(found: AuditAnswer, specimen: Specimen) => void} */
  show({ report, fixed, kept }, specimen) {
    const { checks, not_tested: untested } = report;
    const shown = checks.filter((check) => !check.follows_from && check.verdict !== "NOT TESTED");
    const rows = shown.map((check) => rowOf(check, checks, fixed ? "" : specimen.flagged_by));
    const says = "Checks, in the order they ran";
    const reasons = untested.map((reason) => el("li", {}, reason));
    this.verdict.replaceChildren(badge(report.verdict), " ", report.sentence);
    this.made.replaceChildren(
      ...(kept
        ? [KEPT, " ", button("Audit it now", this.run, { id: "viz-zoo-anew" })]
        : [`Audited in ${report.seconds.toFixed(2)} s, on a tiny model with random weights.`]),
    );
    const verdicts = Object.keys(SIGNS).map((one) => [shown.filter(({ verdict }) => verdict === one).length, one]);
    const counts = verdicts.filter(([many]) => many).map((each) => each.join(" "));
    const all = table("viz-zoo-checks", ["Verdict", "Check", "What was found"], rows, says);
    this.node.replaceChildren(
      el("summary", {}, `${says} (${counts.join(", ")}), and what was not tested (${untested.length})`),
      el("div", { class: "viz-zoo-scroll" }, all),
      folded("viz-zoo-untested", `Not tested (${untested.length})`, reasons),
    );
  }
}

/** A check and those that follow from it; `named` is the one made for this bug.
 * @type {(check: AuditCheck, all: AuditCheck[], named: string) => HTMLElement} */
function rowOf(check, all, named) {
  const { name, verdict, cause, cure } = check;
  const said = el("td", {}, el("div", {}, check.evidence));
  const title = el("th", { scope: "row" }, check.title);
  if (cause) said.append(el("div", { class: "viz-zoo-cause" }, el("strong", {}, "Cause: "), cause));
  if (cure) {
    const text = el("span", { class: "viz-zoo-cure-text" }, cure);
    said.append(el("div", { class: "viz-zoo-cure" }, el("strong", {}, "Fix: "), text));
  }
  if (name === named) title.append(el("div", { class: "viz-caption" }, "the check made for this bug"));
  const others = all.filter(({ follows_from: from }) => from === name);
  if (others.length) {
    const its = others.some((other) => other.name === named) ? ", among them the one made for this bug" : "";
    const many = `${others.length} more ${others.length === 1 ? "check follows" : "checks follow"} from it${its}`;
    said.append(folded("viz-zoo-follow", many, others.map(follower)));
  }
  return el("tr", { "data-check": name, "data-verdict": verdict }, el("td", {}, badge(verdict)), title, said);
}

const follower = (/** @type {AuditCheck} */ { verdict, title, evidence }) =>
  el("li", {}, badge(verdict), " ", el("strong", {}, title), `: ${evidence}`);

/** @type {(name: string, summary: string, items: HTMLElement[]) => HTMLElement} */
const folded = (name, summary, items) =>
  el("details", { class: name }, el("summary", {}, summary), el("ul", {}, ...items));

// The verdict as a word and a sign, for color alone tells nobody.
const badge = (/** @type {string} */ verdict) =>
  el("span", { class: "viz-zoo-badge", "data-verdict": verdict }, `${SIGNS[verdict] ?? ""} ${verdict}`);
