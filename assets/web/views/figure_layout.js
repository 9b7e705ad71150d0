// A figure as the page shows it: in the page's colors, as wide as there is room, text beside it.

import { rgb, signedStops } from "../core/colors.js";
import { css, isDark } from "../core/dom.js";
import { heatmapOf, isCaption, isMarks, plainText, unpack } from "./figure_numbers.js";

const NARROW = 600;
const LONGEST = [16, 9]; // letters of a name on an axis; fewer where it is narrow
const ROW = [18, 30]; // pixels a row of a heatmap, at least and at most
const [LEAST, MOST] = [150, 620]; // pixels of the plot itself
const [SCALE, UNDER] = [74, 46]; // pixels of a scale that lies below, and of an axis above it
const BUTTONS = 30; // pixels for Plotly's own
const SHORT = 300; // pixels of a plot beside which a scale's title has no room
const AROUND = 240; // pixels around a plot, at most: names, Plotly's buttons and a scale
const [LETTER, NAMES] = [6.4, 60]; // pixels of a letter of a scale's title, and of the names beside a plot
const MASKED_DARK = "#57493c";

/** `room` is how high it may be where it is alone in the window; 0 elsewhere.
 * @type {(figure: FigureJson, width: number, room?: number) => { data: FigureTrace[], layout: FigureLayout & { height: number } }} */
export function laidOut(figure, width, room = 0) {
  const narrow = width < NARROW;
  const plot = plotHeight(figure, width, room);
  const under = figure.layout.xaxis?.side === "top" ? 0 : UNDER;
  // Distance of the scale below the plot, as a share of its height; 0 if it is beside it.
  const below = narrow || plot < SHORT ? (12 + under) / (plot === Infinity ? pictureHeight(figure, width) : plot) : 0;
  const layout = {
    ...figure.layout,
    ...axes(figure, narrow),
    width,
    height: height(figure, width, narrow, below, room),
    title: { text: "" }, // the page has it as text, which wraps
    annotations: (figure.layout.annotations ?? []).filter(
      (each) => !isCaption(each) && !(narrow && each.name === "link"),
    ),
    modebar: { bgcolor: "transparent" }, // Plotly's half of a transparent paper is gray
    margin: { l: 8, r: 8, t: BUTTONS, b: below ? SCALE + under : 8 },
    font: { ...figure.layout.font, color: css("--body-text-color-subdued") },
  };
  return { data: figure.data.map((trace) => shown(trace, narrow, below, width)), layout };
}

// Layout for paper: black on white, with its title and what it measures.
export function onPaper(/** @type {FigureJson} */ figure) {
  const wide = 1000;
  const { margin = {} } = figure.layout;
  const layout = {
    ...figure.layout,
    width: wide,
    height: height(figure, wide, false, 0) + 190,
    paper_bgcolor: "white",
    margin: { ...margin, t: 170, l: 120 },
    title: { ...figure.layout.title, y: 0.98, yanchor: "top" },
  };
  return { data: figure.data, layout };
}

/** @type {(figure: FigureJson, narrow: boolean) => Pick<FigureLayout, "xaxis" | "yaxis">} */
function axes(figure, narrow) {
  const line = css("--border-color-primary");
  const named = Object.entries(figure.layout).filter(([name]) => /^[xy]axis/.test(name));
  return Object.fromEntries(
    named.map(([name, axis]) => {
      const labelalias = aliases(figure, name.startsWith("x") ? "x" : "y", narrow);
      return [name, { ...axis, automargin: true, gridcolor: line, zerolinecolor: line, labelalias }];
    }),
  );
}

/** Long names lose their end; the whole name is there on pointing, and in the table.
 * @type {(figure: FigureJson, letter: "x" | "y", narrow: boolean) => Record<string, string>} */
function aliases(figure, letter, narrow) {
  const most = LONGEST[narrow ? 1 : 0];
  /** @type {Record<string, string>} */
  const short = {};
  for (const trace of figure.data) {
    for (const name of Array.from(unpack(trace[letter]).values)) {
      if (typeof name !== "string" || plainText(name).length <= most) continue;
      const kept = [...plainText(name)].slice(0, most).join("");
      short[name] = `${kept.replace(/&/g, "&amp;").replace(/</g, "&lt;")}…`;
    }
  }
  return short;
}

// Height of the plot alone, without names, titles and scale; Infinity if it is not ours to choose.
function plotHeight(/** @type {FigureJson} */ figure, /** @type {number} */ width, room = 0) {
  const heatmap = heatmapOf(figure);
  if (!heatmap || figure.layout.height || figure.data.some((trace) => trace.type === "image")) return Infinity;
  const each = Math.max(ROW[0], Math.min(ROW[1], (width - 200) / heatmap.cols));
  return Math.max(LEAST, Math.min(MOST, heatmap.rows * each), room - AROUND);
}

// Height of an image in a figure; a default for charts without cells.
function pictureHeight(/** @type {FigureJson} */ figure, /** @type {number} */ width) {
  const picture = figure.data.find((trace) => trace.type === "image");
  if (!picture) return 280;
  const [tall, wide] = unpack(picture.z).shape;
  return Math.min(MOST, (width - (width < NARROW ? 60 : 200)) * (tall / wide));
}

/** @type {(figure: FigureJson, width: number, narrow: boolean, below: number, room?: number) => number} */
function height(figure, width, narrow, below, room = 0) {
  if (figure.layout.height) return Math.max(figure.layout.height, room);
  const scale = below ? SCALE : 0;
  const plot = plotHeight(figure, width, room);
  if (figure.data.some((trace) => trace.type === "image"))
    return Math.round(pictureHeight(figure, width) + BUTTONS + UNDER + scale);
  if (plot === Infinity) return Math.max(420, room);
  const columns = heatmapOf(figure)?.x.slice(0, 400) ?? [];
  const names = Math.max(...columns.map((name) => name.length), 1);
  return Math.round(plot + Math.min(names, LONGEST[narrow ? 1 : 0]) * 6 + 30 + BUTTONS + scale);
}

/** @type {(trace: FigureTrace, narrow: boolean, below: number, width: number) => FigureTrace} */
function shown(trace, narrow, below, width) {
  const dark = isDark();
  if (dark && isMarks(trace)) return { ...trace, colorscale: [0, 1].map((at) => [at, MASKED_DARK]) };
  if (trace.type !== "heatmap") return trace;
  const lying = { orientation: "h", x: 0, xanchor: "left", y: -below, yanchor: "top", len: narrow ? 1 : 0.5 };
  // In one line only where the scale is as wide, for what is wider loses its ends.
  const line = plainText(trace.colorbar?.title?.text);
  const text = below && !narrow && line.length * LETTER < 0.5 * (width - NAMES) ? line : trace.colorbar?.title?.text;
  const title = { ...trace.colorbar?.title, text, font: { size: 12 }, ...(below && { side: "bottom" }) };
  const colorbar = { ...trace.colorbar, title, ...(below && lying) };
  const { colorscale } = trace;
  const own = Array.isArray(colorscale);
  return { ...trace, colorbar, ...(dark && own && { colorscale: onDark(colorscale) }) };
}

/** Reverse for dark mode: a signed scale with 0 dark, and a light-to-dark one starting dark.
 * @type {(colorscale: [number, string][]) => [number, string][]} */
function onDark(colorscale) {
  if (isSigned(colorscale)) return signedStops().map((color, i) => [colorscale[i][0], `rgb(${color})`]);
  return isOneWay(colorscale) ? turned(colorscale) : colorscale;
}

/** @type {(colorscale: [number, string][]) => boolean} */
function isSigned(colorscale) {
  const stops = signedStops("light");
  return colorscale.length === stops.length && stops.every((stop, i) => `${rgb(colorscale[i][1])}` === `${stop}`);
}

function isOneWay(/** @type {[number, string][]} */ colorscale) {
  if (!colorscale.every(([, color]) => /^#[0-9a-f]{6}$/i.test(color))) return false;
  const lights = colorscale.map(([, color]) =>
    [1, 3, 5].reduce((sum, at) => sum + parseInt(color.slice(at, at + 2), 16), 0),
  );
  return lights.every((light, i) => i === 0 || light < lights[i - 1]);
}

/** @type {(colorscale: [number, string][]) => [number, string][]} */
const turned = (colorscale) => colorscale.toReversed().map(([at, color]) => [1 - at, color]);
