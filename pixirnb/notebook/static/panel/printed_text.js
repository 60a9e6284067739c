// What can be found in printed text: words, and the first line that looks like an error. Places are `[begin, end]` in the joined text.

export const MAX_HITS = 1000; // more are not marked

const ERROR_LINE = /(?:^|[^\w.-])(?:\w*(?:Error|Exception)|error|ERROR|exception|[Ff]atal|FATAL|[Pp]anic(?:ked)?|Traceback|[Ff]ail(?:ed|ure)?|FAIL(?:ED|URE)?)s?(?![\w.=/-]*\w)/;
const NO_ERROR = /\b(?:0|no|zero|without) (?:\w+ )?(?:errors?|exceptions?|fail(?:ed|ures?)?)\b/i;

/** Where `words` stand in `text`, whatever their case, the first `MAX_HITS` of them. */
export function findWords(text, words) {
  const wanted = words.trim();
  if (!wanted) return [];
  const hits = [];
  const pattern = new RegExp(wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
  for (const { index, 0: found } of text.matchAll(pattern)) {
    hits.push([index, index + found.length]);
    if (hits.length === MAX_HITS) break;
  }
  return hits;
}

/** The first line that looks like an error; null where none does. */
export function firstErrorLine(text) {
  let begin = 0;
  for (const line of text.split("\n")) {
    if (line.length < 2000 && ERROR_LINE.test(line) && !NO_ERROR.test(line)) return [begin, begin + line.length];
    begin += line.length + 1;
  }
  return null;
}

/** Segments `[style, text]` cut where places begin and end: `[style, text, place]`, its number or -1. Places are in order and apart. */
export function markPlaces(segments, places) {
  const parts = [];
  let begin = 0;
  let next = 0;
  for (const [style, text] of segments) {
    let at = 0;
    while (at < text.length) {
      while (next < places.length && places[next][1] <= begin + at) next += 1;
      const [from, to] = places[next] ?? [Infinity, Infinity];
      const isIn = from <= begin + at;
      const end = Math.min(text.length, (isIn ? to : from) - begin);
      parts.push([style, text.slice(at, end), isIn ? next : -1]);
      at = end;
    }
    begin += text.length;
  }
  return parts;
}
