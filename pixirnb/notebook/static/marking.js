// Marks and small facts as answers of the kernel name them. Their shapes came with the look; what has none shows its symbol.

const TONES = new Set(["good", "ready", "bad", "late", "half", "ask", "live", "idle"]);

/** A mark of an answer as a picture of its own, silent for readers: its word stands beside it. */
function markIcon(stage, mark, size = 14) {
  const { marks, run } = stage.look;
  const known = marks.find((each) => each.key === mark.key) ?? Object.values(run).find((each) => each.key === mark.key);
  const tone = TONES.has(mark.tone) ? mark.tone : "idle";
  if (known) return icon({ tone, shape: known.shape }, size);
  return h("span", { class: `pixirnb-symbol pixirnb-${tone}`, "aria-hidden": "true" }, mark.symbol);
}

/** Icon and word of a mark of an answer; `word` where another is said. */
function markBadge(stage, mark, word = mark.word) {
  const tone = TONES.has(mark.tone) ? mark.tone : "idle";
  return h("span", { class: `pixirnb-nowrap pixirnb-${tone}` }, markIcon(stage, mark), " ", word);
}

/** `900 B`, `1.2 kB`, `3.4 MB`. */
function sizeOf(bytes) {
  if (typeof bytes !== "number") return "";
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = -1;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** A moment of the log in the reader's own time: the time of day, with the date where it is not today's. */
function momentOf(text) {
  const moment = new Date(text ?? NaN);
  if (Number.isNaN(moment.getTime())) return "";
  const isToday = moment.toDateString() === new Date().toDateString();
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return isToday ? time : `${moment.toLocaleDateString([], { day: "numeric", month: "short" })} ${time}`;
}

/** A sentence of the kernel, its names between backticks as code. */
function proseOf(sentence) {
  return sentence.split(/`([^`\n]+)`/).map((words, place) => (place % 2 ? h("code", {}, words) : words)).filter((part) => part !== "");
}

/** A list of names as code, the first `most` of them; `count` is of all there are. */
function namesOf(names, most = 8, count = names.length) {
  const shown = names.slice(0, most).map((name) => h("code", {}, name));
  const parts = shown.flatMap((name, place) => (place ? [" ", name] : [name]));
  return count > shown.length ? [...parts, ` and ${(count - shown.length).toLocaleString("en-US")} more`] : parts;
}

/** Words that can be opened: `body` is what stands behind them. */
function fold(words, { open = false, toggled = null, kind = "" } = {}, ...body) {
  // A click of a person, by mouse or keys: the event "toggle" tells of ours too.
  const click = () => toggled?.(!element.open);
  const element = h("details", { class: `pixirnb-fold ${kind}`.trim() }, h("summary", { on: { click } }, words), body);
  element.open = open;
  return element;
}

/** A block of text that scrolls by itself and can be reached by Tab. */
function block(words, name, kind = "") {
  return h("pre", { class: `pixirnb-block ${kind}`.trim(), tabindex: 0, role: "region", "aria-label": name }, words);
}

const FOCUSABLE = "button,input,select,textarea,summary,[tabindex]";

/** Put new children into an element; whoever had the focus there has it again on what took its place. */
function refill(element, ...children) {
  const held = element.contains(document.activeElement) && document.activeElement !== element ? document.activeElement : null;
  const nameOf = (each) => each.getAttribute("aria-label") ?? each.textContent;
  const place = held ? [...element.querySelectorAll(FOCUSABLE)].indexOf(held) : -1;
  const name = held ? nameOf(held) : "";
  fill(element, ...children);
  if (!held) return element;
  const all = [...element.querySelectorAll(FOCUSABLE)].filter((each) => !isBarred(each) && (each.checkVisibility?.() ?? true));
  const next = all.find((each) => nameOf(each) === name) ?? all[Math.min(Math.max(place, 0), all.length - 1)];
  (next ?? element.closest("[tabindex]"))?.focus({ preventScroll: true });
  return element;
}
