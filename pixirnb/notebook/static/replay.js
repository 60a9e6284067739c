// The replay: a slider over the tape. At its end the view moves with the run; anywhere else it is as it was then, and says so.

const LANDMARK_ROOM = 13; // px between two landmarks
const LANDMARK_SIGNS = { course: "▸", flag: "⚑", phase: "|" };

class Replay {
  constructor(view) {
    this.view = view;
    this.stage = view.stage;
    this.player = new Player(view.stage, () => this.root.isConnected, () => this.drawPlaying());
    this.marks = new Map(); // landmark -> element
    this.slider = h("input", {
      type: "range",
      class: "pixirnb-slider",
      min: 0,
      step: 1,
      "aria-label": "Replay: events told",
      on: {
        input: () => this.go(Number(this.slider.value)),
        keydown: (event) => this.key(event),
        pointerdown: () => (this.isHeld = true),
        pointerup: () => this.release(),
        pointercancel: () => this.release(),
      },
    });
    this.landmarks = h("div", { class: "pixirnb-landmarks", role: "group", "aria-label": "Places in the history" });
    this.track = h("div", { class: "pixirnb-track" }, this.landmarks, this.slider);
    this.previous = button("◂", () => this.go(this.stage.at - 1), { title: "Previous event" });
    this.playing = button("▶", () => this.player.toggle(), { kind: "pixirnb-play" });
    this.following = button("▸", () => this.go(this.stage.at + 1), { title: "Next event" });
    this.previous.setAttribute("aria-label", "Previous event");
    this.following.setAttribute("aria-label", "Next event");
    this.pace = h(
      "select",
      { class: "pixirnb-pace", "aria-label": "Pace", title: "Pace of playing", on: { change: () => (this.player.pace = Number(this.pace.value)) } },
      PACES.map(({ words }, place) => h("option", { value: place }, words)),
    );
    this.end = button("End", () => this.go(null), { kind: "pixirnb-end", pressed: true });
    this.back = button("Back to now", () => this.go(null), { kind: "pixirnb-back" });
    this.count = h("span", { class: "pixirnb-event-count" });
    this.told = h("span", { class: "pixirnb-told" });
    this.root = h(
      "footer",
      { class: "pixirnb-replay", role: "group", "aria-label": "Replay" },
      h("div", { class: "pixirnb-player" }, this.previous, this.playing, this.following, this.track, this.pace, this.end),
      h("div", { class: "pixirnb-where" }, this.count, this.told, this.back),
    );
    // Neither takes room: nothing may jump under a hand that drags.
    this.flag = h("div", { class: "pixirnb-as-it-was", "aria-hidden": "true", hidden: true }, "as it was then");
    this.room = 0;
    this.sized = new ResizeObserver(([{ contentRect }]) => {
      this.room = contentRect.width;
      this.drawLandmarks();
    });
    this.sized.observe(this.track);
    this.drawPlaying();
  }

  /** Go somewhere by hand: playing stops. */
  go(position) {
    this.player.stop();
    this.stage.go(position);
  }

  release() {
    this.isHeld = false;
    this.draw({ has: () => false });
  }

  draw({ has }) {
    const { stage } = this;
    const { story } = stage;
    this.chronicle = chronicleOf(stage);
    if (!this.flag.isConnected) this.view.root.append(this.flag);
    // Under a hand the track keeps its length: else the thumb would slip from it as the run goes on.
    if (!this.isHeld && Number(this.slider.max) !== story.length) this.slider.max = story.length;
    if (Number(this.slider.value) !== stage.at) this.slider.value = stage.at;
    put(this.slider, "--px-told", `${(story.length ? (100 * stage.at) / Number(this.slider.max) : 100).toFixed(2)}%`);
    const drawn = `${stage.at}|${story.length}|${stage.isPast}|${stage.isLive}`;
    if (drawn === this.drawn && !has("reset")) return;
    this.drawn = drawn;
    this.drawWords();
    if (has("reset")) this.marks.clear();
    if (has("reset") || this.drawnLength !== story.length) this.drawLandmarks();
  }

  drawWords() {
    const { stage } = this;
    const { story } = stage;
    const { at, isPast } = stage;
    const since = spanOf(this.chronicle.toldAt(at));
    const sentence = at ? this.sentence(at - 1) : "nothing has been recorded yet";
    const step = at ? story.entries[at - 1][STEP] : -1;
    const count = isPast ? `As it was at event ${story.seqAt(at).toLocaleString("en-US")} of ${story.length.toLocaleString("en-US")} · ${since}` : plural(story.length, "event");
    say(this.count, count);
    if (this.drawnStep !== `${step}|${sentence}`) {
      this.drawnStep = `${step}|${sentence}`;
      const words = step >= 0 ? h("button", { type: "button", class: "pixirnb-link", on: { click: () => stage.choose(step) } }, stage.scene.ids[step]) : null;
      fill(this.told, words, words ? ": " : "", sentence);
    }
    const name = step >= 0 ? `${stage.scene.ids[step]}: ${sentence}` : sentence;
    this.slider.setAttribute("aria-valuetext", isPast ? `${count}, ${name}` : `${count}, ${stage.isLive ? "live" : "the end"}: ${name}`);
    this.previous.disabled = at <= 0;
    this.following.disabled = !isPast;
    say(this.end, stage.isLive ? "Live" : "End");
    this.end.title = stage.isLive ? "Follow the run" : "Back to the end";
    this.end.setAttribute("aria-pressed", String(!isPast));
    this.back.hidden = this.flag.hidden = !isPast;
  }

  sentence(place) {
    return this.chronicle.sentence(place);
  }

  drawPlaying() {
    const { isPlaying } = this.player;
    say(this.playing, isPlaying ? "❚❚" : "▶");
    this.playing.title = isPlaying ? "Stop playing" : "Play the history";
    this.playing.setAttribute("aria-label", this.playing.title);
  }

  drawLandmarks() {
    const { stage } = this;
    if (!this.chronicle || !this.room) return;
    const chronicle = chronicleOf(stage.lastAct); // all there is to go to, whatever act is on
    const { length } = stage.story;
    this.drawnLength = length;
    const every = Math.max(1, (LANDMARK_ROOM * length) / this.room);
    const before = this.marks;
    this.marks = new Map();
    for (const { shown, count } of chronicle.landmarks.thinned(every)) {
      // One that is only moved stays the element it was: a click may be under way on it.
      let element = before.get(shown);
      if (element?.count !== count) element = this.landmark(shown, count);
      element.count = count;
      put(element, "--px-at", (shown.position / Math.max(1, length)).toFixed(5));
      this.marks.set(shown, element);
      if (before.get(shown) !== element) this.landmarks.append(element);
    }
    const kept = new Set(this.marks.values());
    for (const element of [...this.landmarks.children]) if (!kept.has(element)) element.remove();
  }

  landmark({ position, sort, step, words, mark }, count) {
    const name = step >= 0 && sort !== "phase" ? `${this.stage.lastAct.scene.ids[step]}: ${words}` : words;
    const more = count > 1 ? `, and ${count - 1} more near it` : "";
    const told = `Event ${position}: ${name}${more}`;
    return h(
      "button",
      { type: "button", tabindex: "-1", class: `pixirnb-landmark pixirnb-landmark-${sort}`, title: told, "aria-label": told, on: { click: () => this.go(position) } },
      mark ? icon(mark, 11) : LANDMARK_SIGNS[sort],
    );
  }

  key(event) {
    const { stage } = this;
    const jump = (isBack) => {
      const found = chronicleOf(stage.lastAct).landmarks.next(stage.at, isBack);
      this.go(found ? found.position : isBack ? 0 : null);
    };
    const moves = {
      ArrowLeft: () => this.go(stage.at - 1),
      ArrowDown: () => this.go(stage.at - 1),
      ArrowRight: () => this.go(stage.at + 1),
      ArrowUp: () => this.go(stage.at + 1),
      Home: () => this.go(0),
      End: () => this.go(null),
      PageDown: () => jump(true),
      PageUp: () => jump(false),
      " ": () => this.player.toggle(),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has keys of its own
    move();
  }
}
