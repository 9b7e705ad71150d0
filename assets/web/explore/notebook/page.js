// Explore in a notebook's cell: the run is the kernel's, and the selection is the cell's too.

import { current } from "../../core/app_state.js";
import { query } from "../../core/dom.js";
import { Run } from "../../core/run.js";
import { json } from "../../core/server.js";
import { followNotebook } from "../../core/frame.js";
import { markPainted } from "../../core/view.js";
import { mount } from "../tab.js";
import { tell } from "./kernel.js";

const SHARED = /** @type {const} */ (["layer", "head", "query", "key", "measure"]);
const { selection } = current;
let [heard, toldRun] = ["", ""]; // the place that Python set last, which is not told back over what it sets next

async function open() {
  const run = new Run(await json("viz/first"));
  selection.writes = () => {}; // the document has no address of its own
  current.enter(run, JSON.parse(query(document, "#data-place").textContent ?? ""));
  mount(query(document, "main"));
  selection.on(share);
  current.on(share);
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || !data?.place) return;
    heard = JSON.stringify(SHARED.map((name) => data.place[name]));
    selection.set(data.place);
  });
  markPainted(document.body, "yes");
}

// What the kernel knows of what is looked at here.
function share() {
  const run = current.run?.key ?? "";
  if (run === toldRun && heard === JSON.stringify(SHARED.map((name) => selection[name]))) return;
  [heard, toldRun] = ["", run];
  const place = Object.fromEntries(SHARED.map((name) => [name, selection[name]]));
  tell({ place: { ...place, run } });
}

followNotebook();
open();
