// The reference of a comparison in the link, so that a link can bring the comparison back.

/** @import { Run, RunDescription, Selection } from "./types.d.ts" */

const PARTS = ["kind", "model", "a", "b", "example", "run", "ran", "mistake", "from"];
const SAME = "ref.same"; // the reference is the run that is shown

/** Have the link hold what brings the reference back; null takes it out.
 * @type {(selection: Selection, reference: RunDescription | null, run: Run | null) => void} */
export function noteReference(selection, reference, run) {
  const same = reference !== null && reference === run;
  const link = reference && !same ? { ...reference.link, run: reference.key } : {};
  const notes = Object.fromEntries(PARTS.map((name) => [`ref.${name}`, /** @type {any} */ (link)[name] ?? ""]));
  selection.note({ ...notes, [SAME]: same ? "1" : "" });
}

/** What the link has of a reference: its parts, that it is the shown run itself, or nothing.
 * @type {(selection: Selection) => Record<string, string> | "same" | null} */
export function notedReference(selection) {
  if (selection.noted(SAME)) return "same";
  const parts = PARTS.map((name) => [name, selection.noted(`ref.${name}`)]).filter(([, value]) => value);
  return parts.length ? Object.fromEntries(parts) : null;
}
