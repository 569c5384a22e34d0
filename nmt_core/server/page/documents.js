// Files in, translated files out.

import { translateFile } from "./api.js";

/** A list of files, translated one after the other. */
export class Documents {
  /** @param getChoice returns {source, target, key} for the next file. */
  constructor({ list, input, formats }, getChoice) {
    Object.assign(this, { list, input, formats, getChoice });
    this.allow([], 0);
    this.last = Promise.resolve();
    input.addEventListener("change", () => {
      this.add(input.files);
      input.value = "";
    });
    document.addEventListener("dragover", (event) => this.#allow(event));
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) document.body.classList.remove("dropping");
    });
    document.addEventListener("drop", (event) => {
      if (!this.#allow(event)) return;
      document.body.classList.remove("dropping");
      this.add(event.dataTransfer.files);
    });
  }

  /** Accept only files with these endings and of at most `limit` bytes. */
  allow(endings, limit) {
    Object.assign(this, { endings, limit });
    this.input.accept = endings.join(",");
    this.formats.textContent = `or drop them anywhere: ${endings.join(" ")}`;
  }

  /** Translate files, in their order. */
  add(files) {
    for (const file of files) {
      const row = new Row(file.name, () => this.#begin(file, row));
      this.list.append(row.element);
      this.#begin(file, row);
    }
  }

  #allow(event) {
    if (!event.dataTransfer?.types.includes("Files")) return false;
    event.preventDefault(); // otherwise the browser would open the file
    document.body.classList.add("dropping");
    return true;
  }

  /** Return why a file cannot be translated, or null. */
  #refuse({ name, size }) {
    const { endings, limit } = this;
    const known = endings.some((ending) => name.toLowerCase().endsWith(ending));
    if (!known) return "This format is not supported.";
    return size > limit ? `Too large (limit ${(limit / 1e6).toLocaleString("en")} MB).` : null;
  }

  #begin(file, row) {
    const refusal = this.#refuse(file);
    if (refusal) {
      row.fail(refusal, false);
      return;
    }
    const choice = this.getChoice();
    row.wait();
    this.last = this.last.then(async () => {
      try {
        row.finish(await translateFile({ file, ...choice }), choice.target);
      } catch (error) {
        row.fail(error.message, true);
      }
    });
  }
}

/** The row of a file: its name, its state, and a link or a button. */
class Row {
  constructor(name, retry) {
    this.name = name;
    this.element = document.createElement("li");
    this.element.append(make("span", "name", name), make("span", "state", ""));
    this.element.lastChild.setAttribute("role", "status");
    this.again = make("button", "quiet", "Try again");
    this.again.type = "button";
    this.again.addEventListener("click", () => {
      this.again.remove();
      retry();
    });
  }

  wait() {
    this.#setState("Translating", "busy");
  }

  finish({ address, memory, left, review }, target) {
    const link = make("a", "", "Download");
    link.href = address;
    link.download = this.name.replace(/(\.[^.]+)?$/, `.${target}$1`);
    link.append(make("span", "unseen", ` the translation of ${this.name}`));
    this.#setState("", "done");
    const state = this.element.querySelector(".state");
    state.append(link);
    if (memory) state.append(make("span", "", `${count(memory, "sentence")} from the translation memory`));
    if (left) state.append(make("span", "", `${count(left, "text")} not translated`));
    if (review) state.append(make("span", "", review));
    link.click();
  }

  fail(sentence, canRetry) {
    this.#setState(sentence, "failed");
    if (canRetry) this.element.append(this.again);
  }

  #setState(sentence, state) {
    this.element.className = state;
    this.element.querySelector(".state").textContent = sentence;
  }
}

function count(number, what) {
  return `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
}

function make(kind, name, text) {
  const element = document.createElement(kind);
  element.className = name;
  element.textContent = text;
  return element;
}
