// The run that the page shows: it comes from the form, and goes to all tabs.

import { current } from "./app_state.js";
import { ChangedBanner } from "./changed_banner.js";
import { Connection } from "./connection.js";
import { built } from "./form.js";
import { followForm, keepTyped } from "./form_ahead.js";
import { closing, patient } from "./queue.js";
import { Run } from "./run.js";
import { offerLink } from "./share.js";
import { followTabs } from "./tab_link.js";
import { follow } from "./tab_shell.js";
import { followBack, visit } from "./visited.js";

/** @import { Trigger } from "./tab_shell.js" */

window.fetch = closing(patient(window.fetch.bind(window))); // Gradio's client joins its queue by it

current.selection.writes = visit;
keepTyped(); // before the page is built: the first map may be there before this view is mounted

// The first run is requested by the page's head while the page is built, unless the link is for
// another run.
export const linked = !document.querySelector("link[rel=preload][href$='viz/first']");
const first = linked
  ? null
  : fetch(new URL("viz/first", document.baseURI)).then((answer) => (answer.ok ? answer.json() : null));
first?.then(
  (description) => description && !current.run && enter(description), // unless the form was quicker
  () => {},
);

// Called by the page once; `read` gives the run's description, `watch` tells when it changes, and
// "submit" has the server run what the link asks for, or say why nothing can be shown.
/** @type {(root: HTMLElement, read: () => string, watch: Watch, trigger: Trigger) => Promise<void>} */
export async function mount(root, read, watch, trigger) {
  follow(read, watch, enter);
  new ChangedBanner(root);
  followForm(root);
  new Connection();
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented) return; // the text's own Enter runs it already
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) document.getElementById("viz-run")?.click();
  });
  followTabs(current.selection);
  current.fillForm = () => trigger("submit");
  followBack(current, current.fillForm);
  foldForm();
  offerLink();
  built(() => document.querySelector(".viz-skip")).then((link) => link.addEventListener("click", skip));
  if (!(await first?.catch(() => null))) trigger("submit");
  current.settle();
}

// A run folds the form until it is used again: what comes with its focus covers no result, and on a narrow screen one
// line with the text stands for it, and opens it on top; until something ran it is below the result's place.
function foldForm() {
  const form = document.getElementById("viz-inputs");
  const open = () => form?.removeAttribute("data-ran");
  current.on((run) => form?.toggleAttribute("data-ran", Boolean(run)));
  for (const event of ["pointerdown", "input", "focusin"]) form?.addEventListener(event, open);
  form?.addEventListener("keydown", ({ key, target }) => {
    const folds = /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll(".label-wrap.open"));
    const listed = target instanceof Element && target.matches("input[aria-expanded=true]"); // whose list Escape closes
    if (key === "Escape" && !listed) for (const fold of folds) [fold.focus(), fold.click()];
  });
  built(() => document.querySelector(".viz-to-form")).then((line) => {
    current.on((run) => run && line.replaceChildren(`✎ ${run.link.a ?? "Change the input"}`));
    line.addEventListener("click", () => {
      open();
      form?.setAttribute("data-asked", "");
      form?.scrollIntoView({ block: "nearest" });
      /** @type {HTMLElement | null} */ (form?.querySelector("textarea, input"))?.focus({ preventScroll: true });
    });
  });
}

// What opened a model or a saved run has done so: it makes room for the result, which the focus in it goes to.
function closeOpened() {
  /** @type {NodeListOf<HTMLElement>} */
  const open = document.querySelectorAll(":is(#viz-opening, #viz-saved-box) .label-wrap.open");
  for (const fold of open) {
    if (fold.parentElement?.contains(document.activeElement)) skip(undefined, true); // from the form's place on, the answer is in sight
    fold.click();
  }
}

// To the tab that is open, over the form and the tabs' names.
/** @param {Event} [event] @param {boolean} [preventScroll] */
function skip(event, preventScroll = false) {
  event?.preventDefault(); // the address stays
  const panels = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#viz-tabs [role=tabpanel]"));
  const open = [...panels].find(({ clientWidth }) => clientWidth > 0);
  open?.setAttribute("tabindex", "-1");
  open?.focus({ preventScroll });
}

function enter(/** @type {RunDescription} */ description) {
  closeOpened();
  if (description.key !== current.run?.key) current.enter(new Run(description));
}
