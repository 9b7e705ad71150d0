// A text as tokens of a model that knows whole words, by its own tokenizer.json.

/** @typedef {{ model: { vocab: Record<string, number> }, added_tokens: { id: number, content: string }[] }} TokenizerFile */
/** @typedef {{ ids: number[], tokens: string[], special: boolean[], padding: number[], unknown: string[], cut: number }} Read
 *   `special` were added to the text, or are padding, whose places are `padding`; `unknown` are its words that the model
 *   does not know; `cut` is how many did not fit */

const [START, STOP, UNKNOWN, PADDING] = ["[CLS]", "[SEP]", "[UNK]", "[PAD]"];
const ESCAPED = `\\${PADDING}`; // is meant as a word
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
    const written = [ESCAPED, ...this.added].map((name) => name.replace(/[[\]\\]/g, "\\$&"));
    this.splitter = new RegExp(`(${written.join("|")})`, "g");
  }

  /** The words that a person can type, in the order of their ids. */
  get ordinary() {
    return this.words.filter((word) => !this.added.includes(word));
  }

  /** The text between [CLS] and [SEP]; one of them that was typed there is not added twice. Typed [PAD] is padding,
   * which stands behind [SEP] where it ends the text.
   * @param {string} text @returns {Read} */
  read(text) {
    const pieces = this.#pieces(text);
    const end = pieces.findLastIndex((piece) => piece !== PADDING) + 1;
    const typed = withoutEnds(pieces.slice(0, end));
    const kept = typed.slice(0, this.most - 2);
    const behind = pieces.slice(end, end + this.most - 2 - kept.length);
    const row = [START, ...kept, STOP, ...behind];
    const padding = row.flatMap((piece, at) => (piece === PADDING ? [at] : []));
    const tokens = row.map((piece) => this.#known(piece) ?? UNKNOWN);
    return {
      ids: tokens.map((token) => this.ids[token]),
      tokens,
      special: row.map((piece, at) => at === 0 || at === kept.length + 1 || piece === PADDING),
      padding,
      unknown: kept.filter((piece) => !this.#known(piece)),
      cut: pieces.length - end - behind.length + typed.length - kept.length,
    };
  }

  /** Whether nothing but padding was typed. @param {string} text */
  isPadding(text) {
    return this.#pieces(text).every((piece) => piece === PADDING);
  }

  #known(/** @type {string} */ piece) {
    const name = piece === ESCAPED ? PADDING : piece;
    return Object.hasOwn(this.ids, name) ? name : undefined;
  }

  /** Special tokens as they are typed; all else in small letters, each sign by itself.
   * @param {string} text @returns {string[]} */
  #pieces(text) {
    return text
      .split(this.splitter)
      .flatMap((part) =>
        part === ESCAPED || this.added.includes(part) ? [part] : (part.toLowerCase().match(PIECES) ?? []),
      );
  }
}

// Remove typed end tokens, which are added anyway, unless nothing else was typed.
function withoutEnds(/** @type {string[]} */ typed) {
  const first = typed.findIndex((piece) => piece !== PADDING);
  const before = typed.slice(0, Math.max(first, 0));
  const inner = typed.slice(before.length + Number(typed[first] === START), typed.at(-1) === STOP ? -1 : undefined);
  return inner.length ? [...before, ...inner] : typed;
}
