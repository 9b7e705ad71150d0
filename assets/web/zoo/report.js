// What an audit says: its verdict in a sentence, then each check with its cause and its cure.

import { el } from "../core/dom.js";

const SIGNS = { PASS: "✓", FAIL: "✗", ERROR: "✗", WARN: "!", INFO: "i", "NOT TESTED": "–" };

export class Report {
  constructor() {
    this.verdict = el("p", { class: "viz-zoo-sentence", role: "status" });
    this.node = el("div", { class: "viz-zoo-report" });
  }

  show({ report, fixed }, specimen) {
    this.verdict.replaceChildren(badge(report.verdict), " ", report.sentence);
    const shown = report.checks.filter((check) => !check.follows_from && check.verdict !== "NOT TESTED");
    const rows = shown.flatMap((check) => this.#rows(check, report.checks, fixed ? "" : specimen.flagged_by));
    const table = el(
      "table",
      { class: "viz-zoo-checks" },
      el("caption", {}, "Checks, in the order in which they were asked"),
      el(
        "thead",
        {},
        el("tr", {}, ...["Verdict", "Check", "What was found"].map((name) => el("th", { scope: "col" }, name))),
      ),
      el("tbody", {}, ...rows),
    );
    this.node.replaceChildren(
      el("div", { class: "viz-zoo-scroll" }, table),
      this.#untested(report.not_tested),
      el(
        "p",
        { class: "viz-caption" },
        `Audited in ${report.seconds.toFixed(2)} s, on a tiny model with random weights.`,
      ),
    );
  }

  #rows(check, all, named) {
    const followers = all.filter(({ follows_from: from }) => from === check.name);
    const row = this.#row(check, named);
    if (followers.length) {
      const inner = followers.map((each) =>
        el("li", {}, badge(each.verdict), " ", el("strong", {}, each.title), `: ${each.evidence}`),
      );
      const its = followers.find(({ name }) => name === named);
      row.lastChild.append(
        el(
          "details",
          { class: "viz-zoo-follow" },
          el(
            "summary",
            {},
            `${followers.length} more ${followers.length === 1 ? "check follows" : "checks follow"} from it${its ? ", among them the one made for this bug" : ""}`,
          ),
          el("ul", {}, ...inner),
        ),
      );
    }
    return [row];
  }

  #row(check, named) {
    const said = el("td", {}, el("div", {}, check.evidence));
    if (check.cause) said.append(el("div", { class: "viz-zoo-cause" }, el("strong", {}, "Cause: "), check.cause));
    if (check.cure)
      said.append(
        el(
          "div",
          { class: "viz-zoo-cure" },
          el("strong", {}, "Cure: "),
          el("span", { class: "viz-zoo-cure-text" }, check.cure),
        ),
      );
    const title = el("th", { scope: "row" }, check.title);
    if (check.name === named) title.append(el("div", { class: "viz-caption" }, "the check made for this bug"));
    return el(
      "tr",
      { "data-check": check.name, "data-verdict": check.verdict },
      el("td", {}, badge(check.verdict)),
      title,
      said,
    );
  }

  #untested(reasons) {
    return el(
      "details",
      { class: "viz-zoo-untested" },
      el("summary", {}, `Not tested (${reasons.length})`),
      el("ul", {}, ...reasons.map((reason) => el("li", {}, reason))),
    );
  }
}

// The verdict as a word and a sign, for color alone tells nobody.
function badge(verdict) {
  return el("span", { class: "viz-zoo-badge", "data-verdict": verdict }, `${SIGNS[verdict] ?? ""} ${verdict}`);
}
