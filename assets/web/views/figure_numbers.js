// The numbers of a figure that came as Plotly's JSON, and its texts as a person reads them.

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

// An array that is plain or packed: { values, shape }.
export function unpack(array) {
  if (array == null) return { values: [], shape: [0] };
  if (!array.bdata) {
    const nested = Array.isArray(array[0]);
    return { values: nested ? array.flat() : array, shape: nested ? [array.length, array[0].length] : [array.length] };
  }
  const bytes = Uint8Array.from(atob(array.bdata), (char) => char.charCodeAt(0));
  const values = new KINDS[array.dtype](bytes.buffer);
  const shape = array.shape ? String(array.shape).split(",").map(Number) : [values.length];
  return { values, shape };
}

const ESCAPES = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

// Plotly's text without its line breaks and escapes; only ever set as text.
export function plainText(text) {
  return String(text ?? "")
    .replace(/<br>/g, " ")
    .replace(/&(lt|gt|amp);/g, (escape) => ESCAPES[escape]);
}

// Marks of masked cells are drawn as a heatmap too, of no numbers.
export const isMarks = (trace) => trace.type === "heatmap" && trace.showscale === false;

// The first heatmap with numbers: its cells row by row, the names on its axes, its unit.
export function heatmapOf(figure) {
  const trace = figure.data.find((each) => each.type === "heatmap" && !isMarks(each));
  if (!trace) return null;
  const {
    values,
    shape: [rows, cols],
  } = unpack(trace.z);
  const names = (given, count) =>
    given ? Array.from(unpack(given).values, plainText) : Array.from({ length: count }, (_, i) => String(i));
  return {
    rows,
    cols,
    values,
    x: names(trace.x, cols),
    y: names(trace.y, rows),
    xTitle: plainText(figure.layout.xaxis?.title?.text),
    yTitle: plainText(figure.layout.yaxis?.title?.text),
    unit: plainText(trace.colorbar?.title?.text),
  };
}

export const titleOf = (figure) => plainText(figure.layout.title?.text);
export const isCaption = (annotation) => annotation.name === "caption";
export const captionOf = (figure) => plainText((figure.layout.annotations ?? []).find(isCaption)?.text);
