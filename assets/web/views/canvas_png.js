// Saves a canvas as a PNG, on the page's own background.

import { context2d, css } from "../core/dom.js";

/** `stem` is the file's name without its ending. @type {(canvas: HTMLCanvasElement, stem: string) => Promise<Saved>} */
export async function canvasPng(canvas, stem) {
  const page = document.createElement("canvas");
  [page.width, page.height] = [canvas.width, canvas.height];
  const context = context2d(page);
  context.fillStyle = css("--body-background-fill") || "#ffffff";
  context.fillRect(0, 0, page.width, page.height);
  context.drawImage(canvas, 0, 0, page.width, page.height);
  const blob = await new Promise((/** @type {(made: Blob | null) => void} */ done) => page.toBlob(done));
  return blob && { blob, name: `${fileName(stem)}.png` };
}

/** A drawing as SVG on a canvas of its own: so many pixels wide, or sharper than it is by a factor.
 * @type {(svg: Blob, size: { width?: number, times?: number }) => Promise<HTMLCanvasElement>} */
export async function svgCanvas(svg, { width = 0, times = 1 }) {
  const image = new Image();
  image.src = URL.createObjectURL(svg);
  await image.decode().finally(() => URL.revokeObjectURL(image.src));
  const canvas = document.createElement("canvas");
  canvas.width = width || image.naturalWidth * times;
  canvas.height = Math.round((canvas.width * image.naturalHeight) / image.naturalWidth);
  context2d(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** A table's file: its text in lines of cells. @type {(stem: string, lines: (string | number)[][]) => Saved} */
export function csvFile(stem, lines) {
  const text = lines.map((cells) => `${cells.map(quoted).join(",")}\r\n`).join("");
  return { blob: new Blob([text], { type: "text/csv" }), name: `${fileName(stem)}.csv` };
}

/** A stem without what a file's name may not hold. */
export const fileName = (/** @type {string} */ stem) => stem.replace(/[^A-Za-z0-9_.+-]+/g, "-");

// Quote as in RFC 4180; text that looks like a formula stays text in a spreadsheet.
function quoted(/** @type {string | number} */ cell) {
  if (typeof cell === "number") return Number.isNaN(cell) ? "" : String(cell);
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
