// The types that the modules of this tab share.

export type { HeadExample as Example, HeadPlace, HeadTable, Maybe, Relations } from "../core/payloads.d.ts";
import type { HeadPlace } from "../core/payloads.d.ts";

export interface Change {
  at: HeadPlace;
  now: number;
  was: number;
  change: number;
}
