// The widget of a notebook's cell: a frame around the live view, and what goes between it and the kernel.

/** @typedef {{ get: (name: string) => any, set: (name: string, value: unknown) => void, save_changes: () => void,
 *   send: (content: object) => void, on: (event: string, heard: (...given: any[]) => void) => void,
 *   off: (event: string, heard: (...given: any[]) => void) => void }} Model */

const SHARED = ["layer", "head", "query", "key", "measure"];
const TALLEST = 1600; // pixels; what is taller scrolls

/** @param {{ model: Model, el: HTMLElement }} given */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  const page = `page:${Math.random()}`;
  frame.title = model.get("_title");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.style.cssText = `width:100%;height:${model.get("_height")}px;border:0;display:block`;
  frame.srcdoc = model.get("_still"); // until the kernel has answered, and where none is
  const tell = (/** @type {object} */ content) => frame.contentWindow?.postMessage(content, "*");
  const place = () => tell({ place: Object.fromEntries(SHARED.map((name) => [name, model.get(name)])) });
  const heard = (/** @type {MessageEvent} */ { source, data }) => {
    if (source !== frame.contentWindow || !data) return;
    if (data.id) return model.send(data);
    if (data.place) return choose(model, data.place);
    frame.style.height = `${Math.min(data.height, TALLEST)}px`;
    tell({ ink: getComputedStyle(el).color });
  };
  const answered = (/** @type {any} */ content, /** @type {DataView[]} */ [part]) => {
    const bytes = part && new Uint8Array(part.buffer, part.byteOffset, part.byteLength).slice().buffer;
    if (content.id === page) frame.srcdoc = new TextDecoder().decode(bytes);
    else tell({ ...content, bytes });
  };
  window.addEventListener("message", heard);
  model.on("msg:custom", answered);
  for (const name of SHARED) model.on(`change:${name}`, place);
  // The same below, for where no kernel runs, is hidden while this view lives.
  const hidden = document.createElement("style");
  hidden.textContent = `[data-viz-still="${model.get("_name")}"]{display:none}`;
  document.head.append(hidden);
  el.append(frame);
  model.send({ id: page, path: "page" });
  return () => {
    hidden.remove();
    window.removeEventListener("message", heard);
    model.off("msg:custom", answered);
    for (const name of SHARED) model.off(`change:${name}`, place);
  };
}

/** What was chosen in the frame. @type {(model: Model, place: Record<string, unknown>) => void} */
function choose(model, { run, ...chosen }) {
  for (const [name, value] of Object.entries({ ...chosen, _run: run }))
    if (model.get(name) !== value) model.set(name, value);
  model.save_changes();
}

export default { render };
