// Link entries of single tabs: controls named with a dot, such as "picture.opacity".

import { current } from "./app_state.js";

/** @typedef {HTMLInputElement | HTMLSelectElement} Field */

/** @type {(field: Field) => string} */
const written = (field) =>
  field.type === "checkbox" ? (/** @type {HTMLInputElement} */ (field).checked ? "1" : "0") : field.value;

/** Bind a control to the link in both directions; defaults are left out.
 * @template {Field} Kind @param {string} name @param {Kind} field @param {AbortSignal} signal @returns {Kind} */
export function inLink(name, field, signal) {
  const { selection } = current;
  const usual = written(field);
  const linked = selection.noted(name);
  const fill = (/** @type {string} */ value) => {
    if (field.type === "checkbox") /** @type {HTMLInputElement} */ (field).checked = value === "1";
    else if (field instanceof HTMLSelectElement) choose(field, value);
    else field.value = value;
    if (field.type === "range") field.dispatchEvent(new Event("input")); // what it says beside it
  };
  if (linked) fill(linked);
  const restore = () => {
    fill(selection.noted(name) || usual);
    field.dispatchEvent(new Event("change"));
  };
  selection.restored(name, restore, signal);
  const note = () => selection.note({ [name]: written(field) === usual ? "" : written(field) });
  for (const event of ["input", "change"]) field.addEventListener(event, note);
  return field;
}

/** A link entry for the run it opened; for any other run it is stale.
 * @type {(run: Run, name: string) => string} */
export const linkedOf = ({ key }, name) => (key === current.selection.opened ? current.selection.noted(name) : "");

/** Choose what a link has, if it is offered; whether it is. @type {(select: HTMLSelectElement, value: string | null) => boolean} */
export function choose(select, value) {
  const offered = value !== null && [...select.options].some((option) => option.value === value);
  if (offered) select.value = value;
  return offered;
}
