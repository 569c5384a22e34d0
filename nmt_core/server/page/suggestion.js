// A form that sends a better translation of the selected sentence.

import { toTag } from "./words.js";

const THANKS = "Sent. The operator of this server decides whether to use it.";

/** A form that keeps a draft per sentence until the translation changes. */
export class Suggestion {
  /** @param onSend receives a sentence, its number and the text, and returns a promise. */
  constructor({ section, of, area, button, status }, onSend) {
    Object.assign(this, { section, of, area, button, status, onSend });
    this.allowed = false;
    this.clear();
    area.addEventListener("input", () => this.#updateDraft());
    section.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
  }

  /** Show a sentence, if the server accepts suggestions. */
  show(sentences, number, from, to) {
    if (number !== this.number) this.status.textContent = "";
    Object.assign(this, { number, sentence: sentences[number] });
    const { source, text } = this.sentence;
    this.of.textContent = source;
    this.of.lang = toTag(from);
    this.area.lang = toTag(to);
    this.area.value = this.drafts.get(number) ?? text;
    this.section.hidden = !this.allowed || !source.trim();
    this.#updateDraft();
  }

  /** Delete all drafts, because the translation changed. */
  clear() {
    Object.assign(this, { number: null, sentence: null, drafts: new Map() });
    this.section.hidden = true;
    this.status.textContent = "";
  }

  #updateDraft() {
    const { value } = this.area;
    const isNew = this.sentence !== null && value.trim() !== "" && value !== this.sentence.text;
    if (isNew) this.drafts.set(this.number, value);
    else this.drafts.delete(this.number);
    this.button.disabled = !isNew;
  }

  async #send() {
    const { number, sentence, drafts } = this;
    const { value } = this.area;
    this.button.disabled = true;
    this.status.textContent = "Sending";
    try {
      await this.onSend(sentence, number, value);
      if (drafts === this.drafts) this.status.textContent = THANKS;
    } catch ({ message }) {
      if (drafts !== this.drafts) return;
      this.status.textContent = message;
      this.button.disabled = false;
    }
  }
}
