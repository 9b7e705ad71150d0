// The types that the modules of this tab share.

import type { Maybe } from "../core/payloads.d.ts";

export type { Maybe };
export interface HeadPlace {
  layer: number;
  head: number;
}

// ui/tabs/corpus/results.py: a table of heads, as HeadTable.load reads it, and its words
export interface HeadTable {
  about: { model: string; source: string; kind: string; untrained: boolean };
  shape: [layers: number, heads: number];
  counts: [texts: number, tokens: number, failed: number];
  n_texts: Record<string, number>; // that have a statistic
  arrays: Record<string, Maybe[][]>; // "previous", "previous_sd", "previous_least", "previous_most"
  examples: Example[];
  failures: [item: number, reason: string][];
  words: Record<string, { title: string; unit: string; meaning: string; edge: string; over: string }>;
  says: Record<string, string>; // which head leads by a statistic
  sentence: string;
}
export interface Example extends HeadPlace {
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
export interface Change {
  at: HeadPlace;
  now: number;
  was: number;
  change: number;
}
