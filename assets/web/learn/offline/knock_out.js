// Each token hidden from every token, or each head removed, and what becomes of the answer, or of the pooled vector where none is asked for.

import { cosine } from "../arithmetic.js";
import { forward } from "./forward.js";
import { best, logits, masked, sharesOf } from "./prediction.js";

/** @import { Vector } from "../arithmetic.js" */
/** @import { Model, Ran } from "./forward.js" */
/** @typedef {{ words: string, skip: number, value: (ran: Ran) => number, said: (ran: Ran) => { word: string, share: number } | null,
 *   left: (ran: Ran) => number | null }} Measure
 *   `skip` is the token that is asked about, `left` the probability of the answer of the run as it was */

/** The answer, or the pooled vector, without each head. @type {(model: Model, ran: Ran) => HeadEffects} */
export function withoutHeads(model, ran) {
  const measure = measureOf(model, ran);
  const { n_layers: nLayers, n_heads: nHeads } = model.config;
  const each = (/** @type {(layer: number, head: number) => any} */ of) =>
    Array.from({ length: nLayers }, (_, layer) => Array.from({ length: nHeads }, (_, head) => of(layer, head)));
  const { ids, padding } = ran;
  const gone = each((layer, head) => forward(model, ids, { removed: [[layer, head]], padding }));
  const [before, untouched] = [measure.value(ran), measure.said(ran)];
  return {
    ...{ sentence: "", flip: "", measure: measure.words, how: "zero", before, forwards: nLayers * nHeads },
    untouched: { answer: untouched?.word ?? "", share: untouched?.share ?? null },
    values: each((layer, head) => measure.value(gone[layer][head]) - before),
    answers: each((layer, head) => measure.said(gone[layer][head])?.word ?? ""),
    shares: each((layer, head) => measure.said(gone[layer][head])?.share ?? null),
  };
}

/** @type {(model: Model, ran: Ran) => TokenEffects} */
export function knockOut(model, ran) {
  const measure = measureOf(model, ran);
  const { ids, padding } = ran;
  const left = (/** @type {number} */ at) => at === measure.skip || padding.includes(at);
  const without = ids.map((_, at) => (left(at) ? null : forward(model, ids, { hidden: [at], padding })));
  const before = measure.value(ran);
  const said = without.map((each) => each && measure.said(each));
  const untouched = measure.said(ran);
  return {
    sentence: "",
    measure: measure.words,
    before,
    untouched: { answer: untouched?.word ?? "", share: untouched?.share ?? null },
    values: without.map((each) => each && measure.value(each) - before),
    answers: said.map((each) => each?.word ?? ""),
    shares: said.map((each) => each?.share ?? null),
    labels: [untouched?.word ?? "", ""],
    pair: without.map((each) => [each && measure.left(each), null]),
  };
}

/** @type {(model: Model, ran: Ran) => Measure} */
function measureOf(model, ran) {
  const [at] = masked(model, ran);
  return at === undefined ? turned(ran) : preferred(model, ran, at);
}

/** The logit of the answer less that of the next one. @type {(model: Model, ran: Ran, at: number) => Measure} */
function preferred(model, ran, at) {
  const scores = (/** @type {Ran} */ each) => logits(model, each.last[at].out);
  const first = scores(ran);
  const [answer, other] = first.map((_, word) => word).sort((a, b) => first[b] - first[a]);
  return {
    words: `logit of “${model.words[answer]}” − “${model.words[other]}” at token ${at}`,
    skip: at,
    value: (each) => scores(each)[answer] - scores(each)[other],
    said: (each) => best(model, scores(each)),
    left: (each) => sharesOf(scores(each))[answer],
  };
}

/** How far the mean over the tokens turned. @type {(ran: Ran) => Measure} */
function turned(ran) {
  const pooled = meanOf(ran);
  return {
    words: "1 − cosine between the pooled vector (mean) and the untouched one",
    skip: -1,
    value: (each) => 1 - cosine(meanOf(each), pooled),
    said: () => null,
    left: () => null,
  };
}

/** The mean over real tokens, without padding. @type {(ran: Ran) => Vector} */
function meanOf({ last, padding }) {
  const real = last.filter((_, at) => !padding.includes(at));
  return real[0].out.map((_, dim) => real.reduce((sum, { out }) => sum + out[dim], 0) / real.length);
}
