// The page: what happens when somebody types, chooses and points.

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

const MOST_ALTERNATIVES = 3;
const PAUSE = 250; // milliseconds after the last key, unless the server names others
const LONGEST_PAUSE = 1000;

const find = (id) => document.getElementById(id);
const [copy, clear, count, key, legend, problem, status] = [
  "copy", "clear", "count", "key", "legend", "problem", "status",
].map(find);

const beside = document.querySelector(".beside");

let wanted = MOST_ALTERNATIVES;
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

// Beginning

async function start() {
  clearProblem();
  try {
    const [settings, languages] = await Promise.all([fetchSettings(), fetchLanguages()]);
    wanted = Math.min(settings.alternativesLimit ?? MOST_ALTERNATIVES, MOST_ALTERNATIVES);
    limit = settings.charLimit > 0 ? settings.charLimit : null;
    pause = Math.min(settings.frontendTimeout || PAUSE, LONGEST_PAUSE);
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
    tellModels(settings.models ?? [], languages);
  } catch (error) {
    tellProblem(error, start);
    return;
  }
  refresh();
}

/** Name the version of each model, and link its card. */
function tellModels(models, languages) {
  const names = new Map(languages.map(({ code, name }) => [code, name]));
  const rows = models.map(({ source: from, target: to, version, card }) => {
    const link = document.createElement("a");
    link.href = card;
    link.textContent = `Model card of ${names.get(from) ?? from} to ${names.get(to) ?? to}`;
    const row = document.createElement("li");
    row.append(link, `: version ${version}`);
    return row;
  });
  find("models").replaceChildren(...rows);
}

// Translating

function changePair() {
  terms.show(choice.source, choice.target);
  refresh();
}

/** Translate what is there now, after a pause; what was asked before no longer counts. */
function refresh(delay = 0) {
  tellLength();
  if (!choice.target) return; // until the server has said what it offers
  request.abort();
  clearProblem();
  if (!source.text.trim()) {
    showNothing();
  } else if (limit !== null && countCharacters(source.text) > limit) {
    forgetAnswer();
    const sentence = `The text is longer than ${limit.toLocaleString("en")} characters; shorten it, or translate it as a file.`;
    tellProblem({ message: sentence }, null);
  } else {
    forgetAnswer();
    timer = setTimeout(send, delay);
  }
}

async function send() {
  const { source: from, target: to } = choice;
  const asked = new AbortController();
  request = asked;
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
      asked.signal,
    );
    if (!asked.signal.aborted) showAnswer(answer, to);
  } catch (error) {
    if (asked.signal.aborted) return;
    if (error.message.includes("API key")) key.hidden = false;
    tellProblem(error, refresh);
  } finally {
    if (request === asked) find("translation").ariaBusy = "false";
  }
}

function showAnswer(answer, to) {
  choice.tell(answer.detected);
  const from = choice.known ?? "und";
  translation.show(answer, from, to);
  source.cut(translation.described, from);
  find("translation").classList.remove("old");
  beside.inert = false;
  copy.disabled = false;
  clearChoice();
  choose(0, false);
  tellDoubts();
}

/** The translation of another text stays, to be read, until the next one comes. */
function forgetAnswer() {
  find("translation").classList.add("old");
  find("translation").ariaBusy = "false";
  beside.inert = true;
  note.close();
}

function showNothing() {
  dropAnswer();
  choice.tell(null);
}

/** Nothing is left of a translation that is not that of the text. */
function dropAnswer() {
  forgetAnswer();
  translation.clear();
  clearChoice();
  copy.disabled = true;
  status.textContent = "";
  legend.hidden = true;
}

function tellDoubts() {
  const { doubts, sentences } = translation;
  const rated = sentences.map(({ confidence }) => rate(confidence));
  const odd = rated.filter((rating) => rating === DOUBTFUL).length;
  const told = [];
  if (doubts) told.push(`${doubts} ${doubts === 1 ? "word" : "words"} to check`);
  const approved = sentences.filter(({ origin }) => origin === "memory").length;
  if (approved) told.push(`${approved} ${approved === 1 ? "sentence" : "sentences"} approved before`);
  if (odd) told.push(`${odd} ${odd === 1 ? "sentence" : "sentences"} to look at`);
  const flaws = sentences.flatMap(({ checks }) => checks.map(describeCheck));
  told.push(...new Set(flaws));
  const restored = new Set(sentences.flatMap(({ restoredWords }) => restoredWords));
  if (restored.size) told.push(describeRestoredWords([...restored]));
  const unknown = new Set(sentences.flatMap(({ unknownWords }) => unknownWords));
  if (unknown.size) told.push(describeUnknownWords([...unknown]));
  const good = sentences.length && rated.every((rating) => rating === LIKELY_GOOD);
  status.textContent = told.join(", ") || (good ? LIKELY_GOOD : "");
  legend.hidden = doubts + odd === 0;
}

// Trouble

let again = null;

function tellProblem({ message, wait = null }, retry) {
  problem.querySelector("p").textContent = message;
  problem.querySelector("button").hidden = !retry;
  problem.hidden = false;
  dropAnswer();
  again = retry;
  if (retry && wait !== null) timer = setTimeout(retry, 1000 * wait);
}

function clearProblem() {
  clearTimeout(timer);
  problem.hidden = true;
}

problem.querySelector("button").addEventListener("click", () => {
  source.area.focus();
  again();
});

// Lengths

/** Return a text's length as the server counts it. */
const countCharacters = (text) => [...text].length;

function tellLength() {
  const length = countCharacters(source.text);
  const shown = length.toLocaleString("en");
  count.textContent = limit === null ? shown : `${shown} / ${limit.toLocaleString("en")}`;
  count.classList.toggle("over", limit !== null && length > limit);
  clear.disabled = length === 0;
}

// Pointing

const byMost = (weights) => {
  const most = Math.max(...weights, 0);
  return most ? weights.map((weight) => weight / most) : weights;
};

function pointAtWord(place) {
  const sentence = place && translation.described[place.sentence];
  source.mark(place?.sentence, sentence && byMost(sentence.weights[place.word]));
  translation.mark(place?.sentence, sentence && sentence.words.map((_, index) => Number(index === place.word)));
  if (place) note.open(place.element, sentence, place.word, toTag(choice.known ?? "und"));
  else note.close();
}

function pointAtSource(place) {
  const sentence = place && translation.described[place.sentence];
  const weights = sentence && sentence.weights.map((row) => row[place.word]);
  translation.mark(place?.sentence, weights && byMost(weights));
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
  tellDoubts();
}

function clearChoice() {
  for (const each of [alternatives, matches, suggestion]) each.clear();
}

/** Put a translation that somebody wrote in a sentence's place. */
function put(number, text) {
  translation.put(number, text);
  source.cut(translation.described, choice.known ?? "und");
  choose(number, false);
  tellDoubts();
}

/** Suggest a better translation of a sentence; once it is kept, it stands in its place. */
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
    getSelection().selectAllChildren(find("translation")); // as where the address is not https
    status.textContent = "Marked; press Ctrl+C";
  }
});

start();
