// What is in sight of the big map as a picture for a paper: vector text around embedded pixels.

import { inkOn, paperColors, rgbText, shade } from "../core/colors.js";
import { heading } from "./map_heading.js";
import { thin } from "../core/labels.js";
import { sentence, tick, TICKS } from "./legend.js";
import { paint, printed } from "./map_drawing.js";
import { withDpi } from "./png_resolution.js";

const POINTS = 72 / 25.4; // a millimeter in points, the unit of all below
const DPI = 400;
const SIZE = 6.5; // of the text
const LINE = 8;
const GAP = 4;
const MARGIN = 6; // at the left and the right, where journals cut
const NAMES = 62; // at most so much room for names
const SHARP = 1400; // pixels a side, so that cells stay sharp in programs that smooth pictures
const PRINTED = 15; // cells at least so wide show their value
const FONT = "Helvetica, Arial, sans-serif";
const [INK, QUIET] = ["#111827", "#4b5563"];
const TILT = 60;

const ruler = document.createElement("canvas").getContext("2d");

// The file's text; `millimeters` is its width.
export function paperSvg(map, millimeters) {
  const whole = millimeters * POINTS;
  const width = whole - 2 * MARGIN;
  const [rows, cols] = map.view.cells();
  const shown = { map, rows, cols, width, height: 0 };
  const root = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width: `${millimeters}mm`,
    "font-family": FONT,
    "font-size": SIZE,
    fill: INK,
  });
  const parts = [...title(shown), ...cells(shown), ...legend(shown)];
  root.setAttribute("height", `${(shown.height / POINTS).toFixed(2)}mm`);
  root.setAttribute("viewBox", `${-MARGIN} 0 ${round(whole)} ${round(shown.height)}`);
  root.append(svg("rect", { x: -MARGIN, width: "100%", height: "100%", fill: "#ffffff" }), ...parts);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}\n`;
}

export async function paperPng(text, millimeters) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round((millimeters / 25.4) * DPI);
  canvas.height = Math.round((canvas.width * image.naturalHeight) / image.naturalWidth);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  return withDpi(blob, DPI);
}

function title(shown) {
  const {
    map: { run, selection, tiles },
    width,
  } = shown;
  const words = `${heading(selection, tiles)}. ${run.model}.`;
  return lines(words, width).map((text) => say(text, 0, (shown.height += LINE)));
}

function cells(shown) {
  const { map, rows, cols, width } = shown;
  ruler.font = `${SIZE}px ${FONT}`;
  const axis = (shown.height += LINE + GAP);
  const room = ([start, stop]) =>
    Math.min(
      NAMES,
      Math.max(
        ...map.shown
          .slice(start, stop)
          .slice(0, 2000)
          .map(({ name }) => ruler.measureText(name).width),
        10,
      ),
    );
  const left = LINE + GAP + room(rows);
  const slope = Math.sin((TILT * Math.PI) / 180);
  const top = axis + GAP + room(cols) * slope + GAP;
  const cell = (width - left - room(cols) * 0.5) / Math.max(rows[1] - rows[0], cols[1] - cols[0]);
  Object.assign(shown, { left, top, cell, axis });
  const size = { width: round(cell * (cols[1] - cols[0])), height: round(cell * (rows[1] - rows[0])) };
  shown.height = top + size.height;
  const image = svg("image", {
    x: round(left),
    y: round(top),
    ...size,
    href: pixels(shown),
    preserveAspectRatio: "none",
    style: "image-rendering: pixelated",
  });
  const frame = svg("rect", {
    x: round(left),
    y: round(top),
    ...size,
    fill: "none",
    stroke: QUIET,
    "stroke-width": 0.4,
  });
  return [image, frame, ...names(shown), ...values(shown), ...axes(shown)];
}

// The tiles in sight, one above the other, as one picture of whole pixels a cell.
function pixels({ map, rows, cols }) {
  const most = Math.max(rows[1] - rows[0], cols[1] - cols[0]);
  const each = most <= SHARP ? Math.floor(SHARP / most) : 1 / Math.max(...map.tiles.at(-1).step);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil((cols[1] - cols[0]) * each);
  canvas.height = Math.ceil((rows[1] - rows[0]) * each);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  for (const tile of map.tiles) {
    const [height, width] = tile.shape;
    context.drawImage(
      paint(tile, map.scale, paperColors),
      (tile.keys[0] - cols[0]) * each,
      (tile.rows[0] - rows[0]) * each,
      width * tile.step[1] * each,
      height * tile.step[0] * each,
    );
  }
  return canvas.toDataURL("image/png");
}

function names({ map, rows, cols, left, top, cell }) {
  const every = Math.max(1, Math.ceil(LINE / cell));
  const middle = (place, start) => (place - start + 0.5) * cell;
  const side = thin(rows, every, -1).map((row) =>
    say(cut(map.shown[row].name, NAMES), left - GAP / 2, top + middle(row, rows[0]) + SIZE / 3, {
      "text-anchor": "end",
    }),
  );
  const above = thin(cols, every, -1).map((col) => {
    const [x, y] = [round(left + middle(col, cols[0]) + SIZE / 3), round(top - GAP / 2)];
    return say(cut(map.shown[col].name, NAMES), x, y, { transform: `rotate(-${TILT} ${x} ${y})` });
  });
  return [...side, ...above];
}

function values({ map, rows, cols, left, top, cell }) {
  const found = [];
  if (cell < PRINTED) return found;
  ruler.font = `${SIZE}px ${FONT}`;
  const fits = (text) => ruler.measureText(text).width <= cell - 1;
  for (let row = rows[0]; row < rows[1]; row++) {
    for (let col = cols[0]; col < cols[1]; col++) {
      const { value, step, tile } = map.parts.at(row, col);
      if (step[0] * step[1] > 1 || Number.isNaN(value)) continue;
      const top1 = tile.tops[row - tile.rows[0]];
      const color = shade(map.scale.name === "row" && value > 0 ? value / top1 : value, map.scale, paperColors);
      found.push(
        say(printed(value, fits), left + (col - cols[0] + 0.5) * cell, top + (row - rows[0] + 0.5) * cell + SIZE / 3, {
          "text-anchor": "middle",
          fill: inkOn(color),
        }),
      );
    }
  }
  return found;
}

function axes({ left, top, height, axis }) {
  const [x, y] = [SIZE, round((top + height) / 2)];
  return [
    say("Key (who is looked at) →", left, axis, { fill: QUIET }),
    say("← Query (who looks)", x, y, { "text-anchor": "middle", fill: QUIET, transform: `rotate(-90 ${x} ${y})` }),
  ];
}

function legend(shown) {
  const {
    map: { scale, tiles },
    width,
    left,
  } = shown;
  const wide = Math.min(160, width - left - 20);
  const stops = Array.from({ length: 17 }, (_, at) =>
    svg("stop", { offset: at / 16, "stop-color": rgbText(paperColors.ramp[Math.round((at / 16) * 255)]) }),
  );
  const gradient = svg("defs", {}, svg("linearGradient", { id: "ramp" }, ...stops));
  const y = (shown.height += 2 * GAP);
  const bar = svg("rect", {
    x: round(left),
    y: round(y),
    width: wide,
    height: 6,
    fill: "url(#ramp)",
    stroke: QUIET,
    "stroke-width": 0.3,
  });
  shown.height += 6 + LINE;
  const ticks = Array.from({ length: TICKS }, (_, at) =>
    say(tick(scale, at / (TICKS - 1)), left + (at / (TICKS - 1)) * wide, shown.height - 1, { "text-anchor": "middle" }),
  );
  const most = scale.name === "row" ? 1 : tiles[0].most;
  const said = lines(`${sentence(scale, most)}.`, width).map((text) => say(text, 0, (shown.height += LINE)));
  const outside = [["exactly 0", paperColors.zero], ...(tiles[0].masked ? [["masked", paperColors.masked]] : [])];
  shown.height += LINE;
  const swatches = outside.flatMap(([name, color], at) => [
    svg("rect", {
      x: 0.5 + at * 50,
      y: round(shown.height - 5.5),
      width: 6,
      height: 6,
      fill: rgbText(color),
      stroke: QUIET,
      "stroke-width": 0.4,
    }),
    say(name, at * 50 + 9, shown.height),
  ]);
  shown.height += GAP;
  return [gradient, bar, ...ticks, ...said, ...swatches];
}

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (key !== "xmlns") node.setAttribute(key, value);
  node.append(...children); // text stays text
  return node;
}

const round = (value) => Math.round(value * 100) / 100;
const say = (text, x, y, more = {}) => svg("text", { x: round(x), y: round(y), ...more }, text);

function cut(name, room) {
  ruler.font = `${SIZE}px ${FONT}`;
  let text = name;
  while ([...text].length > 1 && ruler.measureText(text).width > room)
    text = `${[...text.replace(/…$/, "")].slice(0, -1).join("")}…`;
  return text;
}

// Words in lines no longer than the width.
function lines(words, width) {
  ruler.font = `${SIZE}px ${FONT}`;
  const found = [""];
  for (const word of words.split(" ")) {
    const longer = `${found.at(-1)} ${word}`.trim();
    if (found.at(-1) && ruler.measureText(longer).width > width) found.push(word);
    else found[found.length - 1] = longer;
  }
  return found;
}
