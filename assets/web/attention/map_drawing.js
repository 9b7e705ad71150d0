// Draws the big map's cells, their printed values, and what lies over them: chosen, pointed at, marked.

import { css } from "../core/dom.js";
import { byRow, inkOn, picture, shade, shrink, theme } from "../core/colors.js";

const PRINTED = 34; // cells at least so wide show their value

// The largest weight of a tile's row of cells, on all shown keys.
const topAt = (tile, row) => tile.tops[Math.floor((row - tile.rows[0]) / tile.step[0])];

// A tile as a picture of one pixel a cell, in the scale's colors; where the screen has fewer pixels,
// each is the largest of its cells, so that no spike is lost.
export function paint(tile, scale, colors = theme(), pixels = tile.shape) {
  const [height, width] = tile.shape;
  const values = scale.name === "row" ? byRow(tile.values, width, tile.tops) : tile.values;
  const small = shrink(values, height, width, ...pixels);
  return picture(small.values, small.height, small.width, scale, colors);
}

export function drawTiles(map) {
  const { context, view, scale } = map;
  const cell = map.side / view.span;
  context.imageSmoothingEnabled = false;
  for (const tile of map.tiles) {
    const pixels = tile.shape.map((side, axis) =>
      Math.min(side, Math.max(1, Math.floor(side * tile.step[axis] * cell * (window.devicePixelRatio || 1)))),
    );
    const painted = `${scale.name}:${scale.high}:${css("--body-text-color")}:${pixels}`;
    if (tile.painted !== painted) Object.assign(tile, { painted, picture: paint(tile, scale, theme(), pixels) });
    context.drawImage(
      tile.picture,
      map.left + (tile.keys[0] - view.col) * cell,
      map.top + (tile.rows[0] - view.row) * cell,
      tile.shape[1] * tile.step[1] * cell,
      tile.shape[0] * tile.step[0] * cell,
    );
  }
  if (cell >= PRINTED) printValues(map, cell);
}

function printValues(map, cell) {
  const { context, view, scale } = map;
  context.font = "11px ui-monospace, monospace";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const letter = context.measureText("0").width; // of a font in which all are as wide
  const fits = (text) => text.length * letter <= cell;
  const [rows, cols] = view.cells();
  for (let row = rows[0]; row < rows[1]; row++) {
    for (let col = cols[0]; col < cols[1]; col++) {
      const { value, step, tile } = map.parts.at(row, col);
      if (step[0] * step[1] > 1 || Number.isNaN(value)) continue;
      const shown = scale.name === "row" && value > 0 ? value / topAt(tile, row) : value;
      context.fillStyle = inkOn(shade(shown, scale));
      context.fillText(
        printed(value, fits),
        map.left + (col - view.col + 0.5) * cell,
        map.top + (row - view.row + 0.5) * cell,
      );
    }
  }
}

// A weight in a cell: two digits that count where they fit, ".12", ".0024" or "2.4e-7", else one.
export function printed(value, fits) {
  if (value === 0) return "0";
  const plain = value.toPrecision(2).replace(/^0\./, ".");
  return [plain, value.toExponential(1), value.toExponential(0)].find(fits) ?? value.toExponential(0);
}

// The selected query's row and key's column, the marked part, and the cell under the pointer.
export function drawOver(map) {
  const { overContext: context, view } = map;
  context.clearRect(0, 0, map.width, map.height);
  context.save();
  context.beginPath();
  context.rect(map.left - 1, map.top - 1, map.side + 2, map.side + 2);
  context.clip();
  const cell = map.side / view.span;
  const band = (row, col, style, width) => {
    context.strokeStyle = style;
    context.lineWidth = width;
    const thick = Math.max(cell, 3);
    if (row >= 0) context.strokeRect(map.left, map.top + (row - view.row) * cell, map.side, thick);
    if (col >= 0) context.strokeRect(map.left + (col - view.col) * cell, map.top, thick, map.side);
  };
  band(map.chosen[0], -1, css("--viz-mark", map.node), 2);
  band(-1, map.chosen[1], css("--viz-mark-key", map.node), 1);
  if (map.hovered) band(...map.hovered, css("--body-text-color-subdued"), 1);
  if (map.sight.marked) outline(context, map, map.sight.marked, cell);
  context.restore();
}

function outline(context, map, [rows, cols], cell) {
  context.strokeStyle = css("--body-text-color");
  context.lineWidth = 1.5;
  context.setLineDash([5, 3]);
  context.strokeRect(
    map.left + (cols[0] - map.view.col) * cell,
    map.top + (rows[0] - map.view.row) * cell,
    (cols[1] - cols[0]) * cell,
    (rows[1] - rows[0]) * cell,
  );
}
