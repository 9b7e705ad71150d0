// Keys of the lesson: Space and the keys of a presenter go on, as in a talk; arrows go through layers and heads.

/** @typedef {{ steps: number, layers: number, heads: number }} Move */

const FIELDS = "input, textarea, select, button, a, summary, [role=slider], [role=tab], [contenteditable], canvas";
const [STAY, BACK, ON] = [0, -1, 1];

/** @type {Record<string, Move>} */
const MOVES = {
  " ": { steps: ON, layers: STAY, heads: STAY },
  PageDown: { steps: ON, layers: STAY, heads: STAY },
  PageUp: { steps: BACK, layers: STAY, heads: STAY },
  ArrowLeft: { steps: STAY, layers: BACK, heads: STAY },
  ArrowRight: { steps: STAY, layers: ON, heads: STAY },
  ArrowUp: { steps: STAY, layers: STAY, heads: BACK },
  ArrowDown: { steps: STAY, layers: STAY, heads: ON },
};

/**
 * Target of a key; null if it has another meaning, as in a field.
 * @type {(event: KeyboardEvent) => Move | null}
 */
export function moveOf({ key, target, shiftKey, ctrlKey, metaKey, altKey, defaultPrevented }) {
  const elsewhere = target instanceof Element && target.closest(FIELDS);
  if (elsewhere || ctrlKey || metaKey || altKey || defaultPrevented || !Object.hasOwn(MOVES, key)) return null;
  return key === " " && shiftKey ? MOVES.PageUp : MOVES[key];
}
