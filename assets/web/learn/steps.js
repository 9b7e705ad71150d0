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

/** @import { StepView } from "./step_view.js" */
/** @import { Acts, TokenNumbers, Texts } from "./types.d.ts" */
/** @typedef {{ id: keyof Texts["steps"], parts: string[], needs?: keyof TokenNumbers, Step: new (acts: Acts) => StepView }} StepPlace
 *   `parts` of the spine; `needs` what the server may be unable to read of a model */

/** @type {StepPlace[]} */
export const STEPS = [
  { id: "tokens", parts: [], Step: TokensStep },
  { id: "embedding", parts: ["x"], needs: "embedding", Step: EmbeddingStep },
  { id: "projection", parts: ["qkv"], needs: "projection", Step: ProjectionStep },
  { id: "attention", parts: ["scores", "softmax", "values"], needs: "attention", Step: AttentionStep },
  { id: "heads", parts: ["output"], needs: "heads", Step: HeadsStep },
  { id: "residual", parts: ["residual", "norm"], needs: "stages", Step: ResidualStep },
  { id: "ffn", parts: ["ffn"], needs: "ffn", Step: FfnStep },
  { id: "depth", parts: ["out"], Step: DepthStep },
  { id: "knockout", parts: [], Step: KnockoutStep },
  { id: "masks", parts: ["scores"], Step: MasksStep },
  { id: "pooling", parts: ["out"], Step: PoolingStep },
  { id: "build", parts: [], Step: BuildStep },
];

/** The step of a number, clamped. @type {(number: number) => number} */
export const stepAt = (number) => Math.max(1, Math.min(STEPS.length, Math.round(number) || 1));
