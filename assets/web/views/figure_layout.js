// A figure as the page shows it: in the page's colors, as wide as there is room, text beside it.

import { rgb, signedStops } from "../core/colors.js";
import { css, isDark } from "../core/dom.js";
import { isCaption, isMarks, plainText, unpack } from "./figure_numbers.js";
import { barTitle, GAP, longest, roomOf, wrapped } from "./figure_room.js";

/** @import { Room } from "./figure_room.js" */

const MASKED_DARK = "#57493c";

const PAPER = 1000; // pixels

/** `full` is how high it may be where it is alone in the window; 0 elsewhere.
 * @type {(figure: FigureJson, width: number, full?: number) => { data: FigureTrace[], layout: FigureLayout & { height: number } }} */
export function laidOut(figure, width, full = 0) {
  const room = roomOf(figure, width, full);
  const { coloraxis, annotations = [] } = figure.layout;
  const layout = {
    ...figure.layout,
    ...axes(figure, room),
    ...(coloraxis && { coloraxis: { ...coloraxis, ...colored(coloraxis, room) } }),
    width,
    height: room.height,
    title: { text: "" }, // the page has it as text, which wraps
    annotations: annotations.filter((each) => !isCaption(each) && !(room.narrow && each.name === "link")),
    modebar: { bgcolor: "transparent" }, // Plotly's half of a transparent paper is gray
    margin: { l: 8, r: 8, ...room.margin },
    font: { ...figure.layout.font, color: css("--body-text-color-subdued") },
  };
  return { data: figure.data.map((trace) => shown(trace, room)), layout };
}

// Layout for paper: black on white, with its title and what it measures.
export function onPaper(/** @type {FigureJson} */ figure) {
  const { margin = {} } = figure.layout;
  const layout = {
    ...figure.layout,
    width: PAPER,
    height: Math.max(roomOf(figure, PAPER).height, figure.layout.height ?? 0) + 190,
    paper_bgcolor: "white",
    margin: { ...margin, t: 170, l: 120 },
    title: { ...figure.layout.title, y: 0.98, yanchor: "top" },
  };
  return { data: figure.data, layout };
}

/** @type {(figure: FigureJson, room: Room) => Pick<FigureLayout, "xaxis" | "yaxis">} */
function axes(figure, room) {
  const line = css("--border-color-primary");
  const named = Object.entries(figure.layout).filter(([name]) => /^[xy]axis/.test(name));
  return Object.fromEntries(
    named.map(([name, axis]) => {
      const labelalias = aliases(figure, name.startsWith("x") ? "x" : "y", room.narrow);
      const title = { ...axis.title, ...placed(name, axis, room).title, font: { size: 12 } };
      const all = { automargin: true, gridcolor: line, zerolinecolor: line, labelalias };
      return [name, { ...axis, ...placed(name, axis, room), title, ...all }];
    }),
  );
}

/** The title of an axis in lines that its plot has room for, and where one of several plots stands.
 * @type {(name: string, axis: FigureAxis, room: Room) => Partial<FigureAxis>} */
function placed(name, axis, { plots, plot, across }) {
  const at = plots.findIndex(({ x, y }) => x === name || y.includes(name));
  if (name === plots[at]?.x) return { title: { text: plots[at].title } };
  const text = wrapped(axis.title?.text, name.startsWith("x") ? across : (plots[at]?.height ?? plot));
  if (at < 0 || plots.length === 1) return { title: { text } };
  const top = 1 - plots.slice(0, at).reduce((sum, { height, under }) => sum + height + under + GAP, 0) / plot;
  return { title: { text }, domain: [Math.max(0, top - plots[at].height / plot), top] };
}

/** Long names lose their end; the whole name is there on pointing, and in the table.
 * @type {(figure: FigureJson, letter: "x" | "y", narrow: boolean) => Record<string, string>} */
function aliases(figure, letter, narrow) {
  const most = longest(narrow);
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

/** @type {(trace: FigureTrace, room: Room) => FigureTrace} */
function shown(trace, room) {
  if (isDark() && isMarks(trace)) return { ...trace, colorscale: [0, 1].map((at) => [at, MASKED_DARK]) };
  return trace.type === "heatmap" ? { ...trace, ...colored(trace, room) } : trace;
}

/** The colors of a trace or of several, and their scale.
 * @type {(given: Pick<FigureTrace, "colorscale" | "colorbar">, room: Room) => Pick<FigureTrace, "colorscale" | "colorbar">} */
function colored({ colorscale, colorbar }, room) {
  const { narrow, lying, below, plot } = room;
  const under = {
    orientation: "h",
    x: 0,
    xanchor: "left",
    y: -(12 + below) / plot,
    yanchor: "top",
    len: narrow ? 1 : 0.5,
  };
  const text = barTitle(colorbar?.title?.text, room);
  const title = { ...colorbar?.title, text, font: { size: 12 }, ...(lying && { side: "bottom" }) };
  const own = isDark() && Array.isArray(colorscale);
  return { colorbar: { ...colorbar, title, ...(lying && under) }, ...(own && { colorscale: onDark(colorscale) }) };
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
