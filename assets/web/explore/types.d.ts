// The types that the modules of this tab share.

import type { Range } from "../core/viewport.js";

export type { Borders } from "../core/border.js";
export type { Shown } from "../core/run.js";
export type { Selection } from "../core/selection.js";
export type { Range } from "../core/viewport.js";
export type { Test } from "./head_filter.js";
export type { HeadOrder } from "./head_order.js";
export type { HeadStatistics, HeadValue } from "./head_statistics.js";
export type { AskedPair } from "./pair_search.js";
export type { Plan } from "./lines_drawing.js";
export type { AttentionMap } from "./map.js";
export type { MapChanges } from "./map_changes.js";
export type { Direction } from "./row_view.js";
export type { HeadLink, PairLinksView } from "./pair_links.js";
export type { LineSet, Token } from "./strongest_lines.js";
export type { Part, Tile } from "./tiles.js";

export type Found = Explained; // by the module of the class of that name

/** The places of a part that a reference has not. */
export interface Alone {
  rows?: number[];
  keys?: number[];
}
/** A cell of a signed map; `now` is its weight. */
export interface SignedCell {
  value: number;
  now: number;
  query: string;
  key: string;
  alone: { query?: boolean; key?: boolean };
}
/** What the big map shows in place of the weights: numbers with a sign, red above 0 and blue below. */
export interface Signed {
  run: Run | null; // whose map it is
  shows: string; // which numbers, as far as the selection does not say it; "" while there are none
  most: number; // at least so far the scale goes
  words: Record<"noun" | "none" | "empty" | "alone", string>; // one number; a cell without, its color, a row without any
  legend: string;
  steps?: number[] | null; // how many numbers come first, 0 for all at last; until then cells are empty
  part(run: Run, view: MapView, rows: Range, keys: Range, most?: number, signal?: AbortSignal): Promise<Numbers<Alone>>;
  titled(map: string, run?: Run): string; // with a run where it stands without the page
  cell(cell: SignedCell): string;
  named?(map: string): string; // of several heads
  write?(value: number, brief?: boolean): string; // in a cell or under a scale; without it as weights are written
  file(format: string): string; // the address of its csv, npz or py
}
