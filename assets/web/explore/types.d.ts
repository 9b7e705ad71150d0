// The types that the modules of this tab share: known by their names.

type Reference = import("./reference.js").Reference;
type Test = import("./head_filter.js").Test;
type HeadOrder = import("./head_order.js").HeadOrder;
type HeadStatistics = import("./head_statistics.js").HeadStatistics;
type HeadValue = import("./head_statistics.js").HeadValue;
type AskedPair = import("./pair_search.js").AskedPair;
type AttentionMap = import("./map.js").AttentionMap;
type MapChanges = import("./map_changes.js").MapChanges;
type Direction = import("./row_view.js").Direction;
type HeadLink = import("./pair_links.js").HeadLink;
type PairLinksView = import("./pair_links.js").PairLinksView;
type LineSet = import("./strongest_lines.js").LineSet;
type Token = import("./strongest_lines.js").Token;
type Tile = import("./tiles.js").Tile;

type Found = Explained; // by the module of the class of that name

/** The places of a part that a reference has not. */
interface Alone {
  rows?: number[];
  keys?: number[];
}
/** A cell of a signed map; `now` is its weight. */
interface SignedCell {
  value: number;
  now: number;
  query: string;
  key: string;
  alone: { query?: boolean; key?: boolean };
}
/** What the big map shows in place of the weights: numbers with a sign, red above 0 and blue below. */
interface Signed {
  run: Run | null; // whose map it is
  shows: string; // which numbers, as far as the selection does not say it; "" while there are none
  most: number; // at least so far the scale goes
  words: Record<"noun" | "none" | "empty" | "alone", string>; // one number; a cell without, its color, a row without any
  legend: string;
  steps?: number[] | null; // how many numbers come first, 0 for all at last; until then cells are empty
  part(run: Run, view: MapView, rows: Span, keys: Span, most?: number, signal?: AbortSignal): Promise<Numbers<Alone>>;
  titled(map: string, run?: Run): string; // with a run where it stands without the page
  cell(cell: SignedCell): string;
  named?(map: string): string; // of several heads
  write?(value: number, brief?: boolean): string; // in a cell or under a scale; without it as weights are written
  file(format: string): string; // the address of its csv, npz or py
}
