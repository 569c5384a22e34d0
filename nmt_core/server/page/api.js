// The server's interface, LibreTranslate's. Whatever fails is told in one sentence.

const PATIENCE = 310_000; // milliseconds; the server says after 300 seconds that it takes too long

/** How likely another translation must be, as a share of the best one's likelihood, to be shown. */
const WORTH_SHOWING = 1 / 3;

/** What went wrong, in a sentence; `wait` says after how many seconds to try again, if at all. */
export class ServerError extends Error {
  constructor(message, { status = 0, wait = null } = {}) {
    super(message);
    this.status = status;
    this.wait = wait;
  }
}

/** Return the seconds of a Retry-After header, a number or a date; otherwise what is usual. */
function readWait(headers, usual) {
  const text = headers.get("Retry-After") ?? "";
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 1), 300) : usual;
}

const inSeconds = (wait) => `trying again in ${wait} ${wait === 1 ? "second" : "seconds"}.`;

/** Return what a refusal means. */
async function readRefusal(response) {
  const { status } = response;
  if (status === 429) {
    const wait = readWait(response.headers, 2);
    return new ServerError(`The server is busy; ${inSeconds(wait)}`, { status, wait });
  }
  if (status === 502 || status === 503 || status === 504) {
    const wait = readWait(response.headers, 5);
    return new ServerError(`The server is not ready; ${inSeconds(wait)}`, { status, wait });
  }
  let said = null;
  try {
    said = (await response.json()).error;
  } catch {
    // not in the server's own words
  }
  const usual =
    status === 413 ? "This is too large for the server." : `The server failed (${status}).`;
  return new ServerError(typeof said === "string" && said ? toSentence(said) : usual, { status });
}

/** Return a remark of the server as a sentence: a capital, a full stop. */
const toSentence = (said) => `${said[0].toUpperCase()}${said.slice(1).replace(/\.$/, "")}.`;

/** Send a request and return the answer's JSON. */
async function ask(path, { body, signal } = {}) {
  const late = AbortSignal.timeout(PATIENCE);
  try {
    const response = await fetch(path, {
      method: body ? "POST" : "GET",
      headers: body && !(body instanceof FormData) ? { "Content-Type": "application/json" } : {},
      body,
      signal: signal ? AbortSignal.any([signal, late]) : late,
      cache: "no-store",
      credentials: "omit",
    });
    if (!response.ok) throw await readRefusal(response);
    return await response.json();
  } catch (error) {
    if (error instanceof ServerError || signal?.aborted) throw error;
    if (late.aborted) throw new ServerError("The server takes too long.");
    if (error instanceof SyntaxError) throw new ServerError("The server's answer makes no sense.");
    throw new ServerError(`The server does not answer; ${inSeconds(5)}`, { wait: 5 });
  }
}

/** Return what the server offers and allows. */
export const fetchSettings = () => ask("frontend/settings");

/** Return the languages: {code, name, targets}. */
export const fetchLanguages = () => ask("languages");

/**
 * Return a text's translation: {detected, sentences, after}.
 *
 * A sentence is {before, source, sourceWords, confidence, checks, restoredWords, unknownWords, text, tokens, probabilities, words, links,
 * alternatives, origin, matches}, its alternatives are texts; what stands between sentences is told by the next one's
 * `before` and, at the end, by `after`.
 */
export async function translate({ text, source, target, alternatives, glossary, key }, signal) {
  const body = { q: text, source, target, format: "text", alternatives, details: true };
  if (glossary) body.glossary = glossary;
  if (key) body.api_key = key;
  const answer = await ask("translate", { body: JSON.stringify(body), signal });
  const { sentences, after } = answer.details ?? {};
  if (!Array.isArray(sentences)) throw new ServerError("The server's answer makes no sense.");
  return {
    detected: answer.detectedLanguage?.language ?? null,
    sentences: sentences.map(readSentence),
    after,
  };
}

/** Return a sentence of an answer by our names. */
const readSentence = ({ source_words: sourceWords, restored_words: restoredWords, unknown_words: unknownWords, links, alternatives, ...sentence }) => ({
  ...sentence,
  sourceWords,
  links: links ?? [], // a translation from the memory has none
  confidence: sentence.confidence ?? null, // which not every model tells
  checks: sentence.checks ?? [], // of a server from before
  restoredWords: restoredWords ?? [],
  unknownWords: sentence.confidence == null ? (unknownWords ?? []) : [], // else confidence tells what they mean
  matches: sentence.matches ?? [],
  alternatives: chooseAlternatives(sentence, alternatives),
});

/**
 * Return the texts of the alternatives that are nearly as likely as the best translation.
 *
 * Scores are means over tokens; likelihoods, products. Where the model is sure of one translation,
 * its others are mistakes.
 */
function chooseAlternatives({ text: best, score: highest, probabilities }, alternatives) {
  const likely = alternatives.filter(
    ({ score }) => Math.exp((score - highest) * probabilities.length) >= WORTH_SHOWING,
  );
  return [...new Set(likely.map(({ text }) => text))].filter((text) => text !== best);
}

/** Suggest a better translation of a sentence. */
export async function suggest({ text, suggestion, before, source, target, key }) {
  const body = { q: text, s: suggestion, before, source, target };
  if (key) body.api_key = key;
  await ask("suggest", { body: JSON.stringify(body) });
}

/**
 * Return {address, memory, left, review} of a file's translation: its address on this server, how many
 * sentences the memory translated, and how many messages stay as they are, and what needs review.
 */
export async function translateFile({ file, source, target, key }) {
  const form = new FormData();
  form.append("file", file);
  form.append("source", source);
  form.append("target", target);
  if (key) form.append("api_key", key);
  const { translatedFileUrl, memory, left, review } = await ask("translate_file", { body: form });
  // a proxy may know the server by another name and prefix than it does itself
  const address = translatedFileUrl.slice(translatedFileUrl.lastIndexOf("download_file/"));
  return { address, memory: memory ?? 0, left: left ?? 0, review: review ?? "" };
}
