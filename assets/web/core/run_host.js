// The run that the page shows: it comes from the form, and goes to all tabs.

import { current } from "./app_state.js";
import { Run } from "./run.js";
import { follow } from "./tab_shell.js";

/** @import { RunDescription } from "./payloads.d.ts" */
/** @import { Watch } from "./tab_shell.js" */

/** Called by the page once. @type {(root: HTMLElement, read: () => string, watch: Watch) => void} */
export function mount(_root, read, watch) {
  follow(read, watch, (/** @type {RunDescription} */ description) => {
    if (description.key !== current.run?.key) current.enter(new Run(description));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) document.getElementById("viz-run")?.click();
  });
}
