// The selection that all views share: layer, head, query, key and how to draw. It lives in the URL.

const DEFAULTS = { layer: 0, head: 0, query: 0, key: 0, scale: "head", hide: false };
const SCALES = ["head", "shared", "log"];

function parse(params) {
  const whole = (name) => {
    const value = Number(params.get(name));
    return params.has(name) && Number.isInteger(value) && value >= 0 ? value : DEFAULTS[name];
  };
  const head = params.get("head");
  return {
    layer: whole("layer"),
    head: head === "mean" || head === "max" ? head : whole("head"),
    query: whole("query"),
    key: whole("key"),
    scale: SCALES.includes(params.get("scale")) ? params.get("scale") : DEFAULTS.scale,
    hide: params.get("hide") === "1",
  };
}

export class Selection {
  #listeners = new Set();
  #link = {};

  constructor() {
    Object.assign(this, parse(new URLSearchParams(location.search)));
  }

  // A new run: keep the selection where the run has it, else the nearest it has.
  enter(run) {
    this.#link = run.link;
    this.layer = Math.min(this.layer, run.nLayers - 1);
    if (typeof this.head === "number") this.head = Math.min(this.head, run.nHeads - 1);
    const last = run.tokens.length - 1;
    this.query = Math.min(this.query, last);
    this.key = Math.min(this.key, last);
    this.#write();
  }

  set(changes) {
    const changed = Object.keys(changes).filter((name) => this[name] !== changes[name]);
    if (!changed.length) return;
    Object.assign(this, changes);
    this.#write();
    for (const listener of this.#listeners) listener(new Set(changed));
  }

  on(listener) {
    this.#listeners.add(listener);
  }

  get name() {
    return `${this.layer}.${this.head}`;
  }

  #write() {
    const params = new URLSearchParams(this.#link);
    for (const name of ["layer", "head", "query", "key"]) params.set(name, this[name]);
    if (this.scale !== DEFAULTS.scale) params.set("scale", this.scale);
    if (this.hide) params.set("hide", "1");
    const theme = new URLSearchParams(location.search).get("__theme");
    if (theme) params.set("__theme", theme);
    history.replaceState(history.state, "", `${location.pathname}?${params}`);
  }
}
