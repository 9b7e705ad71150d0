// The visible part of the big map as a figure for a paper: vector text around embedded pixels.

import { bordered } from "../core/border.js";
import { CHANGE, inkOn, paper, rgbText, shade } from "../core/colors.js";
import { context2d, el, svg } from "../core/dom.js";
import { shortened, thin } from "../core/labels.js";
import { svgCanvas } from "../views/canvas_png.js";
import { outside, sentence, ticks } from "./legend.js";
import { isolated } from "../core/token_names.js";
import { exactCells, paint, scaled, written } from "./map_drawing.js";
import { heading } from "./map_heading.js";
import { named } from "./reference_words.js";
import { withDpi } from "./png_resolution.js";

/** @typedef {{ run: Run, map: AttentionMap, rows: Span, cols: Span, width: number }} Shown what is in sight, and
 *   the picture's width */
/** @typedef {{ left: number, top: number, cell: number, axis: number, bottom: number,
 *   foot: number }} Place where its cells lie, and where what is below them ends */
/** @typedef {Record<string, string | number>} Attributes */

const POINTS = 72 / 25.4; // a millimeter in points, the unit of all below
const DPI = 400;
const SIZE = 6.5; // font size
const LINE = 8;
const GAP = 4;
const MARGIN = 6; // at the left and the right, where journals cut
const NAMES = 62; // at most so much room for names
const SHARP = 1400; // pixels a side, so that cells stay sharp in programs that smooth pictures
const PRINTED = 15; // cells at least so wide show their value
const FONT = "Helvetica, Arial, sans-serif";
const [INK, QUIET] = ["#111827", "#4b5563"];
const TILT = 60;

const ruler = context2d(el("canvas"));

function wide(/** @type {string} */ text) {
  ruler.font = `${SIZE}px ${FONT}`;
  return ruler.measureText(text).width;
}

/** The file's text; `millimeters` is its width. @type {(map: AttentionMap, run: Run, millimeters: number) => string} */
export function paperSvg(map, run, millimeters) {
  if (!map.tiles.length) throw new Error("The map is still on its way; save it once it is drawn.");
  const [rows, cols] = map.view.cells();
  const shown = { run, map, rows, cols, width: millimeters * POINTS - 2 * MARGIN };
  const what = heading(map.selection, map.tiles, map.signed, run);
  const title = lines(`${what}. ${named(run)}.`, shown.width);
  const place = placed(shown, title.length * LINE);
  const { nodes, height } = legend(shown, place);
  const root = svg("svg", { width: `${millimeters}mm`, "font-family": FONT, "font-size": SIZE, fill: INK });
  root.setAttribute("height", `${(height / POINTS).toFixed(2)}mm`);
  root.setAttribute("viewBox", `${-MARGIN} 0 ${round(millimeters * POINTS)} ${round(height)}`);
  root.append(
    svg("rect", { x: -MARGIN, width: "100%", height: "100%", fill: "#ffffff" }),
    ...title.map((text, at) => say(text, 0, (at + 1) * LINE)),
    ...[...cells(shown, place), ...names(shown, place), ...values(shown, place), ...borders(shown, place)],
    ...[...axes(place), ...nodes],
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}\n`;
}

/** The same for print. @type {(svg: Blob, millimeters: number) => Promise<Blob>} */
export async function paperPng(svg, millimeters) {
  const canvas = await svgCanvas(svg, { width: Math.round((millimeters / 25.4) * DPI) });
  /** @type {Blob | null} */ const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (!blob) throw new Error("This browser could not draw the picture; use the SVG instead.");
  return withDpi(blob, DPI);
}

/** Rectangle of the cells, below a title. @type {(shown: Shown, title: number) => Place} */
function placed({ map, rows, cols, width }, title) {
  const room = (/** @type {Span} */ [start, stop]) => {
    const listed = map.shown.slice(start, Math.min(stop, start + 2000));
    return Math.min(NAMES, Math.max(10, ...listed.map(({ name }) => wide(name))));
  };
  const axis = title + LINE + GAP;
  const left = LINE + GAP + room(rows);
  const top = axis + GAP + room(cols) * Math.sin((TILT * Math.PI) / 180) + GAP;
  const cell = (width - left - room(cols) * 0.5) / Math.max(rows[1] - rows[0], cols[1] - cols[0]);
  const bottom = top + round(cell * (rows[1] - rows[0]));
  return { left, top, cell, axis, bottom, foot: bottom + (map.borders[0] > 0 ? LINE : 0) };
}

/** @type {(shown: Shown, place: Place) => SVGElement[]} */
function cells(shown, { left, top, cell }) {
  const { rows, cols } = shown;
  const size = { width: round(cell * (cols[1] - cols[0])), height: round(cell * (rows[1] - rows[0])) };
  const box = { x: round(left), y: round(top), ...size };
  const sharp = { preserveAspectRatio: "none", style: "image-rendering: pixelated" };
  const image = svg("image", { ...box, href: pixels(shown), ...sharp });
  return [image, svg("rect", { ...box, fill: "none", stroke: QUIET, "stroke-width": 0.4 })];
}

// The tiles in sight, one above the other, as one picture of whole pixels a cell.
function pixels(/** @type {Shown} */ { map, rows, cols }) {
  const most = Math.max(rows[1] - rows[0], cols[1] - cols[0]);
  const each = most <= SHARP ? Math.floor(SHARP / most) : 1 / Math.max(...map.tiles[map.tiles.length - 1].step);
  const canvas = el("canvas");
  canvas.width = Math.ceil((cols[1] - cols[0]) * each);
  canvas.height = Math.ceil((rows[1] - rows[0]) * each);
  const context = context2d(canvas);
  context.imageSmoothingEnabled = false;
  for (const tile of map.tiles) {
    const [height, width] = tile.shape.map((side, axis) => side * tile.step[axis] * each);
    const [x, y] = [(tile.keys[0] - cols[0]) * each, (tile.rows[0] - rows[0]) * each];
    context.drawImage(paint(tile, map.scale, paper(map.scale)), x, y, width, height);
  }
  return canvas.toDataURL("image/png");
}

/** @type {(shown: Shown, place: Place) => SVGElement[]} */
function names({ map, rows, cols }, { left, top, cell }) {
  const every = Math.max(1, Math.ceil(LINE / cell));
  const middle = (/** @type {number} */ place, /** @type {number} */ start) => (place - start + 0.5) * cell;
  const side = thin(rows, every, -1).map((row) => {
    const y = top + middle(row, rows[0]) + SIZE / 3;
    return say(isolated(cut(map.shown[row].name, NAMES)), left - GAP / 2, y, { "text-anchor": "end" });
  });
  const above = thin(cols, every, -1).map((col) => {
    const [x, y] = [round(left + middle(col, cols[0]) + SIZE / 3), round(top - GAP / 2)];
    return say(isolated(cut(map.shown[col].name, NAMES)), x, y, { transform: `rotate(-${TILT} ${x} ${y})` });
  });
  return [...side, ...above];
}

/** @type {(shown: Shown, place: Place) => SVGElement[]} */
function values({ map, rows, cols }, { left, top, cell }) {
  if (cell < PRINTED) return [];
  const fits = (/** @type {string} */ text) => wide(text) <= cell - 1;
  return Array.from(exactCells(map)).flatMap(({ row, col, tile, value }) => {
    const { scale } = map;
    const text = written(map, value, fits);
    if (!text) return [];
    const fill = inkOn(shade(scaled(tile, row, value, scale), scale, paper(scale)));
    const [x, y] = [left + (col - cols[0] + 0.5) * cell, top + (row - rows[0] + 0.5) * cell + SIZE / 3];
    return [say(text, x, y, { "text-anchor": "middle", fill })];
  });
}

/**
 * Start of a pair's text B, and the letters of both.
 * @type {(shown: Shown, place: Place) => SVGElement[]}
 */
function borders({ map, rows, cols }, { left, top, bottom, cell }) {
  const [down, across] = [bordered(map.borders[0], ...rows), bordered(map.borders[1], ...cols)];
  const right = left + cell * (cols[1] - cols[0]);
  /** @type {(x: number, y: number, toX: number, toY: number) => SVGElement} */
  const line = (x, y, toX, toY) => {
    const ends = { x1: round(x), y1: round(y), x2: round(toX), y2: round(toY) };
    return svg("line", { ...ends, stroke: INK, "stroke-width": 0.6, "stroke-dasharray": "3 2", class: "border" });
  };
  const middle = { "text-anchor": "middle", "font-weight": 600 };
  return [
    ...(down.at === null ? [] : [line(left, top + down.at * cell, right + SIZE, top + down.at * cell)]),
    ...(across.at === null ? [] : [line(left + across.at * cell, top, left + across.at * cell, bottom + SIZE)]),
    ...down.letters.map(([letter, at]) => say(letter, right + SIZE, top + at * cell + SIZE / 3, middle)),
    ...across.letters.map(([letter, at]) => say(letter, left + at * cell, bottom + SIZE, middle)),
  ];
}

/** @type {(place: Place) => SVGElement[]} */
function axes({ left, top, bottom, axis }) {
  const [x, y] = [SIZE, round((top + bottom) / 2)];
  return [
    say("Key (who is looked at) →", left, axis, { fill: QUIET }),
    say("← Query (who looks)", x, y, { "text-anchor": "middle", fill: QUIET, transform: `rotate(-90 ${x} ${y})` }),
  ];
}

/** The scale in words and colors, and how high the whole picture is.
 * @type {(shown: Shown, place: Place) => { nodes: SVGElement[], height: number }} */
function legend({ run, map, width }, { left, foot }) {
  const { scale, tiles } = map;
  const [change, colors] = [scale.name === CHANGE, paper(scale)];
  const long = Math.min(160, width - left - 20);
  const stops = Array.from({ length: 17 }, (_, at) => {
    const color = colors.ramp[Math.round((at / 16) * (colors.ramp.length - 1))];
    return svg("stop", { offset: at / 16, "stop-color": rgbText(color) });
  });
  const gradient = svg("defs", {}, svg("linearGradient", { id: "ramp" }, ...stops));
  const y = foot + 2 * GAP;
  const box = { x: round(left), y: round(y), width: long, height: 6 };
  const bar = svg("rect", { ...box, fill: "url(#ramp)", stroke: QUIET, "stroke-width": 0.3 });
  const below = y + 6 + LINE;
  const most = scale.name === "row" ? 1 : change ? scale.high : tiles[0].most;
  const numbers = ticks(scale, most, map.signed).map(([share, text]) =>
    say(text, left + share * long, below - 1, { "text-anchor": "middle" }),
  );
  const words = lines(`${map.signed?.legend ?? sentence(scale, run.vocabulary.scales, most)}.`, width);
  const said = words.map((text, at) => say(text, 0, below + (at + 1) * LINE));
  const last = below + (words.length + 1) * LINE;
  const beside = change ? noChanges(tiles, colors) : outside(colors, tiles[0].masked);
  const swatches = beside.flatMap(([name, color], at) => {
    const square = { x: 0.5 + at * 50, y: round(last - 5.5), width: 6, height: 6, fill: rgbText(color) };
    return [svg("rect", { ...square, stroke: QUIET, "stroke-width": 0.4 }), say(name, at * 50 + 9, last)];
  });
  return { nodes: [gradient, bar, ...numbers, ...said, ...swatches], height: last + GAP };
}

/** Meaning of the color of unchanged cells. @type {(tiles: Tile[], colors: Colors) => [string, Rgb][]} */
function noChanges(tiles, { masked: none }) {
  const alone = tiles.some(({ about }) => about?.rows?.length || about?.keys?.length);
  const why = [tiles.some(({ masked }) => masked) && "masked in a run", alone && "token in one run only"];
  const said = why.filter(Boolean).join(", or ");
  return said ? [[said, none]] : [];
}

const round = (/** @type {number} */ value) => Math.round(value * 100) / 100;

/** @type {(text: string, x: number, y: number, more?: Attributes) => SVGElement} */
const say = (text, x, y, more = {}) => svg("text", { x: round(x), y: round(y), ...more }, text);

const cut = (/** @type {string} */ name, /** @type {number} */ room) => shortened(name, (text) => wide(text) <= room);

/** Words in lines no longer than the width, as `wide` measures it.
 * @type {(words: string, width: number, measured?: (text: string) => number) => string[]} */
export function lines(words, width, measured = wide) {
  const found = [""];
  for (const word of words.split(" ")) {
    const longer = `${found[found.length - 1]} ${word}`.trim();
    if (found[found.length - 1] && measured(longer) > width) found.push(word);
    else found[found.length - 1] = longer;
  }
  return found;
}
