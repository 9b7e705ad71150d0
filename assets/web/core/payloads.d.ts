// Everything that the server sends, as it comes; null stands where a number is not defined.

type Maybe = number | null;
type Head = number | string; // one by its number, several as "1,4,7", or fused: "mean", "max"

interface Grid {
  rows: number;
  cols: number;
  prefix: number; // tokens before the first patch
}

// ui/state/run_description.py
interface RunDescription extends Omit<StripFacts, "picture"> {
  key: string;
  kind: string;
  link: Record<string, string>; // what opens the run again
  model: string;
  device: string;
  dtype: string;
  kernel: string;
  revision: string;
  weights: string; // "untrained" where they are random
  hasModel: boolean; // whether its model is here, to run again
  tasks: string[];
  unsplit: string; // why no answer of this run can be split over its tokens
  masked: string; // the mask that a person ran it with, in a few words; "" where there was none
  changed: Changed | null; // what was changed in it; null in a plain run
  nLayers: number;
  nHeads: number;
  valid: boolean[];
  words: Maybe[];
  notes: string[];
  swap: [word: string, twin: string] | null; // of an example that has a minimal pair
  example: boolean; // whether the input is one of the page's examples
  opening: { layer: number; head: number; query: number; key: number; measure?: string; why?: string } | null; // what stands out
  vocabulary: Vocabulary;
}
interface Changed {
  plain: string; // the key of the run in which nothing was changed
  changes: { code: string; words: string }[];
  notes: string[]; // that the plain run has not
  unknown: string; // of them, that words are unknown to the model
}
interface Vocabulary {
  statistics: Record<string, StatisticText>;
  scales: Record<string, { title: string; measures: string; says: string }>;
}
interface StatisticText {
  title: string;
  unit: string;
  meaning: string;
  edge: string; // which queries are left out
  over: string;
  most: number; // it can be, in this run
  even: Maybe; // where all tokens get the same weight
}

// ui/wire/bytes.py: raw float32; what a header does not say is [1, 1], null, NaN, 0 or ""
interface Numbers<About = unknown> {
  shape: number[];
  values: Float32Array;
  tops: Float32Array | null; // of each row, where they were asked for
  step: number[]; // tokens a cell stands for
  total: number;
  empty: number; // queries without any key
  answer: string;
  about: About; // JSON of its own
}

// ui/wire/run_facts.py
interface Proof {
  checked: boolean;
  passed: boolean;
  error: number;
  sentence: string;
}
interface Prediction {
  token: Maybe;
  labels: string[];
  shares: Maybe[];
  unit: string;
  knows: string; // what the head can answer, where it has few labels
}

// ui/tabs/explore
// Its head brings most in the direction of the sum.
interface RouteEdge extends HeadPlace {
  query: number;
  key: number;
  share: number;
  by_head: number | null; // null: not known
}
interface Explained {
  sentence: string;
  words: string; // what the score is
  score: number;
  unit: "logits" | "length" | "weight";
  token?: number; // whose state or answer it is
  start?: number | null; // of attention: the token whose state is read; null: all together
  adds?: boolean; // whether its numbers may be summed; else they are effects
  large: boolean; // whether percentages of it say much
  apart?: "distance" | "difference" | ""; // what two runs differ by; "" of one run
  whole?: number; // of a distance: the length of the vector in this run, or in the one before a change
  alone?: { score: number; large: boolean; tokens: number[]; names: string[] }; // and what it is made of there
  along?: number; // and how far a change moved it along what it was, as a part of that length
  names: string[];
  tokens: number[];
  biases: number;
  heads: Maybe[][]; // null: not measured
  unexplained: number;
  groups: number[][];
  nodes: number[][]; // "state column"
  edges: RouteEdge[]; // the strongest first
}
interface MapView {
  layer: number;
  head: Head;
  hide: boolean;
  renorm: boolean;
  words: boolean;
}
type LayerStatistics = Record<string, Maybe[]>; // by the statistic's name, a number a head
type HeadChanges = Maybe[]; // of one layer against the reference's
// This run − the reference; /compared_map is Numbers, NaN where a token has no counterpart.
interface Compared {
  aligned: [here: number, there: number][];
  only_here: number[];
  only_there: number[];
  by: "tokens" | "words"; // words where the tokenizers differ
  cell: { now: Maybe[][]; was: Maybe[][]; change: Maybe[][] } | null; // layer, head
  row: Maybe[][] | null; // how far the query's row moved, 0 … 1
  heads: [layer: number, head: number, change: number][]; // of the cell, the row or all; largest first
  why: string; // what cannot be compared
}
// One cell in every head; layer, head. Null: the mask forbids it, or there is no such head.
interface PairLinks {
  weights: Maybe[][];
  means: Maybe[][]; // that the key gets over all real queries
  ratios: Maybe[][];
}
// One layer's heads: the share that a role has of each, and of how many queries it is the mean.
interface RoleShares {
  shares: Maybe[];
  queries: number;
}
// Every head's Jensen–Shannon distance to one; layer, head. Null: there is no such head.
interface SimilarHeads {
  distances: Maybe[][];
  queries: number;
}
interface Findings {
  sentence: string; // the first finding's, or that nothing stands out
  found: Finding[];
}
interface Finding extends HeadPlace {
  // the clearest head
  kind: string;
  query: Maybe;
  key: Maybe;
  weight: Maybe;
  ratio: Maybe;
  sentence: string;
  chip: string;
  heads: [layer: number, head: number][]; // all that do it, the clearest first
}

// ui/wire/figures.py: what can be drawn of a run, by its name
type Views = Record<string, ViewDescription>;
interface ViewDescription {
  name: string;
  title: string;
  controls: ViewControl[];
  look: string; // what to look at first
  measured: string;
  source: string;
  missing: string; // why it cannot be drawn of this run
  place: ViewPlace | null;
}
interface ViewPlace {
  tab: string;
  slot: string;
  order: number;
}
interface ViewControl {
  name: string;
  label: string;
  choices: string[];
  words: string[];
  counts: "" | "layer" | "state" | "head" | "token" | "name";
  most: Maybe;
  default: string | number | null;
}

// Plotly's JSON
interface FigureJson {
  data: FigureTrace[];
  layout: FigureLayout;
}
interface FigureTrace {
  type: string;
  name?: string;
  x?: Packed;
  y?: Packed;
  z?: Packed;
  xaxis?: string;
  yaxis?: string;
  showscale?: boolean;
  showlegend?: boolean;
  colorscale?: string | [number, string][];
  colorbar?: { title?: Titled };
}
interface FigureLayout {
  title?: Titled;
  annotations?: { name?: string; text?: string }[];
  margin?: object;
  modebar?: object;
  font?: object;
  width?: number;
  height?: number;
  xaxis?: FigureAxis;
  yaxis?: FigureAxis;
  coloraxis?: Pick<FigureTrace, "colorscale" | "colorbar">;
  legend?: { yanchor?: string };
}
interface FigureAxis {
  title?: Titled;
  side?: string;
  type?: string;
  showticklabels?: boolean;
  anchor?: string;
  domain?: [from: number, to: number];
}
interface Titled {
  text?: string;
}
type FigureCell = string | number | null;
type Packed = FigureCell[] | FigureCell[][] | { bdata: string; dtype: string; shape?: string };

// ui/tabs/vectors: states; `over_smoothing`, `nearest` and `logit_lens`, the others are Numbers
interface OverSmoothing {
  cosine: Maybe[];
  apart: Maybe[];
  centered: Maybe[];
  tokens: number[];
}
interface NearestTokens {
  neighbors: number[];
  states: number[];
  cosines: Maybe[];
  token: number;
  state: number;
}

// ui/tabs/vectors: poolings
interface Pooled {
  layer: number;
  layers: number;
  width: number;
  methods: { name: string; what: string; numbers: number; norm: Maybe; toMean: Maybe }[];
  own: string; // the model's own pooling, in words
  cosines: Maybe[][];
  shares: Record<string, Maybe[]>;
  weights: Maybe[] | null;
  looks: Maybe[] | null;
  wins: number[];
  leftOut: Record<string, string>;
  room: number; // for padding
  noRoom: string;
}
// The cosine of two texts as a sum over pairs of tokens; its map is the figure token_pairs.
interface TokenPairs {
  sentence: string;
  cosine: number;
  special: number; // what pairs with a special token add
  method: string;
  layer: number;
  tokens: string[];
  others: string[]; // of the second text
  top: [one: string, other: string, part: number][]; // of whole words
  alike: Record<string, Maybe>; // cosine of the two texts by each pooling
  usual: Record<string, Maybe>; // and that of two texts on different topics
  notes: string[]; // of the second text
  why: string; // why this pooling is no sum over tokens; then it stands alone
}
interface PaddingDrift {
  layer: number;
  tokens: number;
  padding: number;
  cases: Record<string, string>;
  rows: { method: string; case: string; largest: Maybe; relative: Maybe; cosine: Maybe; why: string }[];
  worst: [method: string, name: string] | null;
}
interface SetRow {
  method: string;
  state: number;
  silhouette: Maybe;
  centroid_accuracy: Maybe;
  recall_at_1: Maybe;
  within: Maybe;
  between: Maybe;
  why: string;
}
interface SetDescription {
  key: string;
  set: string;
  model: string;
  pictures: boolean;
  names: string[];
  labels: string[];
  own: string;
  methods: Record<string, string>;
  layers: number[];
  leftOut: Record<string, string>;
  notes: string[];
  table: SetRow[];
  answer: string;
}
interface Neighbor {
  item: number;
  cosine: Maybe;
  same_label: boolean | null;
}
interface LearnedDescription extends Pick<SetDescription, "key" | "set" | "model" | "names" | "labels"> {
  layer: number;
  groups: string[];
  folds: number;
  seeds: number[];
  losses: Maybe[][];
  accuracy: Record<string, number[]>;
  chance: number;
}
interface WeighedItem {
  tokens: string[];
  weights: number[];
  grid: Grid | null;
}

// ui/tabs/masks
interface MasksOffered {
  painted: number; // up to so many tokens a mask is painted cell by cell
  most: number;
  presets: MaskPreset[];
  conventions: { name: string; words: string }[];
  mistakes: { name: string; words: string }[];
  targets: { name: string; byKey: boolean }[]; // by key: one row for all queries
  file: string; // from which code loads a mask that is too long to be written out
  fileBytes: number; // the most of an uploaded file
  scoped: string; // the one of them that takes a mask by layer and head
  missing: string;
  plain: RunDescription | null;
  alone: RunDescription | null; // of a run with [PAD], the run without them
  made: { name: string; sizes: Record<string, number> } | null; // the preset that makes the run's mask
  scope: string; // of the mask that the run was made with, "" for all layers and heads
}
interface MaskPreset {
  name: string;
  label: string;
  sentence: string;
  controls: { name: string; label: string; minimum: number; default: number }[];
  lengths: boolean;
  pads: string; // where it puts real [PAD] tokens: "end", "start", or "" where nowhere
}
interface MaskResult {
  run: RunDescription;
  plain: string;
  alone: string; // whether padding changes the real tokens; "" where that cannot be said
  mistake: string;
  scope: { code: string; words: string; heads: number }; // where the mask applies; code is "" for all
  sentence: string;
  forbidden: number;
  leak: Maybe[][]; // layer, head; null out of scope
  at: [query: number, key: number][][];
  extra: number[]; // a layer: pairs that it allows and the mask forbids
  missing: number[];
  empty: number[];
}

// ui/tabs/explore: changed runs
interface ChangedRunMade {
  run: RunDescription;
  plain: RunDescription; // the same where nothing is changed
}
interface Said {
  sentence: string;
  became: string; // its second half
  measure: string;
  labels: string[];
  before: number[];
  after: number[];
  flips: boolean;
  value: Maybe; // before
  changed: Maybe; // after
  cosine: Maybe; // of the pooled vectors before and after
  moved: Maybe; // mean over tokens of ‖h − h′‖ / ‖h′‖ at the output
}
interface ChangeProof extends Pick<Proof, "passed" | "sentence"> {
  parts: Pick<Proof, "passed" | "sentence">[];
}
interface WhatIfOffered {
  fixed: string; // why nothing can be changed; "" where it can
  missing: string; // why no effects can be measured; "" where they can
}
// The measure with the head removed, less that of the run as it was; layer, head.
interface HeadEffects {
  sentence: string;
  flip: string; // the part of it that says how the answer flips; "" where it does not
  measure: string;
  how: string; // what stands in for the head, in words
  before: Maybe;
  untouched: { answer: string; share: Maybe };
  values: Maybe[][];
  answers: string[][];
  shares: Maybe[][];
  forwards: number;
}
interface TokenEffects extends Pick<HeadEffects, "sentence" | "measure" | "untouched"> {
  before: number;
  values: Maybe[]; // a token
  answers: string[];
  shares: Maybe[];
  labels: string[]; // the first two answers
  pair: Maybe[][]; // token, label
}
interface TextEffects {
  sentence: string;
  measure: string;
  n: number;
  mean: Maybe[][];
  spread: Maybe[][];
}

// ui/tabs/masks: known bugs
interface Zoo {
  sections: { title: string; specimens: Specimen[] }[];
  easy: { identifier: string; others: string[] }[]; // the beginners' quiz, and what each is told from
  seeds: number;
  command: string;
}
interface Specimen {
  identifier: string;
  title: string;
  symptom: string;
  story: string;
  wrong: string;
  right: string;
  flagged_by: string;
  missed: string;
  own_code: string; // audits one's own model, with this specimen's intent
}
interface AuditAnswer {
  identifier: string;
  fixed: boolean;
  seed: number;
  kept: boolean; // made with this version, and not now
  report: { verdict: string; sentence: string; checks: AuditCheck[]; not_tested: string[]; seconds: number };
  pictures: AuditPicture[];
}
interface AuditCheck {
  name: string;
  title: string;
  verdict: string;
  evidence: string;
  cause?: string;
  cure?: string;
  code?: string;
  layer?: number;
  head?: number;
  sample?: number;
  query?: number;
  key?: number;
  amount?: number | string;
  follows_from?: string;
}
interface AuditPicture {
  title: string;
  source: "audit" | "run";
  cell: [query: number, key: number]; // that the verdict names, or the first that is wrong
  layer: Maybe;
  head: Maybe;
  sample: number;
  real: boolean[] | null;
  intended: boolean[][];
  passed: boolean[][] | null;
  passed_as: string;
  observed: Maybe[][] | null;
  observed_is: string;
  leaks: boolean[][];
  lost: boolean[][];
}

interface PageSides {
  cross: boolean;
  counts: number[]; // tokens along each side
  shape: number[]; // cells
}
interface PageMap extends PageSides {
  layer: number;
  head: Maybe; // null where it is of several, or not as it ran
  name: string;
  note?: string;
  names?: string[][];
  numbers?: string[][];
  segments?: number[];
  special?: boolean[];
  queries?: number[]; // the first token of each row
}

// export/document.py: what the words or the picture of a file are made of
interface StripFacts {
  tokens: string[];
  special: boolean[];
  segments: number[];
  grid: Grid | null;
  picture: string; // an address that holds it
}

// export/run_document.py: what an exported page and a notebook's cell hold
interface RunFacts extends StripFacts {
  title: string;
  about: string;
  proof: string;
  passed: boolean;
  notes: string[];
  others: string[]; // the keys of a layer that attends across
  scale: { name: string; measures: string; says: string };
  levels: number; // steps from 0 to a map's largest weight
  maps: (PageSides & { layer: number; head: number; top: number })[];
  kept: (Partial<PageMap> | null)[]; // names along the sides without and with cross-attention; null if all tokens are shown
  heads: number[]; // of each layer
  left_out: string;
  opening: { layer: number; head: Head; query: number; key?: number };
  chosen: PageMap | null; // a map that is exact
  snippet: string;
  changed: { made: string[]; sentence: string; answers: [label: string, before: number, after: number][] } | null;
  explained: Partial<Explained> | null; // what is drawn of a score, with names where they are not the tokens
}

interface HeadPlace {
  layer: number;
  head: number;
}

// ui/tabs/corpus/results.py: a table of heads, as HeadTable.load reads it, and its words
interface HeadTable {
  about: { model: string; source: string; kind: string; untrained: boolean; no_relations: string };
  shape: [layers: number, heads: number];
  counts: [texts: number, tokens: number, failed: number];
  n_texts: Record<string, number>; // that have a statistic
  arrays: Record<string, Maybe[][]>; // "previous", "previous_sd", "previous_least", "previous_most"
  examples: HeadExample[];
  failures: [item: number, reason: string][];
  words: Record<string, { title: string; unit: string; meaning: string; edge: string; over: string }>;
  says: Record<string, string>; // which head leads by a statistic
  sentence: string;
  relations: Relations | null; // of a treebank
  names?: Record<string, string>; // of the files of pictures, by item
}
interface Relations {
  relations: string[];
  n_arcs: number[];
  accuracy: number[][][]; // relation, layer, head
  random: number[][][];
  offsets: number[];
  offset_accuracy: number[];
  direction: "to_head" | "to_dependent";
  n_sentences: number;
  n_left_out: number;
}
interface HeadExample extends HeadPlace {
  score: number;
  item: number;
  texts: string[];
  query: number;
  key: number;
  query_token: string;
  key_token: string;
  query_span: [start: number, stop: number]; // in code points of the text of its side
  key_span: [start: number, stop: number];
  query_side: number;
  key_side: number;
}
