// An exported page's maps: unpacked from the file itself, in colors and words. Comes before export.js.
"use strict";

const BLANK = 255;
const at = (id) => document.getElementById(id);
const facts = JSON.parse(at("data-facts").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const digits = (value, count) => (value === 0 ? "0" : Number(value.toPrecision(count)).toString());

// What would hide or turn other characters is written out.
const HIDDEN = /(?![\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const plain = (text) =>
  text.replace(HIDDEN, (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
const short = (text) => ([...text].length > 18 ? `${[...text].slice(0, 17).join("")}…` : text);

function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children); // strings become text, never markup
  return node;
}

async function unpack(id) {
  const packed = Uint8Array.from(atob(at(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// Views: one a head, and the chosen one. `weight` gives NaN for a masked cell.
const views = [];
let chosen;

function addViews(bytes, exact) {
  let start = 0;
  facts.layers.forEach((layer, number) => {
    const [rows, cols] = layer.shape;
    views.push(
      layer.tops.map((top, head) => {
        const cells = bytes.subarray(start, (start += rows * cols));
        const weight = (i) => (cells[i] === BLANK ? NaN : (cells[i] * top) / facts.levels);
        return {
          ...layer,
          rows,
          cols,
          top,
          weight,
          name: `${number}.${head}`,
          layer: number,
          head,
          off: top / (2 * facts.levels),
        };
      }),
    );
  });
  const [rows, cols] = facts.chosen.shape;
  let top = 0;
  for (const value of exact) if (value > top) top = value;
  chosen = { ...facts.chosen, rows, cols, top, weight: (i) => exact[i], off: 0 };
  if (chosen.head !== null) views[chosen.layer][chosen.head] = chosen;
}

function ramp() {
  const stops = dark.matches ? facts.ramp.slice(1).reverse() : facts.ramp;
  const colors = stops.map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return (share) => {
    const place = Math.min(1, Math.max(0, share)) * (colors.length - 1);
    const low = Math.min(Math.floor(place), colors.length - 2);
    return colors[low].map((c, i) => Math.round(c + (place - low) * (colors[low + 1][i] - c)));
  };
}

const LOG_FLOOR = 1e-4;
// What the colors of a map go up to, as a weight; per row, as a share of the row's largest.
function high(view) {
  const { name } = facts.scale;
  if (name === "shared" || name === "log" || name === "row") return 1;
  const together = name === "layer" ? views[view.layer] : name === "all" ? views.flat() : [view];
  return Math.max(...together.map(({ top }) => top)) || 1;
}

// A weight as a place on the scale, 0 to 1; `most` is the largest of its row.
function shareOf(value, top, most) {
  if (facts.scale.name === "log") return 1 - Math.log(Math.max(value, LOG_FLOOR)) / Math.log(LOG_FLOOR);
  return value / (facts.scale.name === "row" ? most || 1 : top);
}

// A canvas with one pixel a cell; beyond `most` a side, each pixel is the largest of its block.
function picture(view, most = Infinity) {
  const [tall, wide] = [Math.min(most, view.rows), Math.min(most, view.cols)];
  const values = new Float32Array(tall * wide).fill(NaN);
  for (let row = 0; row < view.rows; row++) {
    for (let col = 0; col < view.cols; col++) {
      const to = Math.floor((row * tall) / view.rows) * wide + Math.floor((col * wide) / view.cols);
      const value = view.weight(row * view.cols + col);
      if (!(values[to] >= value) && value === value) values[to] = value;
    }
  }
  const color = ramp();
  const shades = Array.from({ length: 256 }, (_, step) => color(step / 255));
  const masked = [1, 3, 5].map((i) => parseInt(css("--masked").slice(i, i + 2), 16));
  const image = new ImageData(wide, tall);
  const top = high(view);
  const tops = new Float32Array(tall);
  values.forEach((value, i) => {
    if (value > tops[Math.floor(i / wide)]) tops[Math.floor(i / wide)] = value;
  });
  values.forEach((value, i) => {
    const place = shareOf(value, top, tops[Math.floor(i / wide)]);
    image.data.set(value === value ? shades[Math.min(255, Math.max(0, Math.round(255 * place)))] : masked, 4 * i);
    image.data[4 * i + 3] = 255;
  });
  const canvas = el("canvas", { width: wide, height: tall });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

const count = (view, axis) => view.counts[axis];
const step = (view, axis) => Math.ceil(count(view, axis) / [view.rows, view.cols][axis]);
const token = (view, axis, number) => {
  if (view.names) return plain(view.names[axis][number] ?? "");
  const named = axis === 1 && view.cross ? facts.others : facts.tokens;
  return plain(named[number] ?? "");
};

// The name of a cell's side: one token, or the range of a block.
function label(view, axis, cell, most) {
  const first = cell * step(view, axis);
  const last = Math.min(first + step(view, axis), count(view, axis)) - 1;
  const number = (place) => (view.numbers ? view.numbers[axis][place] : String(place));
  if (first < last) return `${number(first).split("–")[0]}–${number(last).split("–").at(-1)}`;
  const name = token(view, axis, first);
  return `${number(first)} ${most ? short(name) : `“${name}”`}`;
}
