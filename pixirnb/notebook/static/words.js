// Spans and counts for people, as the saved pictures write them.

/** `12 ms`, `1.2 s`, `1 m 05 s`, `1 h 02 m`; empty where there is none. */
function spanOf(milliseconds) {
  if (typeof milliseconds !== "number" || !(milliseconds >= 0)) return "";
  const whole = Math.floor(milliseconds);
  if (whole < 1000) return `${whole} ms`;
  const tenths = Math.floor((whole + 50) / 100);
  if (tenths < 600) return `${Math.floor(tenths / 10)}.${tenths % 10} s`;
  const seconds = Math.floor((whole + 500) / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.floor((seconds + 30) / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`;
}

/** As `spanOf`, for a clock that ticks: whole seconds, no milliseconds. */
function clockOf(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : spanOf(seconds * 1000);
}

/** `1 step`, `3 steps`, `1,200 steps`. */
function plural(count, noun) {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

const NARROW_LETTERS = new Set("iljtfr.,:;|!'-()[] I");
const WIDE_LETTERS = new Set("mwMW@%<>=+~");

/** About how wide `words` is in a proportional font of `size` pixels; reckoned as the saved picture does. */
function widthOf(words, size) {
  let total = 0;
  for (const letter of words) {
    if (NARROW_LETTERS.has(letter)) total += 0.37;
    else if (WIDE_LETTERS.has(letter)) total += 0.95;
    else if (letter.codePointAt(0) > 0x10ff) total += 1.05;
    else total += letter !== letter.toLowerCase() ? 0.68 : 0.61;
  }
  return total * size;
}

/** `words`, cut with an ellipsis where they are wider than `room`. */
function fitted(words, room, size) {
  if (widthOf(words, size) <= room) return words;
  let kept = [...words];
  while (kept.length && widthOf(kept.join(""), size) + size * 0.8 > room) kept.pop();
  return `${kept.join("")}…`;
}
