// Client of the server's API, which is LibreTranslate's. Every failure becomes one sentence.

const PATIENCE = 310_000; // milliseconds; the server itself stops after 300 seconds

/** Minimum likelihood of an alternative that is shown, relative to the best translation. */
const MIN_LIKELIHOOD = 1 / 3;

/** A failure, described in a sentence; `wait` is the number of seconds before a retry, or null. */
export class ServerError extends Error {
  constructor(message, { status = 0, wait = null } = {}) {
    super(message);
    this.status = status;
    this.wait = wait;
  }
}

/** Return the seconds of a Retry-After header, which has a number or a date, or the default. */
function readWait(headers, fallback) {
  const text = headers.get("Retry-After") ?? "";
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 1), 300) : fallback;
}

const describeRetry = (wait) => `trying again in ${wait} ${wait === 1 ? "second" : "seconds"}.`;

/** Return the error that an error response describes. */
async function readError(response) {
  const { status } = response;
  if (status === 429) {
    const wait = readWait(response.headers, 2);
    return new ServerError(`The server is busy; ${describeRetry(wait)}`, { status, wait });
  }
  if (status === 502 || status === 503 || status === 504) {
    const wait = readWait(response.headers, 5);
    return new ServerError(`The server is not ready; ${describeRetry(wait)}`, { status, wait });
  }
  let message = null;
  try {
    message = (await response.json()).error;
  } catch {
    // a proxy's response, without the server's JSON
  }
  const fallback =
    status === 413 ? "The text or file is too large for the server." : `The server failed (${status}).`;
  return new ServerError(message && typeof message === "string" ? toSentence(message) : fallback, { status });
}

/** Return a message of the server as a sentence, with a capital letter and a full stop. */
const toSentence = (message) => `${message[0].toUpperCase()}${message.slice(1).replace(/\.$/, "")}.`;

/** Send a request and return the JSON of the response. */
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
    if (!response.ok) throw await readError(response);
    return await response.json();
  } catch (error) {
    if (error instanceof ServerError || signal?.aborted) throw error;
    if (late.aborted) throw new ServerError("The server did not respond in time.");
    if (error instanceof SyntaxError) throw new ServerError("The server sent an invalid response.");
    throw new ServerError(`The server does not respond; ${describeRetry(5)}`, { wait: 5 });
  }
}

/** Return the server's settings. */
export const fetchSettings = () => ask("frontend/settings");

/** Return the languages: {code, name, targets}. */
export const fetchLanguages = () => ask("languages");

/**
 * Return a text's translation: {detected, sentences, after}.
 *
 * A sentence is {before, source, sourceWords, confidence, checks, restoredWords, unknownWords, text, tokens, probabilities, words, links,
 * alternatives, origin, matches}, its alternatives are texts. `before` is the text between the previous sentence and this
 * one, and `after` the text after the last sentence.
 */
export async function translate({ text, source, target, alternatives, glossary, key }, signal) {
  const body = { q: text, source, target, format: "text", alternatives, details: true };
  if (glossary) body.glossary = glossary;
  if (key) body.api_key = key;
  const answer = await ask("translate", { body: JSON.stringify(body), signal });
  const { sentences, after } = answer.details ?? {};
  if (!Array.isArray(sentences)) throw new ServerError("The server sent an invalid response.");
  return {
    detected: answer.detectedLanguage?.language ?? null,
    sentences: sentences.map(readSentence),
    after,
  };
}

/** Return a sentence of a response with the page's names of its fields. */
const readSentence = ({ source_words: sourceWords, restored_words: restoredWords, unknown_words: unknownWords, links, alternatives, ...sentence }) => ({
  ...sentence,
  sourceWords,
  links: links ?? [], // a translation from the memory has none
  confidence: sentence.confidence ?? null, // not every model estimates it
  checks: sentence.checks ?? [], // absent from older servers
  restoredWords: restoredWords ?? [],
  unknownWords: sentence.confidence == null ? (unknownWords ?? []) : [], // the confidence includes them
  matches: sentence.matches ?? [],
  alternatives: chooseAlternatives(sentence, alternatives),
});

/**
 * Return the texts of the alternatives that are nearly as likely as the best translation.
 *
 * A score is a mean over tokens, a likelihood a product. If the model is sure of a translation, its
 * alternatives are mistakes.
 */
function chooseAlternatives({ text: best, score: highest, probabilities }, alternatives) {
  const likely = alternatives.filter(
    ({ score }) => Math.exp((score - highest) * probabilities.length) >= MIN_LIKELIHOOD,
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
 * Translate a file; return {address, memory, left, review}: its address on this server, the number of
 * sentences that the memory translated and of texts left untranslated, and the segments to review.
 */
export async function translateFile({ file, source, target, key }) {
  const form = new FormData();
  form.append("file", file);
  form.append("source", source);
  form.append("target", target);
  if (key) form.append("api_key", key);
  const { translatedFileUrl, memory, left, review } = await ask("translate_file", { body: form });
  // behind a proxy, the server has another host name and prefix
  const address = translatedFileUrl.slice(translatedFileUrl.lastIndexOf("download_file/"));
  return { address, memory: memory ?? 0, left: left ?? 0, review: review ?? "" };
}
