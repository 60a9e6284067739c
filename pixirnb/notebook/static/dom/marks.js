// Marks as answers of the kernel name them. Their shapes came with the vocabulary; what has none shows its symbol.

import { h, icon } from "./elements.js";

const TONES = new Set(["good", "ready", "bad", "late", "half", "ask", "live", "idle"]);

/** A mark of an answer as a picture of its own, silent for readers: its word stands beside it. */
export function markIcon(store, mark, size = 14) {
  const { marks, run } = store.vocabulary;
  const known = marks.find((each) => each.key === mark.key) ?? Object.values(run).find((each) => each.key === mark.key);
  const tone = TONES.has(mark.tone) ? mark.tone : "idle";
  if (known) return icon({ tone, shape: known.shape }, size);
  return h("span", { class: `pixirnb-symbol pixirnb-${tone}`, "aria-hidden": "true" }, mark.symbol);
}

/** Icon and word of a mark of an answer; `word` where another is said. */
export function markBadge(store, mark, word = mark.word) {
  const tone = TONES.has(mark.tone) ? mark.tone : "idle";
  return h("span", { class: `pixirnb-nowrap pixirnb-${tone}` }, markIcon(store, mark), " ", word);
}
