// Plays a story: positions in the proportion of told time, so that a pause between courses takes none.

const PACES = [
  { words: "whole in 10 s", whole: 10_000 },
  { words: "× 1", factor: 1 },
  { words: "× 4", factor: 4 },
  { words: "× 16", factor: 16 },
];
const CALM_MS = 1000; // between two pictures, for who asked for less motion

class Player {
  constructor(stage, isShown, changed) {
    this.stage = stage;
    this.isShown = isShown;
    this.changed = changed; // told when it begins or stops
    this.pace = 0;
    this.frameAsked = null;
  }

  get isPlaying() {
    return this.frameAsked !== null;
  }

  toggle() {
    if (this.isPlaying) this.stop();
    else this.play();
  }

  play() {
    const { stage } = this;
    if (!stage.story.length) return;
    if (!stage.isPast) stage.go(0);
    this.isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.told = chronicleOf(stage).toldAt(stage.at);
    this.before = this.drawn = performance.now();
    this.expected = stage.at;
    this.frameAsked = requestAnimationFrame((now) => this.turn(now));
    this.changed();
  }

  stop() {
    if (this.frameAsked === null) return;
    cancelAnimationFrame(this.frameAsked);
    this.frameAsked = null;
    this.changed();
  }

  turn(now) {
    const { stage } = this;
    if (stage.at !== this.expected || !this.isShown()) {
      this.stop(); // another view of the run went elsewhere, or this one is gone
      return;
    }
    const chronicle = chronicleOf(stage);
    const { length } = stage.story;
    const { factor, whole } = PACES[this.pace];
    this.told += Math.max(0, now - this.before) * (factor ?? Math.max(1, chronicle.toldAt(length)) / whole);
    this.before = now;
    if (!this.isCalm || now - this.drawn >= CALM_MS) {
      this.drawn = now;
      let position = stage.at;
      while (position < length && chronicle.toldAt(position + 1) <= this.told) position += 1;
      if (position >= length) {
        this.stop();
        stage.go(null);
        return;
      }
      stage.go(position);
      this.expected = position;
    }
    this.frameAsked = requestAnimationFrame((later) => this.turn(later));
  }
}
