// The note about a word: its confidence and its source words.

import { judge, LEVELS, LIKELY_GOOD, percent, rate } from "./words.js";

const GAP = 6; // pixels between a word and its note
const MAX_SOURCE_WORDS = 3;
const MIN_SHARE = 0.1; // of a word

/** Return the model's confidence in a word. */
function describeConfidence({ probability }) {
  if (probability === null) return "";
  const level = judge(probability);
  const advice = level === "sure" ? "" : "; check this word";
  return `Word: ${LEVELS[level]} (${percent(probability)})${advice}`;
}

/** Return the source words that a word translates, the most important first. */
function findOrigin(sourceWords, weights) {
  const ranked = sourceWords
    .map((word, index) => ({ text: word.text, weight: weights[index] }))
    .filter(({ weight }) => weight >= MIN_SHARE)
    .sort((left, right) => right.weight - left.weight);
  return ranked.slice(0, MAX_SOURCE_WORDS).map(({ text }) => text);
}

/** A note below a word; Escape closes it. */
export class Note {
  constructor(element) {
    this.element = element;
    this.word = null;
    document.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") this.close();
    });
    addEventListener("resize", () => this.close());
  }

  /** Show the note of a word; the sentence is a result of `describe`. */
  open(element, { words, sourceWords, weights, confidence }, index, language) {
    this.close();
    const sureness = describeConfidence(words[index]);
    const origin = findOrigin(sourceWords, weights[index]);
    const rating = rate(confidence) === LIKELY_GOOD ? null : rate(confidence);
    if (!sureness && !origin.length && !rating) return;
    this.element.replaceChildren(...(sureness ? [line("sureness", sureness)] : []));
    if (origin.length) {
      const from = line("origin", "Translated from: ");
      for (const [rank, word] of origin.entries()) from.append(rank ? ", " : "", named(word, language));
      this.element.append(from);
    }
    if (rating) this.element.append(line("rating", `Sentence: ${rating} (confidence ${percent(confidence)})`));
    this.word = element;
    element.setAttribute("aria-describedby", this.element.id);
    this.element.hidden = false;
    this.#place();
  }

  close() {
    this.word?.removeAttribute("aria-describedby");
    this.word = null;
    this.element.hidden = true;
  }

  #place() {
    const word = this.word.getBoundingClientRect();
    const note = this.element.getBoundingClientRect();
    const room = document.documentElement.clientWidth - note.width - GAP;
    const left = Math.max(GAP, Math.min(word.left + word.width / 2 - note.width / 2, room));
    const fits = word.bottom + GAP + note.height <= innerHeight;
    const top = fits ? word.bottom + GAP : word.top - GAP - note.height;
    this.element.style.left = `${left + scrollX}px`;
    this.element.style.top = `${top + scrollY}px`;
  }
}

function line(name, text) {
  const element = document.createElement("p");
  element.className = name;
  element.textContent = text;
  return element;
}

function named(text, language) {
  const element = document.createElement("bdi");
  element.lang = language;
  element.textContent = text;
  return element;
}
