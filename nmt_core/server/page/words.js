// Tokens of the model, and words.

/** SentencePiece's symbol for the space before a token. */
const SPACE = "\u2581";

/** Maximum number of characters without a token before the next token. */
const MAX_GAP = 24;

/** Probabilities below which the confidence in a word is low, and medium. */
export const UNSURE = 0.3;
export const SURE = 0.7;

/** Return a language code as a BCP 47 tag: pt-BR, not pt_BR. */
export const toTag = (code) => code.replaceAll("_", "-");

/** Return a text in lower case, or unchanged if that would change its length. */
const fold = (text) => {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
};

/** Return the [start, end] of each token in a text, or null if it is not found. */
export function locateTokens(text, tokens) {
  const folded = fold(text);
  let cursor = 0;
  return tokens.map((token) => {
    const piece = fold(token.replaceAll(SPACE, " ").trim());
    const start = piece ? folded.indexOf(piece, cursor) : -1;
    if (start < 0 || start - cursor > MAX_GAP) return null;
    cursor = start + piece.length;
    return [start, cursor];
  });
}

/** Return the words of a text, {text, start, end}, by the rules of its language. */
export function cutWords(text, language) {
  let segmenter;
  try {
    segmenter = new Intl.Segmenter(toTag(language), { granularity: "word" });
  } catch {
    segmenter = new Intl.Segmenter(undefined, { granularity: "word" }); // not a language code
  }
  return [...segmenter.segment(text)]
    .filter((segment) => segment.isWordLike)
    .map(({ segment, index }) => ({ text: segment, start: index, end: index + segment.length }));
}

/** Return the words of a text, each with the numbers of its tokens. */
function gatherTokens(text, tokens, language) {
  const spans = locateTokens(text, tokens);
  return cutWords(text, language).map((word) => ({
    ...word,
    tokens: [...spans.keys()].filter(
      (number) => spans[number] && spans[number][0] < word.end && spans[number][1] > word.start,
    ),
  }));
}

/** Return the probability of a word, the product over its tokens; null without tokens. */
function multiply(word, probabilities) {
  const known = word.tokens.filter((number) => number < probabilities.length);
  return known.length ? known.reduce((product, number) => product * probabilities[number], 1) : null;
}

/** Return the share of a word that translates a source word, from 0 to 1. */
const share = (word, source, links) =>
  word.tokens.filter((number) => source.tokens.includes(links[number])).length / (word.tokens.length || 1);

/**
 * Return the words of both sides of a sentence, and their links.
 *
 * words: {text, start, end, probability}; sourceWords: {text, start, end}; weights: a row per
 * word and a column per source word, with the share of the word that translates the source word.
 */
export function describe(sentence, from, to) {
  const words = gatherTokens(sentence.text, sentence.tokens, to);
  const parts = gatherTokens(sentence.text, sentence.words, to);
  const sourceWords = gatherTokens(sentence.source, sentence.sourceWords, from);
  return {
    words: words.map((word) => ({ ...word, probability: multiply(word, sentence.probabilities) })),
    sourceWords,
    weights: parts.map((word) => sourceWords.map((source) => share(word, source, sentence.links))),
  };
}

/** Return the level of confidence in a word: "sure", "fair" or "unsure". */
export function judge(probability) {
  if (probability === null || probability >= SURE) return "sure";
  return probability < UNSURE ? "unsure" : "fair";
}

/** Descriptions of the levels. */
export const LEVELS = { sure: "high confidence", fair: "medium confidence", unsure: "low confidence" };

/** Ratings of a translation with a low and with a high confidence. */
export const DOUBTFUL = "needs review";
export const LIKELY_GOOD = "likely good";

/** Minimum confidence of each rating. */
const RATINGS = [[0.75, LIKELY_GOOD], [0.25, "may need changes"], [0, DOUBTFUL]];

/** Return the rating of a translation, or null without a confidence. */
export const rate = (confidence) =>
  confidence === null ? null : RATINGS.find(([bound]) => confidence >= bound)[1];

/** Return a share in per cent. */
export const percent = (fraction) => `${Math.round(100 * fraction)}%`;

const FLAWS = {
  looping: "repeats itself",
  empty: "is empty",
  "too long": "was cut off",
  copied: "is not translated",
};

/** Describe a problem of a translation. */
export function describeCheck({ text, problem }) {
  if (problem in FLAWS) return `a sentence ${FLAWS[problem]}`;
  if (problem === "unit") return `the unit of ${text} is missing`;
  return problem === "added" ? `${text} is not in the source` : `${text} is missing`;
}

const MAX_NAMED_WORDS = 3;

/** Return the first words in quotation marks. */
function nameFirst(words) {
  const more = words.length > MAX_NAMED_WORDS ? ` and ${words.length - MAX_NAMED_WORDS} more` : "";
  return words.slice(0, MAX_NAMED_WORDS).map((word) => `“${word}”`).join(", ") + more;
}

/** Describe words that do not occur in the training text. */
export const describeUnknownWords = (words) => `not in the training text: ${nameFirst(words)}`;

/** Describe words whose letter case or accents were restored. */
export const describeRestoredWords = (words) => `case or accents restored: ${nameFirst(words)}`;
