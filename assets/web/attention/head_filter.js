// Plain words for heads: "previous token" or "layer 3, far" becomes tests, said back with their bounds.

const evenEntropy = (run) => Math.log(run.real); // the most there can be
const evenDistance = (run) => (run.real ** 2 - 1) / (3 * run.real); // the mean of |i − j| over all pairs
const half = () => 0.5;

// The words; the statistic they mean; its least or most, in a run of so many `real` tokens (neither:
// the person must say); where that bound is from; and the sentence, # for the bound.
export const VOCABULARY = [
  {
    words: ["previous token", "previous", "token before", "before", "preceding"],
    statistic: "previous",
    least: half,
    says: "put # of their weight on the previous token",
  },
  {
    words: ["next token", "next", "token after", "after", "following"],
    statistic: "next",
    least: half,
    says: "put # of their weight on the next token",
  },
  {
    words: ["query itself", "itself", "themselves", "same token", "self", "diagonal"],
    statistic: "diagonal",
    least: half,
    says: "put # of their weight on the query itself",
  },
  {
    words: ["first token", "first", "beginning", "start"],
    statistic: "first",
    least: half,
    says: "put # of their weight on the first token",
  },
  {
    words: ["[cls]", "cls", "<s>", "class token"],
    statistic: "first",
    least: half,
    says: "put # of their weight on the first token, here “FIRST”",
  },
  {
    words: ["special tokens", "special token", "special", "[sep]", "sep", "</s>"],
    statistic: "special",
    least: half,
    says: "put # of their weight on special tokens, all of them together",
  },
  {
    words: ["high entropy", "broad", "broadly", "uniform", "uniformly", "even", "evenly", "everywhere"],
    statistic: "entropy",
    least: (run) => 0.8 * evenEntropy(run),
    from: "0.8 of that of even attention",
    says: "have an entropy of # nats",
  },
  {
    words: ["low entropy", "focused", "focussed", "sharp", "sharply", "narrow"],
    statistic: "entropy",
    most: (run) => 0.3 * evenEntropy(run),
    from: "0.3 of that of even attention",
    says: "have an entropy of # nats",
  },
  { words: ["entropy"], statistic: "entropy", says: "have an entropy of # nats" },
  {
    words: ["long distance", "large distance", "far away", "far", "distant", "global"],
    statistic: "distance",
    least: evenDistance,
    from: "as far as even attention",
    says: "look # tokens away on average",
  },
  {
    words: [
      "short distance",
      "small distance",
      "near",
      "nearby",
      "local",
      "locally",
      "close",
      "neighbors",
      "neighbours",
    ],
    statistic: "distance",
    most: (run) => Math.min(3, evenDistance(run) / 2),
    from: "3, or half as far as even attention",
    says: "look # tokens away on average",
  },
  { words: ["mean distance", "distance"], statistic: "distance", says: "look # tokens away on average" },
  {
    words: ["one large weight", "large weight", "largest weight", "single weight", "one weight", "spike"],
    statistic: "largest",
    least: () => 0.9,
    says: "have a largest weight of #",
  },
  {
    words: ["changed", "change", "different", "reference"],
    statistic: "change",
    least: () => 0.1,
    says: "moved # of their weight, against the reference",
  },
];
export const EXAMPLES = [
  "previous token",
  "next token",
  "itself",
  "first token",
  "[CLS]",
  "special tokens",
  "high entropy",
  "low entropy",
  "far",
  "near",
  "one large weight",
  "layer 3",
  "head 5",
  "3.5",
  "previous token over 0.3",
];
const SILENT = new Set(
  "head heads that which who look looks looking at on to the a an of with and in their its is are all show find attend attends attention weight weights token tokens patch patches put puts have has mostly mainly most very from against only where it they".split(
    " ",
  ),
);
const SIGNS = {
  "at least": ">=",
  "at most": "<=",
  "more than": ">=",
  "less than": "<=",
  over: ">=",
  above: ">=",
  under: "<=",
  below: "<=",
  "≥": ">=",
  "≤": "<=",
};
const PLACE = / (?:(\d+)\.(\d+)|layers? (\d+)|heads? (\d+))(?= )/;
const ONE = { put: "puts", have: "has", look: "looks", moved: "moved" };

// What a text asks for in a run (nLayers, nHeads, real, tokens): places and tests that must all hold;
// a fault in a sentence where it is not understood; null where there is no text.
export function understand(text, run) {
  let rest = plain(text);
  if (!rest.trim()) return null;
  const take = (pattern) => {
    const found = pattern.exec(rest);
    if (found) rest = rest.replace(found[0], () => " ");
    return found;
  };
  const parts = [];
  for (const [words, entry] of phrases()) {
    const found = take(bounded(words));
    if (found) parts.push(test(words, entry, found, run));
  }
  for (let found = take(PLACE); found; found = take(PLACE)) parts.push(place(found, run));
  const unknown = rest.split(" ").filter((word) => word && !SILENT.has(word));
  if (unknown.length)
    return {
      fault: `“${unknown.join(" ")}” is not understood. Known are ${EXAMPLES.join(", ")}; of several, all must hold.`,
    };
  if (!parts.length) return { fault: `Say what they look at, such as ${EXAMPLES.slice(0, 6).join(", ")}.` };
  return (
    parts.find(({ fault }) => fault) ?? {
      places: parts.filter((one) => !one.statistic),
      tests: parts.filter((one) => one.statistic),
    }
  );
}

// The heads (layer, head) that match, and a sentence of how many do what; `value` gives a statistic of one.
export function matching({ places, tests }, heads, value) {
  const at = (one) =>
    ["both", "layer", "head"].every((kind) => {
      const asked = places.filter((place) => place.kind === kind); // of several layers, any will do
      return (
        !asked.length ||
        asked.some(({ layer, head }) => (layer ?? one.layer) === one.layer && (head ?? one.head) === one.head)
      );
    });
  const known = heads.filter((one) => at(one) && tests.every(({ statistic }) => value(statistic, one) != null));
  const found = known.filter((one) => tests.every((each) => holds(each, value(each.statistic, one))));
  return { found, says: sentence(found.length, places, tests) + (found.length ? "" : nearest(known, tests, value)) };
}

// In small letters, signs for bounds, one space around every word.
function plain(text) {
  let rest = ` ${text
    .toLowerCase()
    .replace(/[“”",;?!]/g, " ")
    .replace(/([<>]=?|[≥≤])/g, " $1 ")
    .replace(/\s+/g, " ")
    .trim()} `;
  for (const [words, sign] of Object.entries(SIGNS)) rest = rest.replaceAll(` ${words} `, ` ${sign} `);
  return rest.replaceAll(" half ", " 0.5 ");
}

// Every phrase with its entry, longer ones first, so that "token before" is not read as "before".
function phrases() {
  const all = VOCABULARY.flatMap((entry) => entry.words.map((words) => [words, entry]));
  return all.toSorted(([a], [b]) => b.length - a.length);
}

// The phrase, and a bound of the person's own after it.
function bounded(words) {
  const literal = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(` ${literal}(?: tokens?)?(?: ([<>])=? (\\d*\\.?\\d+)(%?))?(?= )`);
}

function test(words, { statistic, least, most, from, says }, [, sign, number, percent], run) {
  if (!sign && !least && !most) return { fault: `Say how much: “${words} over 1” or “${words} under 1”.` };
  const side = sign ?? (least ? ">" : "<");
  const at = sign ? number / (percent ? 100 : 1) : (least ?? most)(run);
  return { statistic, side, at, says: says.replace("FIRST", () => run.tokens[0]), from: sign ? "" : from };
}

function place([, layer, head, onlyLayer, onlyHead], run) {
  const found = {
    kind: layer ? "both" : onlyLayer ? "layer" : "head",
    layer: whole(layer ?? onlyLayer),
    head: whole(head ?? onlyHead),
  };
  if (found.layer >= run.nLayers)
    return { fault: `There is no layer ${found.layer}; this run has layers 0 to ${run.nLayers - 1}.` };
  if (found.head >= run.nHeads)
    return { fault: `There is no head ${found.head}; this run has heads 0 to ${run.nHeads - 1}.` };
  return found;
}

const holds = ({ side, at }, value) => (side === ">" ? value >= at : value <= at);
const whole = (digits) => (digits === undefined ? undefined : Number(digits));
const short = (value) => String(Number(value.toPrecision(3)));

function sentence(count, places, tests) {
  const named = {
    both: ({ layer, head }) => `called ${layer}.${head}`,
    layer: ({ layer }) => `of layer ${layer}`,
    head: ({ head }) => `numbered ${head}`,
  };
  const where = ["both", "layer", "head"]
    .map((kind) =>
      places
        .filter((one) => one.kind === kind)
        .map(named[kind])
        .join(" or "),
    )
    .filter(Boolean);
  const said = tests.map((one) => clause(one, count < 2)).join(" and ") || (count < 2 ? "is shown" : "are shown");
  return `${[count || "No", count < 2 ? "head" : "heads", ...where].join(" ")} ${said}.`;
}

// What a test says of one head or of many: "puts at least 0.5 of its weight on …".
function clause({ side, at, says, from }, one) {
  const [verb, ...rest] = says.split(" ");
  const words = [one ? ONE[verb] : verb, ...rest]
    .join(" ")
    .replace("#", `${side === ">" ? "at least" : "at most"} ${short(at)}`);
  return (one ? words.replace(" their ", " its ") : words) + (from ? ` (${from})` : "");
}

// Which head comes nearest to the one test that none passes.
function nearest(known, tests, value) {
  if (tests.length !== 1 || !known.length) return "";
  const [{ statistic, side }] = tests;
  const far = (one) => value(statistic, one) * (side === ">" ? 1 : -1);
  const best = known.reduce((a, b) => (far(b) > far(a) ? b : a));
  return ` ${best.layer}.${best.head} comes nearest, with ${short(value(statistic, best))}.`;
}
