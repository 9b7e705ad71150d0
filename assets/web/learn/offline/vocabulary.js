// A text as tokens of a model that knows whole words, by its own tokenizer.json.

/** @typedef {{ model: { vocab: Record<string, number> }, added_tokens: { id: number, content: string }[] }} TokenizerFile */
/** @typedef {{ ids: number[], tokens: string[], special: boolean[], unknown: string[], cut: number }} Read
 *   `special` were added to the text; `unknown` are its words that the model does not know; `cut` is how many did
 *   not fit */

const [START, STOP, UNKNOWN] = ["[CLS]", "[SEP]", "[UNK]"];
const PUNCTUATION = "\\p{P}!-\\/:-@\\[-\\x60{-~"; // of Unicode, and all of ASCII's signs
const PIECES = new RegExp(`[${PUNCTUATION}]|[^\\s${PUNCTUATION}]+`, "gu");

export class Vocabulary {
  /** @type {string[]} by their ids */
  words = [];

  /** @param {TokenizerFile} file @param {number} most tokens that the model has positions for */
  constructor({ model, added_tokens: added }, most) {
    this.ids = model.vocab;
    this.most = most;
    this.added = added.map(({ content }) => content);
    for (const [word, id] of Object.entries(model.vocab)) this.words[id] = word;
    const written = this.added.map((name) => name.replace(/[[\]]/g, "\\$&"));
    this.splitter = new RegExp(`(${written.join("|")})`, "g");
  }

  /** The words that a person can type, in the order of their ids. */
  get ordinary() {
    return this.words.filter((word) => !this.added.includes(word));
  }

  /** The text between [CLS] and [SEP]; one of them that was typed there is not added twice.
   * @param {string} text @returns {Read} */
  read(text) {
    const typed = withoutEnds(this.#pieces(text));
    const kept = typed.slice(0, this.most - 2);
    const tokens = [START, ...kept.map((piece) => (Object.hasOwn(this.ids, piece) ? piece : UNKNOWN)), STOP];
    return {
      ids: tokens.map((token) => this.ids[token]),
      tokens,
      special: tokens.map((_, at) => at === 0 || at === tokens.length - 1),
      unknown: kept.filter((piece) => !Object.hasOwn(this.ids, piece)),
      cut: typed.length - kept.length,
    };
  }

  /** Special tokens as they are typed; all else in small letters, each sign by itself.
   * @param {string} text @returns {string[]} */
  #pieces(text) {
    return text
      .split(this.splitter)
      .flatMap((part) => (this.added.includes(part) ? [part] : (part.toLowerCase().match(PIECES) ?? [])));
  }
}

// What is added anyway, unless nothing else was typed.
function withoutEnds(/** @type {string[]} */ typed) {
  const inner = typed.slice(Number(typed[0] === START), typed.at(-1) === STOP ? -1 : undefined);
  return inner.length ? inner : typed;
}
