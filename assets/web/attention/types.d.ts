// The types that the modules of this tab share.

export type { Borders } from "../core/border.js";
export type { Rgb, Scale } from "../core/colors.js";
export type { Fresh } from "../core/latest.js";
export type * from "../core/payloads.d.ts";
export type { Run, Shown, Switches, Unit } from "../core/run.js";
export type { Selection } from "../core/selection.js";
export type { Range, Viewport } from "../core/viewport.js";
export type { Measure } from "../views/shading.js";
export type { Titles } from "../views/chip_colors.js";
export type { Test } from "./head_filter.js";
export type { HeadOrder } from "./head_order.js";
export type { HeadStatistics, HeadValue } from "./head_statistics.js";
export type { AskedPair } from "./pair_search.js";
export type { Plan } from "./lines_drawing.js";
export type { AttentionMap, Cell } from "./map.js";
export type { Alone, MapChanges } from "./map_changes.js";
export type { Direction } from "./row_view.js";
export type { HeadLink, PairLinksView } from "./pair_links.js";
export type { LineSet, Token } from "./strongest_lines.js";
export type { Part, Tile } from "./tiles.js";
