// Tokens of a model, and the words that people read.

/** SentencePiece's sign for the space before a token. */
const SPACE = "\u2581";

/** How many characters that no token stands for may lie before the next one that does. */
const REACH = 24;

/** Probabilities below which a word is called unsure, and fair. */
export const UNSURE = 0.3;
export const SURE = 0.7;

/** Return how a language's code is written on the web: pt-BR, not pt_BR. */
export const toTag = (code) => code.replaceAll("_", "-");

/** Return whatever case a text is in as one, where no character's length changes by that. */
const fold = (text) => {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
};

/** Return where in a text each token lies, [start, end], or null where it cannot be found. */
export function locateTokens(text, tokens) {
  const folded = fold(text);
  let cursor = 0;
  return tokens.map((token) => {
    const piece = fold(token.replaceAll(SPACE, " ").trim());
    const start = piece ? folded.indexOf(piece, cursor) : -1;
    if (start < 0 || start - cursor > REACH) return null;
    cursor = start + piece.length;
    return [start, cursor];
  });
}

/** Return the words of a text by its language's rules: {text, start, end}. */
export function cutWords(text, language) {
  let segmenter;
  try {
    segmenter = new Intl.Segmenter(toTag(language), { granularity: "word" });
  } catch {
    segmenter = new Intl.Segmenter(undefined, { granularity: "word" }); // no code of a language
  }
  return [...segmenter.segment(text)]
    .filter((segment) => segment.isWordLike)
    .map(({ segment, index }) => ({ text: segment, start: index, end: index + segment.length }));
}

/** Return the words of a text, each with the numbers of the tokens that it is made of. */
function gatherTokens(text, tokens, language) {
  const spans = locateTokens(text, tokens);
  return cutWords(text, language).map((word) => ({
    ...word,
    tokens: [...spans.keys()].filter(
      (number) => spans[number] && spans[number][0] < word.end && spans[number][1] > word.start,
    ),
  }));
}

/** Return how likely the model held a word: the product over its tokens, null without any. */
function multiply(word, probabilities) {
  const known = word.tokens.filter((number) => number < probabilities.length);
  return known.length ? known.reduce((product, number) => product * probabilities[number], 1) : null;
}

/** Return the share of a word's parts that translate a source word, 0 to 1. */
const share = (word, source, links) =>
  word.tokens.filter((number) => source.tokens.includes(links[number])).length / (word.tokens.length || 1);

/**
 * Return a sentence's words on both sides, and how they hang together.
 *
 * words: {text, start, end, probability}; sourceWords: {text, start, end}; weights: a row for each
 * word, a column for each source word, each the share of the word that translates it.
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

/** Return how sure the model is of a word: "sure", "fair" or "unsure". */
export function judge(probability) {
  if (probability === null || probability >= SURE) return "sure";
  return probability < UNSURE ? "unsure" : "fair";
}

/** What people are told of each, in short. */
export const LEVELS = { sure: "sure", fair: "less sure", unsure: "unsure" };

/** What people are told of a sentence whose translation is hardly good, and of one that surely is. */
export const DOUBTFUL = "look at this";
export const LIKELY_GOOD = "likely good";

/** Bounds of the probability that a sentence's translation is good, and what people are told. */
const RATINGS = [[0.75, LIKELY_GOOD], [0.25, "may need a change"], [0, DOUBTFUL]];

/** Return what people are told of a sentence, or null where the model cannot tell. */
export const rate = (confidence) =>
  confidence === null ? null : RATINGS.find(([bound]) => confidence >= bound)[1];

/** Return a share as people read it. */
export const percent = (fraction) => `${Math.round(100 * fraction)} %`;

const FLAWS = {
  looping: "goes in circles",
  empty: "is empty",
  "too long": "was cut off",
  copied: "is not translated",
};

/** Return in words what is wrong with a translation. */
export function describeCheck({ text, problem }) {
  if (problem in FLAWS) return `a sentence ${FLAWS[problem]}`;
  if (problem === "unit") return `the unit of ${text} did not come through`;
  return problem === "added" ? `${text} is not in the source` : `${text} did not come through`;
}

const MOST_WORDS = 3;

/** Return the first of some words, in quotation marks. */
function nameFirst(words) {
  const more = words.length > MOST_WORDS ? ` and ${words.length - MOST_WORDS} more` : "";
  return words.slice(0, MOST_WORDS).map((word) => `“${word}”`).join(", ") + more;
}

/** Return in words which words keep anybody from telling how good a translation is. */
export const describeUnknownWords = (words) => `never read in training: ${nameFirst(words)}`;

/** Return in words which words the model read in another case or with accents. */
export const describeRestoredWords = (words) => `read in another case or with accents: ${nameFirst(words)}`;
