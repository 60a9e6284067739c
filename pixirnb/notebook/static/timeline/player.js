// Plays the history: positions in proportion to active time, so that a pause between courses takes none.

import { historyIndexOf } from "./history_index.js";

export const SPEEDS = [
  { words: "10 s playback", whole: 10_000 },
  { words: "× 1", factor: 1 },
  { words: "× 4", factor: 4 },
  { words: "× 16", factor: 16 },
];
const REDUCED_MOTION_MS = 1000; // between two pictures, for who asked for less motion

export class Player {
  constructor(store, isShown, changed) {
    this.store = store;
    this.isShown = isShown;
    this.changed = changed; // called when it starts or stops
    this.speed = 0;
    this.frameRequest = null;
  }

  get isPlaying() {
    return this.frameRequest !== null;
  }

  toggle() {
    if (this.isPlaying) this.stop();
    else this.play();
  }

  play() {
    const { store } = this;
    if (!store.history.length) return;
    if (!store.isPast) store.seek(0);
    this.isReduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.activeMs = historyIndexOf(store).activeAt(store.at);
    this.lastFrame = this.drawn = performance.now();
    this.expected = store.at;
    this.frameRequest = requestAnimationFrame((now) => this.advance(now));
    this.changed();
  }

  stop() {
    if (this.frameRequest === null) return;
    cancelAnimationFrame(this.frameRequest);
    this.frameRequest = null;
    this.changed();
  }

  advance(now) {
    const { store } = this;
    if (store.at !== this.expected || !this.isShown()) {
      this.stop(); // another view of the run went elsewhere, or this one is gone
      return;
    }
    const historyIndex = historyIndexOf(store);
    const { length } = store.history;
    const { factor, whole } = SPEEDS[this.speed];
    this.activeMs += Math.max(0, now - this.lastFrame) * (factor ?? Math.max(1, historyIndex.activeAt(length)) / whole);
    this.lastFrame = now;
    if (!this.isReduced || now - this.drawn >= REDUCED_MOTION_MS) {
      this.drawn = now;
      let position = store.at;
      while (position < length && historyIndex.activeAt(position + 1) <= this.activeMs) position += 1;
      if (position >= length) {
        this.stop();
        store.seek(null);
        return;
      }
      store.seek(position, Math.max(store.history.timeAt(position), historyIndex.courses.timeAt(this.activeMs)));
      this.expected = position;
    }
    this.frameRequest = requestAnimationFrame((later) => this.advance(later));
  }
}
