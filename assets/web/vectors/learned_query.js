// The query that was learned last on this page: both parts of the tab that use it are told.

import { Held } from "../core/emitter.js";

export const learned = /** @type {Held<LearnedDescription>} */ (new Held());
