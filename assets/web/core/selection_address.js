// Converts between addresses and selections.

/** @typedef {typeof DEFAULTS} Chosen what can be chosen, each by its name */

export const DEFAULTS = {
  layer: 0,
  head: /** @type {Head} */ (0),
  query: 0,
  key: 0,
  scale: "head",
  hide: false,
  renorm: false,
  words: false,
  change: false, // the maps less those of the reference
  measure: "attention", // what the picture, the heads and the map tell
};
export const SWITCHES = /** @type {const} */ (["hide", "renorm", "words"]);
export const PLACE = /** @type {const} */ (["layer", "head", "query", "key"]);
export const QUESTION = "flow.answer"; // the note of what is asked, where it is not as usual
export const ATLAS = { stat: "entropy", order: "layer" }; // what the atlas keeps in the link

/** The heads of a head: one number, or "1,4,7"; none where all are fused by "mean" or "max".
 * @type {(head: Head) => number[]} */
export function headsOf(head) {
  if (typeof head === "number") return [head];
  return /^\d+(,\d+)*$/.test(head) ? head.split(",").map(Number) : [];
}

/** Heads as the selection holds them: one as its number, several as "1,4,7", ascending, no one twice.
 * @type {(numbers: number[]) => Head} */
export function headFrom(numbers) {
  const heads = [...new Set(numbers)].sort((a, b) => a - b);
  return heads.length > 1 ? heads.join(",") : (heads[0] ?? 0);
}

/**
 * Name of a map: "3.5", or "layer 3, mean of heads 1, 4, 7".
 * @type {(layer: number, head: Head) => string}
 */
export function mapName(layer, head) {
  if (typeof head === "number") return `${layer}.${head}`;
  const heads = headsOf(head);
  return heads.length ? `layer ${layer}, mean of heads ${heads.join(", ")}` : `layer ${layer}, ${head} over all heads`;
}

/** Selection of an address; missing or invalid parts are defaults. @param {string} address */
export function selected(address) {
  const params = new URLSearchParams(address);
  const whole = (/** @type {"layer" | "head" | "query" | "key"} */ name) => {
    const value = Number(params.get(name));
    return params.has(name) && Number.isInteger(value) && value >= 0 ? value : Number(DEFAULTS[name]);
  };
  const head = params.get("head") ?? "";
  const several = head.length < 2000 && head.includes(",") ? headsOf(head) : [];
  return {
    layer: whole("layer"),
    head: head === "mean" || head === "max" ? head : several.length ? headFrom(several) : whole("head"),
    query: whole("query"),
    key: whole("key"),
    scale: params.get("scale") ?? DEFAULTS.scale,
    hide: params.get("hide") === "1",
    renorm: params.get("renorm") === "1",
    words: params.get("words") === "1",
    change: params.get("change") === "1",
    measure: params.get("measure") ?? DEFAULTS.measure,
    stat: params.get("stat") ?? ATLAS.stat,
    order: params.get("order") ?? ATLAS.order,
  };
}

/** Whether a run's link is of what was asked for; a text that is too long for it has the run's key in its place.
 * @type {(link: Record<string, string>, asked: Record<string, string>) => boolean} */
export function isOf(link, asked) {
  const same = (/** @type {string} */ name) => !(name in asked) || asked[name].trim() === (link[name] ?? "").trim();
  return ["kind", "model"].every(same) && ((link.run && !link.a && link.kind !== "image") || ["a", "b"].every(same));
}

/** @type {Record<string, string>} of links from before: the tab that a tab is part of now, and its part there */
const EARLIER = { hidden: "vectors", pooling: "vectors", zoo: "masks:bugs" };

/** Tab of an address, and its part that it names; "" for the first. @param {string} address */
export function tabIn(address) {
  const params = new URLSearchParams(address);
  const named = params.get("tab") ?? (params.has("learn") ? "learn" : ""); // ?learn=4 names a step of the lesson
  const [tab, part = ""] = (EARLIER[named] ?? named).split(":");
  return { tab, part };
}

/** The address of a selection in a run that `link` opens; what is as usual is left out.
 * @type {(chosen: Chosen & typeof ATLAS, link: Record<string, string>) => URLSearchParams} */
export function addressOf(chosen, link) {
  const params = new URLSearchParams(link);
  for (const name of PLACE) params.set(name, String(chosen[name]));
  for (const name of /** @type {const} */ (["scale", "measure"]))
    if (chosen[name] !== DEFAULTS[name]) params.set(name, chosen[name]);
  for (const name of [...SWITCHES, /** @type {const} */ ("change")]) if (chosen[name]) params.set(name, "1");
  for (const name of /** @type {const} */ (["stat", "order"])) {
    if (chosen[name] !== ATLAS[name]) params.set(name, chosen[name]);
  }
  return params;
}
