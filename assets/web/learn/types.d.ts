// What the server says of one token's way through one layer, and what the modules of this tab share.

import type EN from "../../lessons/en.json";
import type { SHARED } from "./texts.js";

export type Given = string | number | boolean | null | undefined;
type Takes<Names> = Names extends `${string}, ${infer Others}` ? [Given, ...Takes<Others>] : [Given];
type Read<Words> = {
  [Key in keyof Words as Key extends `${infer Name}(${string})` ? Name : Key]: Key extends `${string}(${infer Names})`
    ? (...given: Takes<Names>) => string
    : Words[Key] extends string | string[] | ((...given: never[]) => string)
      ? Words[Key]
      : Read<Words[Key]>;
};
export type Texts = Read<typeof EN.language & typeof EN.page & typeof SHARED>;

export interface Norm {
  kind: string;
  mean: Maybe;
  std: number;
  weight: number[] | null;
  bias: number[] | null;
  before: number[];
  after: number[];
}
export interface EmbeddingNumbers {
  id: Maybe;
  token: number[] | null;
  position: number[] | null;
  segment: number[] | null;
  sum: number[];
  norm: Norm | null;
  out: number[];
  says: string;
}
export interface ProjectionNumbers {
  x: number[];
  dim: number;
  column: number[];
  bias: Maybe;
  sum: number;
  q: number[];
  k: number[];
  v: number[];
  q_before: number[] | null;
  k_before: number[] | null;
  says: string;
}
/** q, k, dots and scores are null of a model that computes its own softmax. */
export interface AttentionNumbers {
  q: number[] | null;
  k: number[] | null;
  v: number[][] | null;
  dots: number[] | null;
  scale: number;
  bias: number[] | null;
  allowed: number[];
  sink: Maybe;
  scores: Maybe[] | null;
  weights: number[];
  out: number[];
}
/** Of a model whose queries and keys were seen. */
export type SeenAttention = AttentionNumbers & Record<"q" | "k" | "dots", number[]>;
export interface HeadsNumbers {
  lengths: number[];
  parts: number[][];
  bias: number[] | null;
  sum: number[];
}
export interface Stage {
  id: string;
  title: string;
  vector: number[] | null;
  length: Maybe;
  norm: Norm | null;
}
export interface FfnNumbers {
  before: number[];
  after: number[];
  activation: string;
  on: number;
  strongest: [unit: number, value: number][];
  out: number[];
}
export interface TokenNumbers {
  ids: number[] | null;
  embedding: EmbeddingNumbers | null;
  projection: ProjectionNumbers | null;
  attention: AttentionNumbers | null;
  heads: HeadsNumbers | null;
  stages: Stage[] | null;
  ffn: FfnNumbers | null;
  missing: Record<string, string>;
  agrees: Maybe;
}

export interface Place extends HeadPlace {
  query: number;
  key: number;
  dim: number; // of q, whose sum is shown
  around: number; // of a long vector: about which its numbers are printed
}
export interface Shown {
  run: Run;
  place: Place;
  numbers: TokenNumbers;
  texts: Texts;
}
export interface Acts {
  choose: (place: Partial<Place>) => unknown;
  layoutChanged: () => unknown;
  signal: AbortSignal;
  /** Whether an exercise is asked of which the answer is neither found nor shown. */
  asks: (id: string) => boolean;
}
