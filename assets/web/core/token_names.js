// Tokens named in sentences: quoted, and isolated where they are read from right to left.

// Hebrew to Arabic Extended-A, their presentation forms, and the scripts of U+10800 and U+1E800.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const [FIRST_STRONG_ISOLATE, POP_ISOLATE] = ["\u2068", "\u2069"]; // UAX 9, section 2.4

/** The text such that the numbers and quotes beside it stay in their places; nothing is added to
 * what is read from left to right, so that it is copied as it is. @type {(text: string) => string} */
export const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `${FIRST_STRONG_ISOLATE}${text}${POP_ISOLATE}` : text);

/** A token, a word or a label in a sentence. @type {(text: string) => string} */
export const quoted = (text) => `“${isolated(text)}”`;

/** A token in a sentence, with its number where another has the same name; a word by that of one of its tokens.
 * @type {(names: string[], at: number, said?: (name: string) => string, token?: number) => string} */
export const toldApart = (names, at, said = quoted, token = at) =>
  names.indexOf(names[at]) === names.lastIndexOf(names[at]) ? said(names[at]) : `${said(names[at])} (token ${token})`;

/** A token by its number and its text. @type {(at: number | string, text: string) => string} */
export const numbered = (at, text) => `${at} ${quoted(text)}`;
