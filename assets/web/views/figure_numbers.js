// The numbers of a figure that came as Plotly's JSON, and its texts as a person reads them.

/** @typedef {{ rows: number, cols: number, values: Float64Array, x: string[], y: string[],
 *   xTitle: string, yTitle: string, unit: string }} Heatmap */

/** @type {Record<string, new (bytes: ArrayBuffer) => ArrayLike<number>>} */
const KINDS = {
  f4: Float32Array,
  f8: Float64Array,
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
};

/** An array that is plain or packed. @type {(array?: Packed | null) => { values: ArrayLike<FigureCell>, shape: number[] }} */
export function unpack(array) {
  if (array == null) return { values: [], shape: [0] };
  if (Array.isArray(array)) {
    const [first] = array;
    return { values: array.flat(), shape: Array.isArray(first) ? [array.length, first.length] : [array.length] };
  }
  const bytes = Uint8Array.from(atob(array.bdata), (char) => char.charCodeAt(0));
  const values = new KINDS[array.dtype](bytes.buffer);
  const shape = array.shape ? String(array.shape).split(",").map(Number) : [values.length];
  return { values, shape };
}

/** @type {Record<string, string>} */
const ESCAPES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

// Plotly's text without its line breaks and escapes; only ever set as text.
export function plainText(/** @type {unknown} */ text) {
  return String(text ?? "")
    .replace(/<br>/g, " ")
    .replace(/&(lt|gt|amp);/g, (found) => ESCAPES[found]);
}

// Marks of masked cells are drawn as a heatmap too, of no numbers.
export const isMarks = (/** @type {FigureTrace} */ trace) => trace.type === "heatmap" && trace.showscale === false;

/** The first heatmap with numbers: its cells row by row, the names on its axes, its unit.
 * @type {(figure: FigureJson) => Heatmap | null} */
export function heatmapOf(figure) {
  const trace = figure.data.find((each) => each.type === "heatmap" && !isMarks(each));
  if (!trace) return null;
  const { values, shape } = unpack(trace.z);
  const [rows, cols] = shape;
  const names = (/** @type {Packed | undefined} */ given, /** @type {number} */ count) =>
    given ? Array.from(unpack(given).values, plainText) : Array.from({ length: count }, (_, i) => String(i));
  const { xaxis, yaxis } = figure.layout;
  return {
    rows,
    cols,
    values: Float64Array.from(values, (value) => Number(value ?? NaN)),
    x: names(trace.x, cols),
    y: names(trace.y, rows),
    xTitle: plainText(xaxis?.title?.text),
    yTitle: plainText(yaxis?.title?.text),
    unit: plainText(trace.colorbar?.title?.text),
  };
}

export const titleOf = (/** @type {FigureJson} */ figure) => plainText(figure.layout.title?.text);
export const isCaption = (/** @type {{ name?: string }} */ annotation) => annotation.name === "caption";
export const captionOf = (/** @type {FigureJson} */ figure) =>
  plainText((figure.layout.annotations ?? []).find(isCaption)?.text);
