// How a score got there, in a document of its own: the drawing of the live page.

import { query } from "../core/dom.js";
import { PictureRoutes } from "../views/picture_routes.js";
import { RoutesView } from "../views/routes_view.js";
import { tokensOf } from "../views/token_choice.js";

/** @typedef {{ token: (token: number) => unknown, link: (edge: RouteEdge) => unknown }} Acts */

/** Draw it below its sentence, the asked token marked; the function draws it anew, as in another theme, while a token is
 * chosen, from which the arrow keys go on. @type {(facts: RunFacts, acts: Acts) => (token: number) => unknown} */
export function explain({ tokens, grid, picture, explained }, acts) {
  if (!explained) return () => {};
  const part = query(document, "#how");
  const said = query(part, "p:last-of-type");
  const say = (/** @type {string} */ sentence) => said.replaceChildren(sentence);
  const found = /** @type {Explained} */ ({ names: tokens, ...explained });
  const run = /** @type {Run} */ ({ n: tokens.length, tokens, ...tokensOf(tokens, grid, picture) });
  let chosen = -1;
  const routes = new RoutesView({ ...acts, say, from: () => chosen });
  const view = grid && picture ? new PictureRoutes(acts.token) : routes;
  part.hidden = false;
  query(part, "p").textContent = found.sentence;
  query(part, "h2").append(...(view === routes ? [routes.least] : []));
  said.before(view.node);
  return (token) => {
    chosen = token;
    view.show(run, found, explained.token ?? -1);
  };
}
