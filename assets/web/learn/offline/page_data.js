// Data in the lesson file: the model's files, the exercises, and a PyTorch run to compare with.

import { query } from "../../core/dom.js";
import { Answers } from "./answers.js";
import { Questions } from "./questions.js";
import { Runs } from "./runs.js";
import { bytesOf, readTensors } from "./tensors.js";
import { Vocabulary } from "./vocabulary.js";

/** @import { Config } from "./forward.js" */
/** @import { Kept } from "./questions.js" */
/** @import { TokenizerFile } from "./vocabulary.js" */
/** @typedef {{ model: string, config: Config, tokenizer: TokenizerFile, language: string, version: string,
 *   twins: Record<string, string>,   reference: number[][] }} Facts `reference` is what PyTorch put out for the lesson's sentence */

const read = (/** @type {string} */ id) => query(document, `#data-${id}`).textContent ?? "";

/** @type {Facts} */
export const facts = JSON.parse(read("facts"));
export const questions = new Questions(/** @type {Kept} */ (JSON.parse(read("questions"))));
export const vocabulary = new Vocabulary(facts.tokenizer, facts.config.max_positions);
const tensors = readTensors(bytesOf(read("weights")));
export const runs = new Runs({ config: facts.config, tensors, words: vocabulary.words }, vocabulary, facts.model);
export const answers = new Answers(runs, questions, facts.twins);
