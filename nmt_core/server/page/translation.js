// The translation, word by word.

import { describe, describeCheck, describeRestoredWords, describeUnknownWords, DOUBTFUL, judge, LEVELS, LIKELY_GOOD, percent, rate, toTag } from "./words.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

const UNKNOWN = { tokens: [], probabilities: [], words: [], links: [], confidence: null, checks: [], restoredWords: [], unknownWords: [] };

/** The translation as words that react to the pointer and the keyboard. */
export class Translation {
  /**
   * @param onPoint receives {sentence, word, element}, or null.
   * @param onChoose receives the number of a sentence, and whether to focus its alternatives.
   */
  constructor(place, { onPoint, onChoose }) {
    Object.assign(this, { place, onPoint, onChoose });
    this.clear();
    place.addEventListener("pointerover", ({ target }) => this.#point(target));
    place.addEventListener("pointerleave", () => this.#point(document.activeElement));
    place.addEventListener("focusin", ({ target }) => this.#enter(target));
    place.addEventListener("focusout", () => this.onPoint(null));
    place.addEventListener("click", ({ target }) => this.#choose(target));
    place.addEventListener("keydown", (event) => this.#walk(event));
  }

  /** Remove the translation. */
  clear() {
    this.sentences = [];
    this.after = "";
    this.#draw();
  }

  /** Show a translation; `from` and `to` are language codes. */
  show({ sentences, after }, from, to) {
    Object.assign(this, { sentences, after, from, to });
    this.#draw();
  }

  /** The shown translation as text. */
  get text() {
    return this.sentences.map(({ before, text }) => before + text).join("") + this.after;
  }

  /** Exchange the translation of a sentence and one of its alternatives. */
  take(number, index) {
    const old = this.sentences[number];
    const best = old.best ?? old; // the server returns only the text of alternatives
    const text = old.alternatives[index];
    const taken = text === best.text ? best : { ...best, ...UNKNOWN, text, best };
    const alternatives = old.alternatives.with(index, old.text);
    this.sentences = this.sentences.with(number, { ...taken, alternatives });
    this.#draw();
  }

  /** Replace the translation of a sentence by a text of a person. */
  put(number, text) {
    const put = { ...this.sentences[number], ...UNKNOWN, text, origin: "person" };
    this.sentences = this.sentences.with(number, put);
    this.#draw();
  }

  /** Mark words of a sentence by weights from 0 to 1; without weights, remove all marks. */
  mark(sentence, weights) {
    for (const [element, place] of this.words) {
      const weight = place.sentence === sentence ? (weights?.[place.word] ?? 0) : 0;
      element.classList.toggle("attended", weight > 0.05);
      element.style.setProperty("--weight", weight.toFixed(3));
    }
  }

  /** Mark the selected sentence. */
  markSentence(number) {
    for (const [index, element] of [...this.place.querySelectorAll(".sentence")].entries()) {
      element.classList.toggle("chosen", index === number);
    }
  }

  /** Number of words below high confidence. */
  get doubts() {
    return this.place.querySelectorAll(".fair, .unsure").length;
  }

  #draw() {
    this.words = new Map();
    this.described = this.sentences.map((sentence) => ({
      ...describe(sentence, this.from, this.to),
      source: sentence.source,
      confidence: sentence.confidence,
    }));
    if (this.to) this.place.lang = toTag(this.to);
    const drawn = this.sentences.flatMap((sentence, number) => [
      sentence.before,
      this.#drawSentence(sentence, number),
    ]);
    this.place.replaceChildren(...drawn, this.after);
    const [first] = this.words.keys();
    if (first) first.tabIndex = 0;
  }

  #drawSentence({ text, confidence, checks, restoredWords, unknownWords, origin }, number) {
    const element = document.createElement("span");
    element.className = "sentence";
    let cursor = 0;
    for (const [index, word] of this.described[number].words.entries()) {
      element.append(text.slice(cursor, word.start), this.#drawWord(word));
      this.words.set(element.lastChild, { sentence: number, word: index });
      cursor = word.end;
    }
    element.append(text.slice(cursor));
    if (origin === "memory") element.append(annotate("approved translation"));
    const rating = rate(confidence);
    if (rating && rating !== LIKELY_GOOD) element.append(annotate(`${rating}, confidence ${percent(confidence)}`));
    for (const check of checks) element.append(annotate(describeCheck(check)));
    if (restoredWords.length) element.append(annotate(describeRestoredWords(restoredWords)));
    if (unknownWords.length) element.append(annotate(describeUnknownWords(unknownWords)));
    element.classList.toggle("doubtful", rating === DOUBTFUL || checks.length + unknownWords.length > 0);
    return element;
  }

  #drawWord({ text, probability }) {
    const element = document.createElement("span");
    const level = judge(probability);
    element.className = `word ${level}`;
    element.tabIndex = -1;
    element.textContent = text;
    if (level !== "sure") element.append(annotate(`${LEVELS[level]}, ${percent(probability)}`));
    return element;
  }

  #find(target) {
    const element = target?.closest?.(".word");
    return element && this.words.has(element) ? element : null;
  }

  #point(target) {
    const element = this.#find(target);
    this.onPoint(element ? { ...this.words.get(element), element } : null);
  }

  #enter(target) {
    const element = this.#find(target);
    if (!element) return;
    for (const word of this.words.keys()) word.tabIndex = word === element ? 0 : -1;
    this.#point(element);
    this.onChoose(this.words.get(element).sentence, false);
  }

  #choose(target) {
    const element = target.closest(".sentence");
    if (!element) return;
    this.onChoose([...this.place.querySelectorAll(".sentence")].indexOf(element), false);
  }

  #walk(event) {
    const element = this.#find(event.target);
    if (!element || event.altKey || event.ctrlKey || event.metaKey) return;
    const words = [...this.words.keys()];
    const ends = { Home: words[0], End: words.at(-1) };
    const backwards = getComputedStyle(element).direction === "rtl" && /Left|Right/.test(event.key);
    const step = (STEPS[event.key] ?? 0) * (backwards ? -1 : 1);
    const next = ends[event.key] ?? (step ? words[words.indexOf(element) + step] : null);
    if (event.key === "Enter") this.onChoose(this.words.get(element).sentence, true);
    if (event.key === "Escape") this.onPoint(null);
    if (next) next.focus();
    if (next || step || event.key === "Enter") event.preventDefault();
  }
}

/** Return the meaning of a mark, for screen readers. */
function annotate(meaning) {
  const element = document.createElement("span");
  element.className = "unseen";
  element.lang = "en";
  element.textContent = ` (${meaning})`;
  return element;
}
