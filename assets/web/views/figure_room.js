// The pixels that the parts of a figure take on the page: its plots, one above another, and what stands around them.

import { heatmapOf, plainText, unpack } from "./figure_numbers.js";

/** @typedef {{ y: string[], x: string, title: string, height: number, under: number }} Plot its axes as the layout
 *   names them, the title of x, and what that axis takes below it */
/** @typedef {{ narrow: boolean, across: number, plots: Plot[], plot: number, lying: boolean, below: number,
 *   height: number, margin: { t: number, b: number } }} Room `plot` is all plots with what is between them; their
 *   scale stands beside them, or lies so far `below` */

export const BARE = 480; // below which Plotly's buttons would lie over the names
const NARROW = 600;
const BUTTONS = 30; // Plotly's
const EDGE = 8;
const ROW = [18, 30]; // a row of a heatmap, at least and at most
const [LEAST, MOST] = [150, 620]; // a plot
const CHART = [280, 400]; // and one without rows
const STACKED = 120; // the lowest of several plots at least
export const GAP = 16; // and what is between them
const SHORT = 300; // a plot beside which a scale's title has no room
const [LETTER, LINE] = [6.4, 16]; // of a title
const TICKS = 22; // an axis with its numbers
const BAR = 42; // a scale that lies below, without its title
const [NAMES, BESIDE] = [60, 110]; // the names beside a plot, and a scale
const [KEY, ENTRY] = [46, 19]; // an entry of the legend without its name, and its line

/** `full` is how high it may be where it is alone in the window; 0 elsewhere.
 * @type {(figure: FigureJson, width: number, full?: number) => Room} */
export function roomOf(figure, width, full = 0) {
  const narrow = width < NARROW;
  const bar = barOf(figure);
  const across = width - NAMES - (narrow || bar === null ? 0 : BESIDE);
  const names = namesOf(figure, narrow);
  const plots = plotsOf(figure, width, across, names);
  const between = plots.slice(0, -1).reduce((sum, { under }) => sum + under + GAP, 0);
  const inner = plots.reduce((sum, { height }) => sum + height, between);
  const t = width < BARE ? EDGE : BUTTONS;
  const key = legendOf(figure, across);
  const below = plots[plots.length - 1].under + key.below;
  const head = figure.layout.xaxis?.side === "top" ? names + 40 : 0;
  const around = t + head + key.above + below + EDGE;
  const [own, free] = [figure.layout.height ?? 0, Math.max(figure.layout.height ?? 0, full) - around];
  const usual = own ? LEAST : inner;
  const lying = bar !== null && (narrow || Math.max(usual, free) < SHORT);
  const scale = lying ? BAR + LINE * lines(barTitle(bar, { narrow, across, lying, plot: 0 })) : 0;
  const plot = Math.max(usual, free - scale);
  for (const each of plots) each.height *= (plot - between) / (inner - between);
  const margin = { t, b: lying ? below + scale : EDGE };
  return { narrow, across, plots, plot, lying, below, height: Math.round(plot + around + scale), margin };
}

/** The title in lines of so many pixels at most, broken before brackets first.
 * @type {(text: unknown, pixels: number) => string} */
export function wrapped(text, pixels) {
  const fits = (/** @type {string} */ line) => plainText(line).length * LETTER <= pixels;
  const given = String(text ?? "").split("<br>");
  const parts = given.flatMap((line) => (fits(line) ? [line] : line.split(/ (?=\()/)));
  return parts.map((part) => folded(part, fits)).join("<br>");
}

/** @type {(text: string, fits: (line: string) => boolean) => string} */
const folded = (text, fits) =>
  text.split(" ").reduce((all, word) => {
    const last = all.split("<br>").pop();
    return all + (fits(`${last} ${word}`) ? " " : "<br>") + word;
  });

/** The title of a scale: along it where it stands, as wide as it is where it lies.
 * @type {(text: unknown, room: Pick<Room, "narrow" | "across" | "lying" | "plot">) => string} */
export function barTitle(text, { narrow, across, lying, plot }) {
  return lying
    ? wrapped(String(text ?? "").replaceAll("<br>", " "), narrow ? across : across / 2)
    : wrapped(text, plot);
}

const lines = (/** @type {string} */ title) => (title ? title.split("<br>").length : 0);

// The title of the scale; null if there is none.
function barOf(/** @type {FigureJson} */ { data, layout }) {
  const bar = layout.coloraxis?.colorbar ?? data.find(({ type, colorbar }) => type === "heatmap" && colorbar)?.colorbar;
  return bar ? (bar.title?.text ?? "") : null;
}

/** From the top. @type {(figure: FigureJson, width: number, across: number, names: number) => Plot[]} */
function plotsOf(figure, width, across, names) {
  const stacked = stackOf(figure.layout);
  const least = Math.min(...stacked.map(({ share }) => share));
  const height = plotHeight(figure, width, stacked.length);
  const titles = stacked.map(({ x }) => axisOf(figure.layout, x)?.title?.text ?? "");
  return stacked.map(({ x, y, share }, at) => {
    const title = titles[at] === titles[at + 1] ? "" : wrapped(titles[at], across);
    const { side, type, showticklabels } = axisOf(figure.layout, x) ?? {};
    const named = type === "category" && showticklabels !== false ? names : 0;
    const under = side === "top" ? 0 : TICKS + named + (title ? 8 + LINE * lines(title) : 0);
    return { x, y, title, under, height: (height * share) / least };
  });
}

/** The axes of the plots that stand one above another, from the top, and their shares of the height.
 * @type {(layout: FigureLayout) => { x: string, y: string[], share: number }[]} */
function stackOf(layout) {
  const axes = Object.keys({ yaxis: 0, ...layout }).filter((name) => name.startsWith("yaxis"));
  const ends = new Set(axes.map((name) => axisOf(layout, name)?.domain?.[1] ?? 1));
  return [...ends]
    .sort((a, b) => b - a)
    .map((end) => {
      const y = axes.filter((name) => (axisOf(layout, name)?.domain?.[1] ?? 1) === end);
      const { anchor = "x", domain = [0, 1] } = axisOf(layout, y[0]) ?? {};
      return { x: `xaxis${anchor.slice(1)}`, y, share: domain[1] - domain[0] };
    });
}

/** @type {(layout: FigureLayout, name: string) => FigureAxis | undefined} */
const axisOf = (layout, name) => layout[/** @type {"xaxis"} */ (name)];

/** The height of the lowest of so many plots. @type {(figure: FigureJson, width: number, count: number) => number} */
function plotHeight(figure, width, count) {
  const picture = figure.data.find((trace) => trace.type === "image");
  if (picture) {
    const [tall, wide] = unpack(picture.z).shape;
    return Math.min(MOST, (width - (width < NARROW ? 60 : 200)) * (tall / wide));
  }
  const heatmap = heatmapOf(figure);
  if (!heatmap) return count > 1 ? STACKED : Math.max(CHART[0], Math.min(CHART[1], width / 2));
  const each = Math.max(ROW[0], Math.min(ROW[1], (width - 200) / heatmap.cols));
  return Math.max(count > 1 ? STACKED : LEAST, Math.min(MOST / count, heatmap.rows * each));
}

// The names of a heatmap's columns, which are tilted.
function namesOf(/** @type {FigureJson} */ figure, /** @type {boolean} */ narrow) {
  const names = heatmapOf(figure)?.x.slice(0, 400) ?? [];
  return Math.min(Math.max(...names.map(({ length }) => length), 1), longest(narrow)) * 6;
}

// Letters of a name on an axis.
export const longest = (/** @type {boolean} */ narrow) => (narrow ? 9 : 16);

/** Plotly sets the entries in one line, else in columns as wide as the longest.
 * @type {(figure: FigureJson, across: number) => { above: number, below: number }} */
function legendOf({ data, layout }, across) {
  const named = data.filter(({ showlegend, type }) => showlegend ?? type !== "heatmap");
  const widths = named.map(({ name }) => KEY + plainText(name).length * LETTER);
  const columns = Math.max(1, Math.floor(across / Math.max(...widths, 1)));
  const rows = widths.reduce((sum, each) => sum + each, 0) <= across ? 1 : Math.ceil(widths.length / columns);
  const height = named.length > 1 || named.some(({ showlegend }) => showlegend) ? rows * ENTRY + EDGE : 0;
  return layout.legend?.yanchor === "bottom" ? { above: height, below: 0 } : { above: 0, below: height };
}
