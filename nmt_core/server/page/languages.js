// The choice of the two languages.

export const DETECT = "auto";

/** Two lists to choose from, and a button that swaps them. */
export class LanguageChoice {
  /** @param onChange is called without arguments when the pair changes. */
  constructor({ from, to, swap }, onChange) {
    Object.assign(this, { from, to, swap, onChange });
    this.languages = new Map();
    this.detected = null;
    from.addEventListener("change", () => {
      this.#forget();
      this.#offerTargets();
      onChange();
    });
    to.addEventListener("change", () => {
      this.#allowSwap();
      onChange();
    });
  }

  /** Offer languages; `wanted` is the pair of codes that is selected, if the server offers it. */
  offer(languages, wanted) {
    this.languages = new Map(languages.map((language) => [language.code, language]));
    const sources = languages.filter(({ code }) => this.#targetsOf(code).length);
    const options = sources.map(({ code, name }) => new Option(name, code));
    if (sources.length > 1) options.unshift(new Option("Detect language", DETECT));
    this.from.replaceChildren(...options);
    if (options.some(({ value }) => value === wanted.source)) this.from.value = wanted.source;
    this.#offerTargets(wanted.target);
    this.from.disabled = this.to.disabled = options.length === 0;
  }

  get source() {
    return this.from.value;
  }

  get target() {
    return this.to.value;
  }

  /** The language of the text: the selected or the detected one. */
  get known() {
    return this.source === DETECT ? this.detected : this.source;
  }

  /** Show the detected language; null removes it. */
  showDetected(code) {
    if (this.source !== DETECT) return;
    this.detected = this.languages.has(code) ? code : null;
    const name = this.languages.get(this.detected)?.name;
    this.from.options[0].text = name ? `${name} (detected)` : "Detect language";
    this.#allowSwap();
  }

  /** Swap the languages; return whether the server translates in the other direction. */
  exchange() {
    const { known, target } = this;
    if (!this.#isPair(target, known)) return false;
    this.#forget();
    this.from.value = target;
    this.#offerTargets(known);
    return true;
  }

  #forget() {
    this.detected = null;
    if (this.from.options[0]?.value === DETECT) this.from.options[0].text = "Detect language";
  }

  #targetsOf(code) {
    const { targets = [] } = this.languages.get(code) ?? {};
    return targets.filter((target) => target !== code);
  }

  #isPair(source, target) {
    return this.#targetsOf(source).includes(target);
  }

  #offerTargets(wanted = this.target) {
    const codes = this.source === DETECT ? [...this.languages.keys()] : [this.source];
    const targets = new Set(codes.flatMap((code) => this.#targetsOf(code)));
    const name = (code) => this.languages.get(code)?.name ?? code;
    this.to.replaceChildren(...[...targets].map((code) => new Option(name(code), code)));
    if (targets.has(wanted)) this.to.value = wanted;
    this.#allowSwap();
  }

  #allowSwap() {
    this.swap.disabled = !this.#isPair(this.target, this.known);
  }
}
