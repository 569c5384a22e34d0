// The typed text, and the marks behind its words.

import { toTag } from "./words.js";

/** A text area over a copy of its text; the copy sets the height and shows marks. */
export class Source {
  /** @param onPoint receives the {sentence, word} under the pointer or caret, or null. */
  constructor(area, backdrop, onPoint) {
    Object.assign(this, { area, backdrop, onPoint });
    this.places = new Map();
    area.addEventListener("input", () => this.copy());
    area.addEventListener("pointermove", ({ clientX, clientY }) => {
      const under = document.elementsFromPoint(clientX, clientY);
      this.#point(under.find((element) => this.places.has(element)));
    });
    area.addEventListener("pointerleave", () => this.#point(null));
    area.addEventListener("blur", () => this.#point(null));
    area.addEventListener("keyup", () => this.#pointAtCaret());
    this.copy();
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.copy();
  }

  /** Copy the text without marks. */
  copy() {
    this.#show([this.text]);
  }

  /** Split the copy into words; `sentences` are results of `describe`, with their source. */
  cut(sentences, language) {
    const parts = [];
    let cursor = 0;
    for (const [number, { source, sourceWords }] of sentences.entries()) {
      const start = source ? this.text.indexOf(source, cursor) : -1;
      if (start < 0) continue;
      for (const [index, word] of sourceWords.entries()) {
        parts.push(this.text.slice(cursor, start + word.start));
        const element = document.createElement("span");
        element.textContent = word.text;
        parts.push([element, { sentence: number, word: index, start: start + word.start }]);
        cursor = start + word.end;
      }
      parts.push(this.text.slice(cursor, start + source.length));
      cursor = start + source.length;
    }
    parts.push(this.text.slice(cursor));
    this.area.lang = this.backdrop.lang = toTag(language);
    this.#show(parts);
  }

  /** Mark words of a sentence by weights from 0 to 1; without weights, remove all marks. */
  mark(sentence, weights) {
    for (const [element, place] of this.places) {
      const weight = place.sentence === sentence ? (weights?.[place.word] ?? 0) : 0;
      element.classList.toggle("attended", weight > 0.05);
      element.style.setProperty("--weight", weight.toFixed(3));
    }
  }

  #show(parts) {
    this.places.clear();
    const nodes = parts.map((part) => {
      if (typeof part === "string") return part;
      this.places.set(...part);
      return part[0];
    });
    this.backdrop.replaceChildren(...nodes, "\u200b"); // so that an empty last line has a height
  }

  #point(element) {
    this.onPoint(element ? this.places.get(element) : null);
  }

  #pointAtCaret() {
    const caret = this.area.selectionStart;
    const at = [...this.places].find(
      ([element, { start }]) => start <= caret && caret <= start + element.textContent.length,
    );
    this.#point(at?.[0]);
  }
}
