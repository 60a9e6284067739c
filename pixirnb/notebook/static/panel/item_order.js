// Which items of a step are shown, in which order, and where their cells stand.

const GENTLE = ["running", "ended", "starting", "retrying", "recheck", "held", "skipped", "checkpoint_ready", "queued"]; // what is no trouble, after all that is
const SIZES = [[60, 20], [600, 14], [3_000, 11], [Infinity, 8]]; // [items up to which, size of a cell with its gap in px]

/** The items of a status, and whose name or number matches `words`. */
export function foundItems(places, { key, words, markOf, nameOf, numberOf }) {
  const wanted = words.trim().toLowerCase();
  return places.filter((place) => (!key || markOf(place).key === key) && (!wanted || nameOf(place).toLowerCase().includes(wanted) || String(numberOf(place)) === wanted.replace(/^.*@/, "")));
}

/** The items by status, the worst first, and of one status in the order of the list. */
export function rankedItems(places, markOf, marks) {
  const order = [...marks.filter(({ key }) => !GENTLE.includes(key)).map(({ key }) => key), ...GENTLE];
  const ranks = new Map(order.map((key, rank) => [key, rank]));
  const buckets = order.map(() => []);
  for (const place of places) buckets[ranks.get(markOf(place).key) ?? 0].push(place);
  return buckets.flat();
}

/** `{size, columns, height}` of the cells of `count` items in a `width`. */
export function layOut(count, width) {
  const [, size] = SIZES.find(([most]) => count <= most);
  const columns = Math.max(1, Math.floor(width / size));
  return { size, columns, height: Math.ceil(count / columns) * size };
}
