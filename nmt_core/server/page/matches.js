// Approved translations of similar sentences; a click selects one.

import { percent, toTag } from "./words.js";

const MEANINGS = { old: "only in the memory: ", new: "only in your text: " };
const ELEMENTS = { old: "del", new: "ins", same: "span" };

/** A list of similar sentences, each with the difference and a button with its translation. */
export class Matches {
  /** @param onTake receives the number of the sentence and a translation. */
  constructor({ section, list }, onTake) {
    Object.assign(this, { section, list, onTake });
    this.clear();
  }

  /** Show the matches of a sentence. */
  show(sentences, number, from, to) {
    const { matches } = sentences[number];
    const rows = matches.map((match) => this.#draw(match, number, toTag(from), toTag(to)));
    this.list.replaceChildren(...rows);
    this.section.hidden = matches.length === 0;
  }

  clear() {
    this.section.hidden = true;
    this.list.replaceChildren();
  }

  #draw({ score, difference, target }, number, from, to) {
    const shown = document.createElement("p");
    shown.className = "difference";
    const parts = document.createElement("span");
    parts.lang = from;
    parts.append(...difference.map(drawPart));
    shown.append(`${percent(score)}: `, parts);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = target;
    button.lang = to;
    button.dir = "auto";
    button.addEventListener("click", () => this.onTake(number, target));
    const row = document.createElement("li");
    row.append(shown, button);
    return row;
  }
}

/** Return a part of the difference; a screen reader announces its meaning. */
function drawPart({ kind, text }) {
  const element = document.createElement(ELEMENTS[kind]);
  if (kind !== "same") {
    const meaning = document.createElement("span");
    meaning.className = "unseen";
    meaning.lang = "en";
    meaning.textContent = MEANINGS[kind];
    element.append(meaning);
  }
  element.append(text);
  return element;
}
