// The twelve steps in their order: what each is called, which parts of the block it lights, and its view.

import { AttentionStep } from "./step_attention.js";
import { BuildStep } from "./step_build.js";
import { DepthStep } from "./step_depth.js";
import { EmbeddingStep } from "./step_embedding.js";
import { FfnStep } from "./step_ffn.js";
import { HeadsStep } from "./step_heads.js";
import { KnockoutStep } from "./step_knockout.js";
import { MasksStep } from "./step_masks.js";
import { PoolingStep } from "./step_pooling.js";
import { ProjectionStep } from "./step_projection.js";
import { ResidualStep } from "./step_residual.js";
import { TokensStep } from "./step_tokens.js";

/** @import { Acts, StepView, TokenNumbers, Texts } from "./types.d.ts" */
/** @typedef {{ id: keyof Texts["steps"], parts: string[], needs?: keyof TokenNumbers, make: (acts: Acts) => StepView }} StepPlace
 *   `parts` of the spine; `needs` what the server may be unable to read of a model */

/** @type {StepPlace[]} */
export const STEPS = [
  { id: "tokens", parts: [], make: (acts) => new TokensStep(acts) },
  { id: "embedding", parts: ["x"], needs: "embedding", make: (acts) => new EmbeddingStep(acts) },
  { id: "projection", parts: ["qkv"], needs: "projection", make: (acts) => new ProjectionStep(acts) },
  {
    id: "attention",
    parts: ["scores", "softmax", "values"],
    needs: "attention",
    make: (acts) => new AttentionStep(acts),
  },
  { id: "heads", parts: ["output"], needs: "heads", make: (acts) => new HeadsStep(acts) },
  { id: "residual", parts: ["residual", "norm"], needs: "stages", make: (acts) => new ResidualStep(acts) },
  { id: "ffn", parts: ["ffn"], needs: "ffn", make: (acts) => new FfnStep(acts) },
  { id: "depth", parts: ["out"], make: (acts) => new DepthStep(acts) },
  { id: "knockout", parts: [], make: (acts) => new KnockoutStep(acts) },
  { id: "masks", parts: ["scores"], make: (acts) => new MasksStep(acts) },
  { id: "pooling", parts: ["out"], make: (acts) => new PoolingStep(acts) },
  { id: "build", parts: [], make: (acts) => new BuildStep(acts) },
];

/** The step of a number, clamped. @type {(number: number) => number} */
export const stepAt = (number) => Math.max(1, Math.min(STEPS.length, Math.round(number) || 1));
