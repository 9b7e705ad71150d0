// A figure as the page shows it: in the page's colors, as wide as there is room, text beside it.

import { css, isDark } from "./dom.js";
import { heatmapOf, isCaption, isMarks, plainText, unpack } from "./figure_numbers.js";

const NARROW = 600;
const LONGEST = [16, 9]; // letters of a name on an axis; fewer where it is narrow
const ROW = [18, 30]; // pixels a row of a heatmap, at least and at most
const [LEAST, MOST] = [150, 620]; // pixels of the plot itself
const MASKED_DARK = "#57493c";

export function laidOut(figure, width) {
  const narrow = width < NARROW;
  const layout = {
    ...figure.layout, ...axes(figure, narrow),
    width, height: height(figure, width, narrow),
    title: { text: "" }, // the page has it as text, which wraps
    annotations: (figure.layout.annotations ?? []).filter((each) => !isCaption(each)),
    margin: { l: 8, r: 8, t: 8, b: 8 },
    font: { ...figure.layout.font, color: css("--body-text-color-subdued") },
  };
  return { data: figure.data.map((trace) => shown(trace, narrow)), layout };
}

// The same for paper: black on white, with its title and what it measures.
export function onPaper(figure) {
  const wide = 1000;
  const { margin = {} } = figure.layout;
  const layout = {
    ...figure.layout, width: wide, height: height(figure, wide, false) + 190,
    paper_bgcolor: "white", margin: { ...margin, t: 170, l: 120 },
    title: { ...figure.layout.title, y: 0.98, yanchor: "top" },
  };
  return { data: figure.data, layout };
}

function axes(figure, narrow) {
  const line = css("--border-color-primary");
  const found = {};
  for (const name of Object.keys(figure.layout).filter((key) => /^[xy]axis/.test(key))) {
    found[name] = { ...figure.layout[name], automargin: true, gridcolor: line, zerolinecolor: line, labelalias: aliases(figure, name[0], narrow) };
  }
  return found;
}

// Long names lose their end; the whole name is there on pointing, and in the table.
function aliases(figure, letter, narrow) {
  const most = LONGEST[narrow ? 1 : 0];
  const short = {};
  for (const trace of figure.data) {
    for (const name of unpack(trace[letter]).values) {
      if (typeof name !== "string" || plainText(name).length <= most) continue;
      const kept = [...plainText(name)].slice(0, most).join("");
      short[name] = `${kept.replace(/&/g, "&amp;").replace(/</g, "&lt;")}…`;
    }
  }
  return short;
}

function height(figure, width, narrow) {
  if (figure.layout.height) return figure.layout.height;
  const heatmap = heatmapOf(figure);
  const picture = figure.data.find((trace) => trace.type === "image");
  if (picture) {
    const [tall, wide] = unpack(picture.z).shape;
    return Math.min(MOST, (width - 160) * (tall / wide)) + 90;
  }
  if (!heatmap) return 420;
  const each = Math.max(ROW[0], Math.min(ROW[1], (width - 200) / heatmap.cols));
  const names = Math.max(...heatmap.x.slice(0, 400).map((name) => name.length), 1);
  const above = Math.min(names, LONGEST[narrow ? 1 : 0]) * 6 + 50;
  const scale = narrow ? 84 : 0;
  return Math.round(Math.max(LEAST, Math.min(MOST, heatmap.rows * each)) + above + scale);
}

function shown(trace, narrow) {
  const dark = isDark();
  if (dark && isMarks(trace)) return { ...trace, colorscale: [[0, MASKED_DARK], [1, MASKED_DARK]] };
  if (trace.type !== "heatmap") return trace;
  const below = { orientation: "h", x: 0.5, xanchor: "center", y: -0.04, yanchor: "top", len: 1 };
  const title = { ...trace.colorbar?.title, font: { size: 12 }, ...(narrow && { side: "bottom" }) };
  const colorbar = { ...trace.colorbar, title, ...(narrow && below) };
  return { ...trace, colorbar, ...(dark && isOneWay(trace) ? { colorscale: turned(trace) } : {}) };
}

// On a dark page a scale from light to dark begins dark, as those of the canvases do.
function isOneWay({ colorscale }) {
  if (!Array.isArray(colorscale) || !colorscale.every(([, color]) => /^#[0-9a-f]{6}$/i.test(color))) return false;
  const lights = colorscale.map(([, color]) => [1, 3, 5].reduce((sum, at) => sum + parseInt(color.slice(at, at + 2), 16), 0));
  return lights.every((light, i) => i === 0 || light < lights[i - 1]);
}

const turned = ({ colorscale }) => colorscale.map(([at, color]) => [1 - at, color]).reverse();
