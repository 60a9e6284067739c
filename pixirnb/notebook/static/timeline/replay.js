// The replay: a slider over the tape. At its end the view moves with the run; anywhere else it is as it was then, and says so.

import { button, h, handleKey, icon, setChildren, setStyle, setText } from "../dom/elements.js";
import { formatDuration, pluralize } from "../dom/formatting.js";
import { STEP } from "../state/run_history.js";
import { labelOf, nameOf } from "../state/step_names.js";
import { historyIndexOf } from "./history_index.js";
import { Player, SPEEDS } from "./player.js";

const BOOKMARK_WIDTH = 13; // px between two bookmarks
const BOOKMARK_SYMBOLS = { course: "▸", flag: "⚑", phase: "|" };

export class Replay {
  /** `toolbar` stands in the line of what is shown. */
  constructor(view, toolbar) {
    this.view = view;
    this.store = view.store;
    this.player = new Player(view.store, () => this.root.isConnected, () => this.drawPlaying());
    this.marks = new Map(); // bookmark -> element
    this.slider = h("input", {
      type: "range",
      class: "pixirnb-slider",
      min: 0,
      step: 1,
      "aria-label": "Replay position in events",
      on: {
        input: () => this.seek(Number(this.slider.value)),
        keydown: (event) => this.onKey(event),
        pointerdown: () => (this.isHeld = true),
        pointerup: () => this.release(),
        pointercancel: () => this.release(),
      },
    });
    this.bookmarks = h("div", { class: "pixirnb-bookmarks", role: "group", "aria-label": "Bookmarks" });
    this.track = h("div", { class: "pixirnb-track" }, this.bookmarks, this.slider);
    this.previous = button("◂", () => this.seek(this.store.at - 1), { title: "Previous event" });
    this.playing = button("▶", () => this.player.toggle(), { kind: "pixirnb-play" });
    this.following = button("▸", () => this.seek(this.store.at + 1), { title: "Next event" });
    this.previous.setAttribute("aria-label", "Previous event");
    this.following.setAttribute("aria-label", "Next event");
    this.speed = h(
      "select",
      { class: "pixirnb-pace", "aria-label": "Playback speed", title: "Playback speed", on: { change: () => (this.player.speed = Number(this.speed.value)) } },
      SPEEDS.map(({ words }, index) => h("option", { value: index }, words)),
    );
    this.end = button("End", () => this.seek(null), { kind: "pixirnb-end", pressed: true });
    this.back = button("Back to now", () => this.seek(null), { kind: "pixirnb-back" });
    this.count = h("span", { class: "pixirnb-event-count" });
    this.eventText = h("span", { class: "pixirnb-event-text" });
    this.root = h(
      "footer",
      { class: "pixirnb-replay", role: "group", "aria-label": "Replay" },
      h("div", { class: "pixirnb-player" }, this.previous, this.playing, this.following, this.track, this.speed, this.end),
      h("div", { class: "pixirnb-position" }, this.count, this.eventText, this.back, toolbar),
    );
    // Neither takes room: nothing may jump under a hand that drags.
    this.flag = h("div", { class: "pixirnb-past-flag", "aria-hidden": "true", hidden: true }, "past state");
    this.room = 0;
    this.resizeObserver = new ResizeObserver(([{ contentRect }]) => {
      this.room = contentRect.width;
      this.drawBookmarks();
    });
    this.resizeObserver.observe(this.track);
    this.drawPlaying();
  }

  /** Go somewhere by hand: playing stops. */
  seek(position) {
    this.player.stop();
    this.store.seek(position);
  }

  release() {
    this.isHeld = false;
    this.draw({ has: () => false });
  }

  draw({ has }) {
    const { store } = this;
    const { history } = store;
    this.historyIndex = historyIndexOf(store);
    if (!this.flag.isConnected) this.view.root.append(this.flag);
    // Under a hand the track keeps its length: else the thumb would slip from it as the run goes on.
    if (!this.isHeld && Number(this.slider.max) !== history.length) this.slider.max = history.length;
    if (Number(this.slider.value) !== store.at) this.slider.value = store.at;
    setStyle(this.slider, "--px-progress", `${(history.length ? (100 * store.at) / Number(this.slider.max) : 100).toFixed(2)}%`);
    const drawn = `${store.at}|${history.length}|${store.isPast}|${store.isLive}|${store.lastPrinted}`;
    if (drawn === this.drawn && !has("reset")) return;
    this.drawn = drawn;
    this.drawWords();
    if (has("reset")) this.marks.clear();
    if (has("reset") || this.drawnLength !== history.length) this.drawBookmarks();
  }

  drawWords() {
    const { store } = this;
    const { history } = store;
    const { at, isPast } = store;
    const since = formatDuration(this.historyIndex.activeAt(at));
    const [printing, printed] = store.lastPrinted ?? [-1, null];
    const sentence = printed ?? (at ? this.historyIndex.sentence(at - 1) : "no events yet");
    const step = printed ? printing : at ? history.entries[at - 1][STEP] : -1;
    const count = isPast ? `Event ${history.seqAt(at).toLocaleString("en-US")} of ${history.length.toLocaleString("en-US")} · ${since}` : pluralize(history.length, "event");
    setText(this.count, count);
    if (this.drawnStep !== `${step}|${sentence}`) {
      this.drawnStep = `${step}|${sentence}`;
      const words = step >= 0 ? h("button", { type: "button", class: "pixirnb-link", on: { click: () => store.choose(step) } }, nameOf(store.scene, step)) : null;
      setChildren(this.eventText, words, words ? ": " : "", sentence);
    }
    const name = step >= 0 ? `${labelOf(store.scene, step)}: ${sentence}` : sentence;
    this.slider.setAttribute("aria-valuetext", isPast ? `${count}, ${name}` : `${count}, ${store.isLive ? "live" : "the end"}: ${name}`);
    this.previous.disabled = at <= 0;
    this.following.disabled = !isPast;
    setText(this.end, store.isLive ? "Live" : "End");
    this.end.title = store.isLive ? "Follow the run" : "Go to the end";
    this.end.setAttribute("aria-pressed", String(!isPast));
    this.back.hidden = this.flag.hidden = !isPast;
  }

  drawPlaying() {
    const { isPlaying } = this.player;
    setText(this.playing, isPlaying ? "❚❚" : "▶");
    this.playing.title = isPlaying ? "Pause" : "Play";
    this.playing.setAttribute("aria-label", this.playing.title);
  }

  drawBookmarks() {
    const { store } = this;
    if (!this.historyIndex || !this.room) return;
    const historyIndex = historyIndexOf(store.currentPlan); // all there is to go to, whatever plan version is shown
    const { length } = store.history;
    this.drawnLength = length;
    const every = Math.max(1, (BOOKMARK_WIDTH * length) / this.room);
    const before = this.marks;
    this.marks = new Map();
    for (const { shown, count } of historyIndex.bookmarks.thinned(every)) {
      // One that is only moved stays the element it was: a click may be under way on it.
      let element = before.get(shown);
      if (element?.count !== count) element = this.bookmark(shown, count);
      element.count = count;
      setStyle(element, "--px-at", (shown.position / Math.max(1, length)).toFixed(5));
      this.marks.set(shown, element);
      if (before.get(shown) !== element) this.bookmarks.append(element);
    }
    const kept = new Set(this.marks.values());
    for (const element of [...this.bookmarks.children]) if (!kept.has(element)) element.remove();
  }

  bookmark({ position, type, step, words, mark }, count) {
    const name = step >= 0 && type !== "phase" ? `${labelOf(this.store.currentPlan.scene, step)}: ${words}` : words;
    const more = count > 1 ? `, and ${count - 1} more nearby` : "";
    const label = `Event ${position}: ${name}${more}`;
    return h(
      "button",
      { type: "button", tabindex: "-1", class: `pixirnb-bookmark pixirnb-bookmark-${type}`, title: label, "aria-label": label, on: { click: () => this.seek(position) } },
      mark ? icon(mark, 11) : BOOKMARK_SYMBOLS[type],
    );
  }

  onKey(event) {
    const { store } = this;
    const jump = (isBack) => {
      const found = historyIndexOf(store.currentPlan).bookmarks.next(store.at, isBack);
      this.seek(found ? found.position : isBack ? 0 : null);
    };
    handleKey(event, {
      ArrowLeft: () => this.seek(store.at - 1),
      ArrowDown: () => this.seek(store.at - 1),
      ArrowRight: () => this.seek(store.at + 1),
      ArrowUp: () => this.seek(store.at + 1),
      Home: () => this.seek(0),
      End: () => this.seek(null),
      PageDown: () => jump(true),
      PageUp: () => jump(false),
      " ": () => this.player.toggle(),
    });
  }
}
