// The page: reactions to typing, choosing and pointing.

import { Alternatives } from "./alternatives.js";
import { fetchLanguages, fetchSettings, suggest, translate } from "./api.js";
import { Documents } from "./documents.js";
import { LanguageChoice } from "./languages.js";
import { Matches } from "./matches.js";
import { Note } from "./note.js";
import { Source } from "./source.js";
import { Suggestion } from "./suggestion.js";
import { Terms } from "./terms.js";
import { Translation } from "./translation.js";
import { describeCheck, describeRestoredWords, describeUnknownWords, DOUBTFUL, LIKELY_GOOD, rate, toTag } from "./words.js";

const MAX_ALTERNATIVES = 3;
const PAUSE = 250; // milliseconds after the last key, unless the server sets another value
const MAX_PAUSE = 1000;

const find = (id) => document.getElementById(id);
const [copy, clear, count, key, legend, problem, status] = [
  "copy", "clear", "count", "key", "legend", "problem", "status",
].map(find);

const beside = document.querySelector(".beside");

let wanted = MAX_ALTERNATIVES;
let limit = null; // characters, if there is a limit
let pause = PAUSE;
let timer = 0;
let request = new AbortController();

const choice = new LanguageChoice(
  { from: find("from"), to: find("to"), swap: find("swap") },
  changePair,
);
const terms = new Terms({ area: find("glossary"), place: find("terms") }, refresh);
const source = new Source(find("text"), find("backdrop"), pointAtSource);
const translation = new Translation(find("translation"), { onPoint: pointAtWord, onChoose: choose });
const alternatives = new Alternatives(
  { section: find("others"), of: find("of"), list: find("alternatives") },
  take,
);
const matches = new Matches({ section: find("similar"), list: find("matches") }, put);
const suggestion = new Suggestion(
  {
    section: find("better"),
    of: find("corrected"),
    area: find("suggestion"),
    button: find("suggest"),
    status: find("suggested"),
  },
  sendSuggestion,
);
const note = new Note(find("note"));
const documents = new Documents(
  { list: find("documents"), input: find("file"), formats: find("formats") },
  () => ({ source: choice.source, target: choice.target, key: readKey() }),
);

const readKey = () => find("api-key").value.trim();

// Start

async function start() {
  clearProblem();
  try {
    const [settings, languages] = await Promise.all([fetchSettings(), fetchLanguages()]);
    wanted = Math.min(settings.alternativesLimit ?? MAX_ALTERNATIVES, MAX_ALTERNATIVES);
    limit = settings.charLimit > 0 ? settings.charLimit : null;
    pause = Math.min(settings.frontendTimeout || PAUSE, MAX_PAUSE);
    key.hidden = !settings.keyRequired;
    suggestion.allowed = settings.suggestions === true;
    find("but").hidden = !suggestion.allowed;
    find("file").disabled = !settings.filesTranslation;
    document.querySelector(".files").hidden = !settings.filesTranslation;
    documents.allow(settings.supportedFilesFormat ?? [], settings.fileLimit ?? Infinity);
    choice.offer(languages, {
      source: settings.language?.source?.code,
      target: settings.language?.target?.code,
    });
    terms.show(choice.source, choice.target);
    listModels(settings.models ?? [], languages);
  } catch (error) {
    showProblem(error, start);
    return;
  }
  refresh();
}

/** List the models with their versions and a link to their cards. */
function listModels(models, languages) {
  const names = new Map(languages.map(({ code, name }) => [code, name]));
  const rows = models.map(({ source: from, target: to, version, card }) => {
    const link = document.createElement("a");
    link.href = card;
    link.textContent = `Model card of ${names.get(from) ?? from} to ${names.get(to) ?? to}`;
    const row = document.createElement("li");
    row.append(link, ` version ${version}`);
    return row;
  });
  find("models").replaceChildren(...rows);
}

// Translating

function changePair() {
  terms.show(choice.source, choice.target);
  refresh();
}

/** Translate the current text after a delay, and cancel earlier requests. */
function refresh(delay = 0) {
  showLength();
  if (!choice.target) return; // the settings have not arrived yet
  request.abort();
  clearProblem();
  if (!source.text.trim()) {
    showNothing();
  } else if (limit !== null && countCharacters(source.text) > limit) {
    markOutdated();
    const sentence = `The text is longer than ${limit.toLocaleString("en")} characters; shorten it, or translate it as a file.`;
    showProblem({ message: sentence }, null);
  } else {
    markOutdated();
    timer = setTimeout(send, delay);
  }
}

async function send() {
  const { source: from, target: to } = choice;
  const controller = new AbortController();
  request = controller;
  find("translation").ariaBusy = "true";
  try {
    const answer = await translate(
      {
        text: source.text,
        source: from,
        target: to,
        alternatives: wanted,
        glossary: terms.glossary,
        key: readKey(),
      },
      controller.signal,
    );
    if (!controller.signal.aborted) showAnswer(answer, to);
  } catch (error) {
    if (controller.signal.aborted) return;
    if (error.message.includes("API key")) key.hidden = false;
    showProblem(error, refresh);
  } finally {
    if (request === controller) find("translation").ariaBusy = "false";
  }
}

function showAnswer(answer, to) {
  choice.showDetected(answer.detected);
  const from = choice.known ?? "und";
  translation.show(answer, from, to);
  source.cut(translation.described, from);
  find("translation").classList.remove("old");
  beside.inert = false;
  copy.disabled = false;
  clearChoice();
  choose(0, false);
  showDoubts();
}

/** Mark the translation as outdated; it stays readable until the next one arrives. */
function markOutdated() {
  find("translation").classList.add("old");
  find("translation").ariaBusy = "false";
  beside.inert = true;
  note.close();
}

function showNothing() {
  dropAnswer();
  choice.showDetected(null);
}

/** Remove a translation that does not belong to the text. */
function dropAnswer() {
  markOutdated();
  translation.clear();
  clearChoice();
  copy.disabled = true;
  status.textContent = "";
  legend.hidden = true;
}

function showDoubts() {
  const { doubts, sentences } = translation;
  const rated = sentences.map(({ confidence }) => rate(confidence));
  const doubtful = rated.filter((rating) => rating === DOUBTFUL).length;
  const messages = [];
  if (doubts) messages.push(`${doubts} ${doubts === 1 ? "word" : "words"} to check`);
  const approved = sentences.filter(({ origin }) => origin === "memory").length;
  if (approved) messages.push(`${approved} approved ${approved === 1 ? "translation" : "translations"}`);
  if (doubtful) messages.push(`${doubtful} ${doubtful === 1 ? "sentence needs" : "sentences need"} review`);
  const flaws = sentences.flatMap(({ checks }) => checks.map(describeCheck));
  messages.push(...new Set(flaws));
  const restored = new Set(sentences.flatMap(({ restoredWords }) => restoredWords));
  if (restored.size) messages.push(describeRestoredWords([...restored]));
  const unknown = new Set(sentences.flatMap(({ unknownWords }) => unknownWords));
  if (unknown.size) messages.push(describeUnknownWords([...unknown]));
  const good = sentences.length && rated.every((rating) => rating === LIKELY_GOOD);
  status.textContent = messages.join(", ") || (good ? LIKELY_GOOD : "");
  legend.hidden = doubts + doubtful === 0;
}

// Problems

let retry = null;

function showProblem({ message, wait = null }, next) {
  problem.querySelector("p").textContent = message;
  problem.querySelector("button").hidden = !next;
  problem.hidden = false;
  dropAnswer();
  retry = next;
  if (next && wait !== null) timer = setTimeout(next, 1000 * wait);
}

function clearProblem() {
  clearTimeout(timer);
  problem.hidden = true;
}

problem.querySelector("button").addEventListener("click", () => {
  source.area.focus();
  retry();
});

// Lengths

/** Return the length of a text in code points, like the server. */
const countCharacters = (text) => [...text].length;

function showLength() {
  const length = countCharacters(source.text);
  const shown = length.toLocaleString("en");
  count.textContent = limit === null ? shown : `${shown} / ${limit.toLocaleString("en")}`;
  count.classList.toggle("over", limit !== null && length > limit);
  clear.disabled = length === 0;
}

// Pointing

/** Return weights divided by the largest. */
const normalize = (weights) => {
  const largest = Math.max(...weights, 0);
  return largest ? weights.map((weight) => weight / largest) : weights;
};

function pointAtWord(place) {
  const sentence = place && translation.described[place.sentence];
  source.mark(place?.sentence, sentence && normalize(sentence.weights[place.word]));
  translation.mark(place?.sentence, sentence && sentence.words.map((_, index) => Number(index === place.word)));
  if (place) note.open(place.element, sentence, place.word, toTag(choice.known ?? "und"));
  else note.close();
}

function pointAtSource(place) {
  const sentence = place && translation.described[place.sentence];
  const weights = sentence && sentence.weights.map((row) => row[place.word]);
  translation.mark(place?.sentence, weights && normalize(weights));
  source.mark(place?.sentence, sentence && sentence.sourceWords.map((_, index) => Number(index === place.word)));
}

// Choosing

function choose(number, go) {
  const { sentences } = translation;
  if (!sentences.length || find("translation").classList.contains("old")) return;
  for (const each of [alternatives, matches, suggestion]) {
    each.show(sentences, number, choice.known ?? "und", choice.target);
  }
  translation.markSentence(sentences.length > 1 ? number : null);
  if (go) alternatives.focus();
}

function take(sentence, alternative) {
  translation.take(sentence, alternative);
  source.cut(translation.described, choice.known ?? "und");
  choose(sentence, false);
  showDoubts();
}

function clearChoice() {
  for (const each of [alternatives, matches, suggestion]) each.clear();
}

/** Replace the translation of a sentence by one that a person wrote. */
function put(number, text) {
  translation.put(number, text);
  source.cut(translation.described, choice.known ?? "und");
  choose(number, false);
  showDoubts();
}

/** Send a better translation of a sentence; if the server accepts it, show it. */
async function sendSuggestion(sentence, number, text) {
  await suggest({
    text: sentence.source,
    suggestion: text,
    before: sentence.text,
    source: choice.known ?? choice.source,
    target: choice.target,
    key: readKey(),
  });
  if (translation.sentences[number] === sentence) put(number, text);
}

// Buttons and keys

source.area.addEventListener("input", () => refresh(pause));
key.addEventListener("submit", (event) => event.preventDefault());
find("api-key").addEventListener("change", () => refresh());

find("swap").addEventListener("click", () => {
  const { text } = translation;
  if (!choice.exchange()) return;
  if (text) source.text = text;
  changePair();
});

clear.addEventListener("click", () => {
  source.text = "";
  source.area.focus();
  refresh();
});

copy.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(translation.text);
    status.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(find("translation")); // the clipboard requires https
    status.textContent = "Selected; press Ctrl+C to copy";
  }
});

start();
