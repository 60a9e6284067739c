// What all views of one run share: its traits, its story, where on the story they stand, which step is chosen; and the
// questions to the kernel. One stage a widget; a reload makes it anew from the traits.

const AT_REST = { running: "lost", starting: "lost", permission: "lost", retrying: "unretried" };
const PATIENCE_MS = 20_000;
const SILENCE_MS = 5_000; // a live run that says nothing for so long is asked whether it is there

class Stage {
  constructor(model) {
    this.model = model;
    this.views = new Set();
    this.waiting = new Map();
    this.number = 0;
    this.position = null; // null: at the end, and moving with it
    this.chosen = -1;
    this.tab = "graph";
    this.sheet = 0;
    this.camera = null; // where the last view looked, so that a redrawn output looks there too
    this.heard = performance.now();
    this.origin = 0;
    this.isCut = false; // the kernel is gone: what is shown is how things stood
    this.reset();
    if (this.isLive) this.probe(); // the head may be as old as the run
    model.on("change:scene", () => this.reset());
    model.on("change:tape", () => this.reset());
    model.on("change:head", () => this.turned());
    model.on("change:pulse", () => this.pulsed());
    model.on("msg:custom", (message) => this.hear(message));
    model.on("comm_live_update", () => this.probe()); // a kernel that is restarted
  }

  /** Begin anew from the traits. */
  reset() {
    this.look = this.model.get("look");
    const keys = this.look.marks.map((mark) => mark.key);
    this.markOf = Object.fromEntries(keys.map((key, place) => [key, place]));
    const tape = this.model.get("tape") ?? [];
    const past = this.model.get("past") ?? [];
    this.acts = past.map((act) => this.act(act.until, act.scene, [...act.tape, ...tape.slice(act.tape.length).map(untold)]));
    this.acts.push(this.act(Infinity, this.model.get("scene"), tape));
    this.head = this.model.get("head");
    this.pulse = this.model.get("pulse");
    const { length } = this.lastAct.story;
    if (this.position !== null) this.position = Math.min(this.position, length);
    this.turn();
    this.setClock(Math.max(this.head.now, this.pulse.now ?? 0, this.story.timeAt(length)));
    this.tell("reset");
  }

  /** What is drawn up to an edit of the workflow: its steps as they were, and a story that is blank afterwards. */
  act(until, scene, entries) {
    const story = new Story(scene.ids.length, this.markOf.queued);
    story.extend(entries);
    return { until, scene, story, look: this.look, markOf: this.markOf };
  }

  /** The act that is on at the end. */
  get lastAct() {
    return this.acts[this.acts.length - 1];
  }

  /** Bring on the act of the place that is shown; whether it is another one. */
  turn() {
    const at = this.position ?? Infinity;
    const act = this.acts.find(({ until }) => at <= until);
    if (act.story === this.story) return false;
    const chosen = this.scene?.ids[this.chosen]; // an edited workflow has its steps in other places
    this.scene = act.scene;
    this.story = act.story;
    this.place = new Map(this.scene.ids.map((id, step) => [id, step]));
    this.chosen = this.place.get(chosen) ?? -1;
    this.sheet = Math.min(this.sheet, this.scene.sheets.length - 1);
    return true;
  }

  turned() {
    const before = this.head;
    this.head = this.model.get("head");
    this.setClock(this.head.now);
    this.isCut = false;
    this.tell("head", before);
    if (!this.isLive) this.keepTape();
  }

  pulsed() {
    this.pulse = this.model.get("pulse");
    if (this.pulse.now) this.setClock(this.pulse.now);
    this.tell("pulse");
  }

  /** What the page knows of the history goes into the trait at rest, for files that keep the state of widgets. */
  keepTape() {
    const kept = this.model.get("tape");
    const { entries } = this.lastAct.story;
    if (Array.isArray(kept) && kept.length < entries.length) kept.push(...entries.slice(kept.length));
  }

  hear(message) {
    if (message.tape) this.grow(message.tape);
    if (message.stirred) {
      this.stirred = new Set(message.stirred);
      this.tell("stirred");
    }
    if ("re" in message) {
      const answered = this.waiting.get(message.re);
      this.waiting.delete(message.re);
      answered?.(message);
    }
  }

  grow({ from, entries, now }) {
    const known = this.story.length;
    if (now) this.setClock(now);
    if (from > known) {
      this.model.send({ ask: "tape", from: known }); // something was missed while the page was away
      return;
    }
    const fresh = entries.slice(known - from);
    if (!fresh.length) return;
    for (const { story } of this.acts.slice(0, -1)) story.extend(fresh.map(untold));
    const touched = this.lastAct.story.extend(fresh);
    this.setClock(Math.max(fresh[fresh.length - 1][AT], this.now()));
    this.tell("tape", this.story === this.lastAct.story ? touched : new Set());
  }

  /** Called now and then. Nobody tells a page that a kernel died: it is noticed when it cannot be asked any more. */
  listen() {
    const now = performance.now();
    if (!this.isLive || now - Math.max(this.heard, this.probed ?? 0) < SILENCE_MS) return;
    this.probe();
  }

  probe() {
    this.probed = performance.now();
    try {
      this.model.send({ ask: "tape", from: this.story.length });
    } catch {
      this.cut();
    }
  }

  cut() {
    if (this.isCut) return;
    this.last = this.now();
    this.isCut = true;
    this.tell("head", this.head);
  }

  // --- time ---

  setClock(milliseconds) {
    this.heard = performance.now();
    this.origin = milliseconds;
  }

  /** Milliseconds since the run's first event: of the kernel's clock, as far as the page has heard of it. */
  now() {
    return this.origin + (performance.now() - this.heard);
  }

  /** The moment that is shown. */
  get moment() {
    if (this.position !== null || this.head.live === "") return this.story.timeAt(this.at);
    return this.isCut ? this.last : this.now();
  }

  // --- where it stands ---

  /** Entries told: the place on the tape that is shown. */
  get at() {
    return this.position ?? this.story.length;
  }

  get isLive() {
    return this.head.live !== "" && !this.isCut;
  }

  get isPast() {
    return this.position !== null && this.position < this.story.length;
  }

  get status() {
    return this.isPast ? this.story.statusAt(this.position) : this.head.status;
  }

  get statusMark() {
    if (this.wasRunning) return this.look.marks[this.markOf.lost];
    return this.look.run[this.status] ?? this.look.run.running;
  }

  /** Whether all that is known of the present is that the run was live when its kernel went. */
  get wasRunning() {
    return this.isCut && !this.isPast && this.head.live !== "";
  }

  /** How the run stands, in one sentence. */
  get sentence() {
    return this.wasRunning ? `${CUT} To see how it stands now: %pixir show ${this.scene.run_id}` : this.head.sentence;
  }

  /** How a step looks where the story stands. */
  lookOf(step) {
    return this.story.look(step, this.at);
  }

  /** Its mark. What ran, or was to be tried again, when its process died does not and will not. */
  markAt(step) {
    const mark = this.look.marks[this.lookOf(step).mark];
    const atRest = this.isPast || (this.status === "running" && !this.isCut) ? null : AT_REST[mark.key];
    return atRest ? this.look.marks[this.markOf[atRest]] : mark;
  }

  /** `[attempt, output_ms, stalled, fraction, note, alive_ms]` of a step that runs now, or null. */
  signOf(step) {
    if (this.isPast) return null;
    const sign = this.pulse.steps?.[step];
    return sign && sign[0] === this.lookOf(step).attempt ? sign : null;
  }

  choose(step) {
    if (step === this.chosen) return;
    this.chosen = step;
    this.tell("chosen");
  }

  show(tab) {
    this.tab = tab;
    this.tell("tab");
  }

  /** Go to a place on the tape; `null` is the end, and stays there. */
  go(position) {
    const next = position === null || position >= this.story.length ? null : Math.max(0, position);
    if (next === this.position) return;
    this.position = next;
    this.tell(this.turn() ? "reset" : "position");
  }

  unfold(sheet) {
    this.sheet = sheet;
    this.camera = null;
    this.tell("sheet");
  }

  // --- the kernel ---

  /** Ask the kernel, or tell it a wish; resolves to its message, or to an error of the same shape. */
  ask(message) {
    const id = ++this.number;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        resolve({ ok: false, error: SILENT });
      }, PATIENCE_MS);
      this.waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      try {
        this.model.send({ id, ...message });
      } catch {
        this.waiting.get(id)?.({ ok: false, error: SILENT }); // the kernel of this page was restarted: nobody listens
        this.waiting.delete(id);
        this.cut();
      }
    });
  }

  tell(what, detail) {
    for (const view of this.views) view.hear(what, detail);
    this.notice?.hear(what, detail);
  }
}

/** An entry as an earlier act has it: that something happened, to steps it does not know. */
function untold(entry) {
  const blank = [...entry];
  [blank[STEP], blank[CHANGES]] = [-1, []];
  return blank;
}

const CUT = "The kernel that told this page of the run is gone, and this is what it told last.";

const SILENT = {
  code: "kernel_silent",
  message: "The kernel does not answer: it is busy with a cell, or gone.",
  fix: "When it is idle, ask again; after a restart, run the cell that shows this run.",
};
