// The reader's own terms, kept in this browser by language pair.

const STORED = "terms";

/** Return everything that was kept here; storage may be forbidden. */
function recall() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORED) ?? "{}");
    return kept && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}

function keep(terms) {
  try {
    localStorage.setItem(STORED, JSON.stringify(terms));
  } catch {
    // they then last until the page is closed
  }
}

/** What a reader wants translated in a certain way: lines such as "Haus = manor". */
export class Terms {
  /** @param onChange is called when others are wanted. */
  constructor({ area, place }, onChange) {
    Object.assign(this, { area, place, kept: recall(), pair: "" });
    area.addEventListener("change", () => {
      this.kept[this.pair] = area.value;
      keep(this.kept);
      onChange();
    });
  }

  /** Show the terms of a pair of languages. */
  show(source, target) {
    this.pair = `${source}-${target}`;
    this.area.value = String(this.kept[this.pair] ?? "");
    if (this.area.value) this.place.open = true;
  }

  /** Return the terms as the server reads them, with tabs. */
  get glossary() {
    const terms = this.area.value.replaceAll(/[^\S\n]*=[^\S\n]*/g, "\t");
    return terms.trim() && terms;
  }
}
