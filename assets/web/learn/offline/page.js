// The lesson as one file: what the link asks for is run here, and the Learn tab shows it.

import { current } from "../../core/app_state.js";
import { el, query } from "../../core/dom.js";
import { Run } from "../../core/run.js";
import { markPainted } from "../../core/view.js";
import { errorText, writeWith } from "../printed.js";
import { isSeat } from "../result_code.js";
import { mount } from "../tab.js";
import { languageOf, TEXTS } from "../texts.js";
import { ChangeNote } from "./change_note.js";
import { facts, questions, runs, vocabulary } from "./page_data.js";
import { knownCodes } from "./runs.js";
import { TextForm } from "./text_form.js";

const LANGUAGE = "learn.lang"; // in the link
const SEAT = "learn.seed";
const NEAR = 5e-6; // relative to the largest number

followTheme();
keepAddress();
const root = query(document, "#lesson");
const apart = distance();
const { selection } = current;
if (!selection.noted(LANGUAGE)) selection.note({ [LANGUAGE]: facts.language });
const said = TEXTS[languageOf(selection.noted(LANGUAGE))];
writeWith(said);
if (apart <= NEAR) open();
else root.append(el("p", { class: "viz-alert", role: "alert" }, said.file.differs(errorText(apart, 1))));
markPainted(document.body, "");

function open() {
  const params = new URLSearchParams(location.search);
  const asked = params.get("seed") ?? "";
  const seat = isSeat(asked) ? Number(asked) : 0;
  const text = params.get("a") || questions.sentence(seat);
  const codes = knownCodes(params.get("cut") ?? "", runs.model, vocabulary.read(text).ids.length);
  current.enter(new Run(runs.described(runs.of(text, codes))));

  const tab = el("div", { class: "viz-root" });
  const [heading, foot] = [el("h1"), el("p", { class: "viz-caption viz-lesson-foot" })];
  const [form, note] = [new TextForm(runs, questions, said), new ChangeNote(runs, said)];
  root.append(heading, form.node, note.node, tab, foot);
  mount(tab);
  const { language } = /** @type {{ language: HTMLSelectElement }} */ (window.vizLearn);
  const speak = () => {
    const texts = TEXTS[language.value];
    document.documentElement.lang = language.value;
    document.title = heading.textContent = texts.file.title;
    foot.textContent = `${texts.file.agrees(errorText(apart))} ${texts.file.alone} viz_encoder ${facts.version}`;
    for (const each of [form, note]) each.speak(texts);
  };
  language.addEventListener("change", speak);
  speak();
  if (!seat || questions.numbers.includes(seat)) return;
  selection.note({ [SEAT]: "" });
  form.noSeat(seat);
}

/**
 * Largest distance from PyTorch's outputs for the lesson's sentence, relative to a row's maximum.
 */
function distance() {
  const { last } = runs.of(questions.sentence(0)).ran;
  const rows = last.map(({ out }, token) => {
    const ran = facts.reference[token];
    const off = Math.max(...out.map((value, at) => Math.abs(value - ran[at])));
    return off / Math.max(...ran.map(Math.abs));
  });
  return Math.max(...rows);
}

// Some browsers refuse to change the address of a file; there the link is what was opened.
function keepAddress() {
  try {
    history.replaceState(history.state, "", location.href);
  } catch {
    history.replaceState = () => {};
  }
}

// Light and dark follow the system.
function followTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.body.classList.toggle("dark", dark.matches);
  dark.addEventListener("change", follow);
  follow();
}
