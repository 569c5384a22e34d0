// Other translations of a sentence; a click selects one.

import { toTag } from "./words.js";

/** A list of buttons, one per alternative translation of the selected sentence. */
export class Alternatives {
  /** @param onTake receives the numbers of the sentence and the alternative. */
  constructor({ section, of, list }, onTake) {
    Object.assign(this, { section, of, list, onTake });
    this.sentence = null;
  }

  /** Show the alternatives of a sentence. */
  show(sentences, number, from, to) {
    const { source, alternatives } = sentences[number];
    this.sentence = number;
    this.of.hidden = sentences.length < 2;
    this.of.lang = toTag(from);
    this.of.textContent = source;
    this.list.replaceChildren(
      ...alternatives.map((text, index) => this.#draw(text, index, toTag(to))),
    );
    this.section.hidden = alternatives.length === 0;
  }

  clear() {
    this.sentence = null;
    this.section.hidden = true;
    this.list.replaceChildren();
  }

  /** Focus a button, if there is one. */
  focus(index = 0) {
    this.list.querySelectorAll("button")[index]?.focus();
  }

  #draw(text, index, language) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.lang = language;
    button.dir = "auto";
    button.addEventListener("click", () => {
      this.onTake(this.sentence, index);
      this.focus(index);
    });
    const row = document.createElement("li");
    row.append(button);
    return row;
  }
}
