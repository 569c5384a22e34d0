// The user's glossary, stored in the browser per language pair.

const STORED = "terms";

/** Return the stored glossaries; the browser may forbid storage. */
function recall() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return stored && typeof stored === "object" ? stored : {};
  } catch {
    return {};
  }
}

function keep(terms) {
  try {
    localStorage.setItem(STORED, JSON.stringify(terms));
  } catch {
    // the glossaries last until the page is closed
  }
}

/** A text area with one term per line, such as "Haus = manor". */
export class Terms {
  /** @param onChange is called when the glossary changes. */
  constructor({ area, place }, onChange) {
    Object.assign(this, { area, place, glossaries: recall(), pair: "" });
    area.addEventListener("change", () => {
      this.glossaries[this.pair] = area.value;
      keep(this.glossaries);
      onChange();
    });
  }

  /** Show the glossary of a language pair. */
  show(source, target) {
    this.pair = `${source}-${target}`;
    this.area.value = String(this.glossaries[this.pair] ?? "");
    if (this.area.value) this.place.open = true;
  }

  /** Return the glossary in the server's format, with tabs. */
  get glossary() {
    const terms = this.area.value.replaceAll(/[^\S\n]*=[^\S\n]*/g, "\t");
    return terms.trim() && terms;
  }
}
