// The replay: the strip, and what plays it. At its end the view moves with the run; anywhere else it is as it was then, and says so.

import { button, h, handleKey, setChildren, setText } from "../dom/elements.js";
import { formatDuration, pluralize } from "../dom/formatting.js";
import { STEP } from "../state/run_history.js";
import { labelOf, nameOf } from "../state/step_names.js";
import { historyIndexOf } from "./history_index.js";
import { Player, SPEEDS } from "./player.js";
import { Strip } from "./strip.js";

export class Replay {
  /** `toolbar` stands in the line of what is shown. */
  constructor(view, toolbar) {
    this.view = view;
    this.store = view.store;
    this.player = new Player(view.store, () => this.root.isConnected, () => this.drawPlaying());
    this.strip = new Strip(view.store, this);
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
      h("div", { class: "pixirnb-player" }, this.previous, this.playing, this.following, this.strip.root, this.speed, this.end),
      h("div", { class: "pixirnb-position" }, this.count, this.back, this.eventText, toolbar),
    );
    // Neither takes room: nothing may jump under a hand that drags.
    this.flag = h("div", { class: "pixirnb-past-flag", "aria-hidden": "true", hidden: true }, "as it was then");
    this.drawPlaying();
  }

  get isMoving() {
    return this.player.isPlaying || this.strip.isHeld;
  }

  /** Go somewhere by hand: playing stops. */
  seek(position, at) {
    this.player.stop();
    this.store.seek(position, at);
  }

  /** Go to a moment, in milliseconds since the first event. */
  seekTime(at) {
    const { history } = this.store.currentPlan;
    const position = history.positionAt(at);
    if (position < history.length) this.seek(position, at);
    else this.seek(null);
  }

  draw({ has }) {
    const { store } = this;
    if (!this.flag.isConnected) this.view.root.append(this.flag);
    this.strip.draw({ has });
    const drawn = `${store.at}|${store.history.length}|${store.isPast}|${store.isLive}|${store.lastPrinted}|${this.since()}`;
    if (drawn === this.drawn && !has("reset")) return;
    this.drawn = drawn;
    this.drawWords();
  }

  /** The active time of the past that is shown. */
  since() {
    const { store } = this;
    return store.isPast ? formatDuration(historyIndexOf(store).courses.activeAt(store.moment)) : "";
  }

  drawWords() {
    const { store } = this;
    const { history } = store;
    const { at, isPast } = store;
    const [printing, printed] = store.lastPrinted ?? [-1, null];
    const sentence = printed ?? (at ? historyIndexOf(store).sentence(at - 1) : "no events yet");
    const step = printed ? printing : at ? history.entries[at - 1][STEP] : -1;
    const position = `${history.seqAt(at).toLocaleString("en-US")} of ${history.length.toLocaleString("en-US")} · ${this.since()}`;
    const count = isPast ? `Event ${position}` : pluralize(history.length, "event");
    setText(this.count, isPast ? `As it was at event ${position}` : count);
    if (this.drawnStep !== `${step}|${sentence}`) {
      this.drawnStep = `${step}|${sentence}`;
      const words = step >= 0 ? h("button", { type: "button", class: "pixirnb-link", on: { click: () => store.choose(step) } }, nameOf(store.scene, step)) : null;
      setChildren(this.eventText, words, words ? ": " : "", sentence);
    }
    const name = step >= 0 ? `${labelOf(store.scene, step)}: ${sentence}` : sentence;
    this.strip.slider.setAttribute("aria-valuetext", isPast ? `${count}, ${name}` : `${count}, ${store.isLive ? "live" : "the end"}: ${name}`);
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
