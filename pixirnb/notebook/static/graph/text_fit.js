// How wide words are in a box, estimated as the saved picture does, and words cut to fit.

const NARROW_LETTERS = new Set("iljtfr.,:;|!'-()[] I");
const WIDE_LETTERS = new Set("mwMW@%<>=+~жмфшщыюЖМФШЩЫЮ");

/** About how wide `words` is in a proportional font of `size` pixels, estimated as the saved picture does. */
export function textWidth(words, size) {
  let total = 0;
  for (const letter of words) {
    if (NARROW_LETTERS.has(letter)) total += 0.37;
    else if (WIDE_LETTERS.has(letter)) total += 0.95;
    else if (letter.codePointAt(0) > 0x10ff) total += letter.codePointAt(0) < 0x1f000 ? 1.05 : 1.4;
    else total += letter !== letter.toLowerCase() ? 0.68 : 0.61;
  }
  return total * size;
}

/** `words`, cut with an ellipsis where they are wider than `room`. */
export function truncateText(words, maxWidth, size) {
  if (textWidth(words, size) <= maxWidth) return words;
  let kept = [...words];
  while (kept.length && textWidth(kept.join(""), size) + size * 0.8 > maxWidth) kept.pop();
  return `${kept.join("")}…`;
}
