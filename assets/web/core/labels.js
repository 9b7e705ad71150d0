// Axis titles and token names around the big map; as many names as fit, the chosen ones always.

import { css } from "./dom.js";

const FONT = "12px system-ui, sans-serif";
const LINE = 13; // pixels a name needs
const MAX_LEFT = 150;
const MAX_TOP = 110;
const TITLE = 18;
const TILT = -Math.PI / 3;

const ruler = document.createElement("canvas").getContext("2d");

// How much room the names need, measured on the longest of them.
export function labelRoom(shown) {
  ruler.font = `600 ${FONT}`;
  let widest = 20;
  for (const { name } of shown.slice(0, 2000)) widest = Math.max(widest, ruler.measureText(name).width);
  return {
    left: Math.min(MAX_LEFT, widest + 14) + TITLE,
    top: Math.min(MAX_TOP, widest * Math.sin(-TILT) + 16) + TITLE,
  };
}

export function drawLabels(map, only) {
  const context = only ? map.overContext : map.context;
  const cell = map.side / map.view.span;
  const inks = { strong: css("--body-text-color"), weak: css("--body-text-color-subdued") };
  context.font = FONT;
  context.textBaseline = "middle";
  if (!only) drawTitles(map, context, inks.weak);
  const [rows, cols] = map.view.cells();
  const every = Math.max(1, Math.ceil(LINE / cell));
  const chosen = map.chosen;
  const listed = (range, always) => (only ? [always] : thin(range, every, always));
  for (const row of listed(rows, only ? only[0] : chosen[0])) {
    drawRow(map, context, inks, row, cell, Boolean(only) || row === chosen[0], Boolean(only));
  }
  for (const col of listed(cols, only ? only[1] : chosen[1])) {
    drawColumn(map, context, inks, col, cell, Boolean(only) || col === chosen[1], Boolean(only));
  }
}

// Every so-many-th of a range, keeping clear of the one that must be named.
export function thin([start, stop], every, always) {
  const kept = [];
  for (let at = start - (start % every); at < stop; at += every) {
    if (at >= start && (Math.abs(at - always) >= every || at === always)) kept.push(at);
  }
  if (always >= start && always < stop && !kept.includes(always)) kept.push(always);
  return kept;
}

function drawTitles(map, context, ink) {
  context.fillStyle = ink;
  context.textAlign = "left";
  context.fillText("Key (who is looked at) →", map.left, 8);
  context.save();
  context.translate(8, map.top);
  context.rotate(-Math.PI / 2);
  context.textAlign = "right";
  context.fillText("← Query (who looks)", 0, 0);
  context.restore();
}

function drawRow(map, context, inks, row, cell, strong, boxed) {
  const y = map.top + (row - map.view.row + 0.5) * cell;
  if (y < map.top - 2 || y > map.top + map.side + 2) return;
  const text = short(context, map.shown[row].name, map.left - TITLE - 8, strong);
  context.textAlign = "right";
  if (boxed)
    backdrop(context, map.left - 6 - context.measureText(text).width, y - 8, context.measureText(text).width + 4, 16);
  context.fillStyle = strong ? inks.strong : inks.weak;
  context.fillText(text, map.left - 4, y);
}

function drawColumn(map, context, inks, col, cell, strong, boxed) {
  const x = map.left + (col - map.view.col + 0.5) * cell;
  if (x < map.left - 2 || x > map.left + map.side + 2) return;
  const text = short(context, map.shown[col].name, (map.top - TITLE - 8) / Math.sin(-TILT), strong);
  context.save();
  context.translate(x, map.top - 5);
  context.rotate(TILT);
  context.textAlign = "left";
  if (boxed) backdrop(context, -2, -8, context.measureText(text).width + 4, 16);
  context.fillStyle = strong ? inks.strong : inks.weak;
  context.fillText(text, 0, 0);
  context.restore();
}

function backdrop(context, x, y, width, height) {
  context.fillStyle = css("--body-background-fill") || css("--background-fill-primary");
  context.fillRect(x, y, width, height);
}

function short(context, text, room, strong) {
  context.font = strong ? `600 ${FONT}` : FONT;
  if (context.measureText(text).width <= room) return text;
  const kept = [...text];
  const cut = (length) => `${kept.slice(0, length).join("")}…`;
  let [fits, over] = [1, kept.length]; // halving, for a name may be long
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (context.measureText(cut(middle)).width <= room) fits = middle;
    else over = middle;
  }
  return cut(fits);
}
