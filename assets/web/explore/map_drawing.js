// Draws the big map's cells, their printed values, and what lies over them: chosen, pointed at.

import { byRow, CHANGE, inkOn, picture, shade, shrink, theme } from "../core/colors.js";
import { context2d, css, isDark } from "../core/dom.js";

/** @typedef {(row: number, col: number, width: number, height: number) => [number, number, number, number]} Rectangle */

const PRINTED = 34; // cells at least so wide show their value
const BRIEF = 20; // and from here on two decimals, of those that would not read as zero
const LEAST = 0.095;
const MARGIN = 2; // pixels that stay free on either side of a number

/** An exact weight as its scale takes it. @type {(tile: Tile, row: number, value: number, scale: Scale) => number} */
export const scaled = (tile, row, value, scale) =>
  scale.name === "row" && value > 0 ? value / tile.tops[Math.floor((row - tile.rows[0]) / tile.step[0])] : value;

/** A tile as a picture of one pixel a cell, in the scale's colors; where the screen has fewer pixels, each is
 * the largest of its cells, so that no spike is lost.
 * @param {Tile} tile @param {Scale} scale @param {number[]} [pixels] */
export function paint(tile, scale, colors = theme(scale), pixels = tile.shape) {
  const [height, width] = tile.shape;
  const values = scale.name === "row" ? byRow(tile.values, width, tile.tops) : tile.values;
  const small = shrink(values, height, width, pixels[0], pixels[1]);
  return picture(small.values, small.height, small.width, scale, colors);
}

/** Rectangle of a part, in pixels. @type {(map: AttentionMap) => Rectangle} */
function boxes(map) {
  const cell = map.side / map.view.span;
  return (row, col, width, height) => {
    const [left, top] = [map.left + (col - map.view.col) * cell, map.top + (row - map.view.row) * cell];
    return [left, top, width * cell, height * cell];
  };
}

/** A tile's picture, as its pixels on the screen need it. @type {(map: AttentionMap, tile: Tile, scale: Scale) => void} */
export function paintTile({ side, view }, tile, scale) {
  const pixel = (side / view.span) * (window.devicePixelRatio || 1);
  const pixels = tile.shape.map((cells, axis) =>
    Math.min(cells, Math.max(1, Math.floor(cells * tile.step[axis] * pixel))),
  );
  const painted = `${scale.name}:${scale.low}:${scale.high}:${isDark()}:${pixels}`;
  if (tile.painted !== painted) tile.picture = paint(tile, scale, theme(scale), pixels);
  tile.painted = painted;
}

export function drawTiles(/** @type {AttentionMap} */ map) {
  const { context, view, scale } = map;
  const [cell, box] = [map.side / view.span, boxes(map)];
  map.clipped(context, 0, () => {
    context.imageSmoothingEnabled = false;
    for (const tile of map.tiles) {
      paintTile(map, tile, scale);
      const [height, width] = tile.shape.map((side, axis) => side * tile.step[axis]);
      if (tile.picture) context.drawImage(tile.picture, ...box(tile.rows[0], tile.keys[0], width, height));
    }
    if (scale.name === CHANGE) hatchAlone(map, box);
    if (cell >= BRIEF) printValues(map, cell);
  });
}

// Tokens that the reference has not, as hatched rows and columns.
function hatchAlone(/** @type {AttentionMap} */ { context, tiles, view }, /** @type {Rectangle} */ box) {
  context.fillStyle = hatching(context);
  for (const { about } of tiles) {
    for (const row of about?.rows ?? []) context.fillRect(...box(row, view.col, view.span, 1));
    for (const key of about?.keys ?? []) context.fillRect(...box(view.row, key, 1, view.span));
  }
}

const STRIPES = 6; // pixels from one to the next

/** @type {(context: CanvasRenderingContext2D) => CanvasPattern | string} */
function hatching(context) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [STRIPES, STRIPES];
  const one = context2d(canvas);
  one.fillStyle = css("--background-fill-secondary");
  one.fillRect(0, 0, STRIPES, STRIPES);
  one.strokeStyle = css("--body-text-color-subdued");
  one.beginPath();
  for (const from of [-STRIPES, 0, STRIPES]) {
    one.moveTo(from, STRIPES);
    one.lineTo(from + STRIPES, 0);
  }
  one.stroke();
  return context.createPattern(canvas, "repeat") ?? css("--background-fill-secondary");
}

function printValues(/** @type {AttentionMap} */ map, /** @type {number} */ cell) {
  const { context, view, scale } = map;
  context.font = `${cell < PRINTED ? 10 : 11}px ui-monospace, monospace`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const letter = context.measureText("0").width; // of a font in which all are as wide
  const fits = (/** @type {string} */ text) => text.length * letter <= cell - MARGIN;
  for (const { row, col, tile, value } of exactCells(map)) {
    const text = written(map, value, fits, cell < PRINTED);
    if (!text || !fits(text)) continue;
    context.fillStyle = inkOn(shade(scaled(tile, row, value, scale), scale));
    context.fillText(text, ...view.middle(row, col, map));
  }
}

/** The text of a cell, "" for none: that of a weight, unless what is shown in its place is written otherwise.
 * @type {(map: AttentionMap, value: number, fits: (text: string) => boolean, small?: boolean) => string} */
export function written({ signed }, value, fits, small = false) {
  if (signed?.write) return [signed.write(value), signed.write(value, true)].find(fits) ?? "";
  const [sign, amount] = [value < 0 ? "−" : "", Math.abs(value)];
  const text = small ? brief(amount) : printed(amount, (text) => fits(sign + text));
  return text && sign + text;
}

// The cells in sight whose own value is here, but for masked ones.
export function* exactCells(/** @type {AttentionMap} */ map) {
  const [rows, cols] = map.view.cells();
  for (let row = rows[0]; row < rows[1]; row++) {
    for (let col = cols[0]; col < cols[1]; col++) {
      const { value, step, tile } = map.parts.at(row, col);
      if (tile && step[0] * step[1] === 1 && !Number.isNaN(value)) yield { row, col, tile, value };
    }
  }
}

// A weight in a cell: two digits that count where they fit, ".12", ".0024" or "2.4e-7", else one; else nothing.
export function printed(/** @type {number} */ value, /** @type {(text: string) => boolean} */ fits) {
  if (value === 0) return "0";
  const plain = value.toPrecision(2).replace(/^0\./, ".");
  return [plain, value.toExponential(1), value.toExponential(0)].find(fits) ?? "";
}

// Three characters for a cell: ".64"; "" if that would be ".0".
const brief = (/** @type {number} */ value) =>
  value < LEAST ? "" : value >= 0.995 ? "1.0" : value.toFixed(2).slice(1);

// The selected query's row and key's column, and the cell under the pointer.
export function drawOver(/** @type {AttentionMap} */ map) {
  const { overContext: context, view, chosen, hovered } = map;
  context.clearRect(0, 0, map.width, map.height);
  const box = boxes(map);
  map.clipped(context, 1, () => {
    const thick = Math.max(1, (3 * view.span) / map.side); // cells, at least 3 pixels
    /** @type {(row: number, col: number, style: string, width: number) => void} */
    const band = (row, col, style, width) => {
      [context.strokeStyle, context.lineWidth] = [style, width];
      if (row >= 0) context.strokeRect(...box(row, view.col, view.span, thick));
      if (col >= 0) context.strokeRect(...box(view.row, col, thick, view.span));
    };
    band(chosen[0], -1, css("--viz-mark", map.node), 2);
    band(-1, chosen[1], css("--viz-mark-key", map.node), 1);
    if (hovered) band(hovered[0], hovered[1], css("--body-text-color-subdued"), 1);
  });
}
