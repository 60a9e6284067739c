// What all views of one run share: its traits, its history, the position in it; and the questions to the kernel.
// One store a widget; a reload makes another from the traits.

import { Questions } from "./questions.js";
import { StepPlaces } from "./item_lists.js";
import { AT, CHANGES, RunHistory, STEP } from "./run_history.js";

const MARKS_AT_REST = { running: "lost", starting: "lost", permission: "lost", retrying: "unretried" };
const PROBE_AFTER_MS = 5_000; // a live run that says nothing for so long is asked whether it is there

export class RunStore {
  constructor(model) {
    this.model = model;
    this.views = new Set();
    this.questions = new Questions(model, () => this.onKernelGone());
    this.position = null; // null: at the end, and moving with it
    this.shownAt = null; // the moment that is shown at a position, where it is not that of its last event
    this.sheet = 0; // 1: every step
    this.heardAt = performance.now();
    this.origin = 0;
    this.isKernelGone = false; // the kernel is gone: what is shown is how things stood
    this.reset();
    if (this.isLive) this.probe(); // the head may be as old as the run
    model.on("change:scene", () => this.reset());
    model.on("change:tape", () => this.reset());
    model.on("change:head", () => this.onHead());
    model.on("change:pulse", () => this.onPulse());
    model.on("msg:custom", (message) => this.onMessage(message));
    model.on("comm_live_update", () => this.probe()); // a kernel that is restarted
  }

  /** Start over from the traits. */
  reset() {
    this.vocabulary = this.model.get("look");
    const keys = this.vocabulary.marks.map((mark) => mark.key);
    this.markOf = Object.fromEntries(keys.map((key, index) => [key, index]));
    const tape = this.model.get("tape") ?? [];
    const past = this.model.get("past") ?? [];
    this.planVersions = past.map((plan) => this.planVersion(plan.until, plan.scene, [...plan.tape, ...tape.slice(plan.tape.length).map(withoutSteps)]));
    this.planVersions.push(this.planVersion(Infinity, this.model.get("scene"), tape));
    this.head = this.model.get("head");
    this.pulse = this.model.get("pulse");
    const { length } = this.currentPlan.history;
    if (this.position !== null) this.position = Math.min(this.position, length);
    this.switchPlan();
    this.setClock(Math.max(this.head.now, this.pulse.now ?? 0, this.history.timeAt(length)));
    this.notify("reset");
  }

  /** What is drawn up to an edit of the workflow: its steps as they were, and a history that is blank afterwards. */
  planVersion(until, scene, entries) {
    const history = new RunHistory(scene.ids.length, this.markOf.queued, this.vocabulary.told.indexOf("step_expanded"));
    history.append(entries);
    return { until, scene: { ...scene, items: history.items }, history, vocabulary: this.vocabulary, markOf: this.markOf };
  }

  /** The plan version at the end. */
  get currentPlan() {
    return this.planVersions.at(-1);
  }

  /** Switch to the plan version of the position that is shown; whether it is another one. */
  switchPlan() {
    const at = this.position ?? Infinity;
    const plan = this.planVersions.find(({ until }) => at <= until);
    if (plan.history === this.history) return false;
    this.scene = plan.scene;
    this.history = plan.history;
    this.stepOf = new StepPlaces(this.scene.ids, this.scene.items);
    this.sheet = Math.min(this.sheet, this.scene.sheets.length - 1);
    return true;
  }

  onHead() {
    const before = this.head;
    this.head = this.model.get("head");
    this.setClock(this.head.now);
    this.isKernelGone = false;
    this.notify("head", before);
    if (!this.isLive) this.keepTape();
  }

  onPulse() {
    this.pulse = this.model.get("pulse");
    if (this.pulse.now) this.setClock(this.pulse.now);
    this.notify("pulse");
  }

  /** What the page knows of the history goes into the trait at rest, for files that keep the state of widgets. */
  keepTape() {
    const kept = this.model.get("tape");
    const { entries } = this.currentPlan.history;
    if (Array.isArray(kept) && kept.length < entries.length) kept.push(...entries.slice(kept.length));
  }

  onMessage(message) {
    if (message.tape) this.extend(message.tape);
    if (message.stirred) {
      this.stirred = new Set(message.stirred);
      this.notify("stirred");
    }
    this.questions.take(message);
  }

  extend({ from, entries, now }) {
    const known = this.history.length;
    if (now) this.setClock(now);
    if (from > known) {
      this.model.send({ ask: "tape", from: known }); // something was missed while the page was away
      return;
    }
    const fresh = entries.slice(known - from);
    if (!fresh.length) return;
    for (const { history } of this.planVersions.slice(0, -1)) history.append(fresh.map(withoutSteps));
    const touched = this.currentPlan.history.append(fresh);
    this.setClock(Math.max(fresh.at(-1)[AT], this.now()));
    this.notify("tape", this.history === this.currentPlan.history ? touched : new Set());
  }

  /** Called now and then. Nobody tells a page that a kernel died: it is noticed when it cannot be asked any more. */
  checkKernel() {
    const now = performance.now();
    if (!this.isLive || now - Math.max(this.heardAt, this.probed ?? 0) < PROBE_AFTER_MS) return;
    this.probe();
  }

  probe() {
    this.probed = performance.now();
    this.questions.send({ ask: "tape", from: this.history.length });
  }

  onKernelGone() {
    if (this.isKernelGone) return;
    this.last = this.now();
    this.isKernelGone = true;
    this.notify("head", this.head);
  }

  // --- time ---

  setClock(milliseconds) {
    this.heardAt = performance.now();
    this.origin = milliseconds;
  }

  /** Milliseconds since the run's first event: of the kernel's clock, as far as the page has heard of it. */
  now() {
    return this.origin + (performance.now() - this.heardAt);
  }

  /** The moment that is shown. */
  get moment() {
    return this.position === null ? this.latest : (this.shownAt ?? this.history.timeAt(this.at));
  }

  /** The latest moment that is known of. */
  get latest() {
    const { history } = this.currentPlan;
    if (this.head.live === "") return history.timeAt(history.length);
    return this.isKernelGone ? this.last : this.now();
  }

  // --- where it stands ---

  /** The position that is shown: how many entries of the tape are applied. */
  get at() {
    return this.position ?? this.history.length;
  }

  get isLive() {
    return this.head.live !== "" && !this.isKernelGone;
  }

  get isPast() {
    return this.position !== null && this.position < this.history.length;
  }

  get status() {
    return this.isPast ? this.history.statusAt(this.position) : this.head.status;
  }

  get statusMark() {
    if (this.wasRunning) return this.vocabulary.marks[this.markOf.lost];
    return this.vocabulary.run[this.status] ?? this.vocabulary.run.running;
  }

  /** Whether all that is known of the present is that the run was live when its kernel went. */
  get wasRunning() {
    return this.isKernelGone && !this.isPast && this.head.live !== "";
  }

  /** How the run stands, in one sentence. */
  get sentence() {
    return this.wasRunning ? `${KERNEL_GONE} For the current state, run: ${this.head.cell}` : this.head.sentence;
  }

  /** How a step looks at the position that is shown. */
  stepStateOf(step) {
    return this.history.stepAt(step, this.at);
  }

  /** The step in the graph that stands for a step or an item. */
  boxOf(step) {
    return step < 0 ? step : this.scene.items.parentOf(step);
  }

  /** The places of a step's items at the position that is shown; null where it has none, or none that are known. */
  itemsOf(step) {
    return this.scene.items.at(step, this.at);
  }

  /** `[count or null, what decides it]` of a step with items, as planned; null for any other. */
  plannedItems(step) {
    this.planned ??= new WeakMap();
    if (!this.planned.has(this.scene)) this.planned.set(this.scene, new Map((this.scene.many ?? []).map(([of, ...known]) => [of, known])));
    return this.planned.get(this.scene).get(step) ?? null;
  }

  /** How many of a step's items have each mark, `[mark, count]` in the order of the marks; empty before its list is known. */
  itemCounts(step) {
    const places = this.itemsOf(step);
    if (!places) return [];
    const counts = new Map();
    for (const place of places) {
      const mark = this.markAt(place);
      counts.set(mark, (counts.get(mark) ?? 0) + 1);
    }
    return this.vocabulary.marks.filter((mark) => counts.has(mark)).map((mark) => [mark, counts.get(mark)]);
  }

  /** Its mark. What ran, or was to be tried again, when its process died does not and will not. */
  markAt(step) {
    const mark = this.vocabulary.marks[this.stepStateOf(step).mark];
    const atRest = this.isPast || (this.status === "running" && !this.isKernelGone) ? null : MARKS_AT_REST[mark.key];
    return atRest ? this.vocabulary.marks[this.markOf[atRest]] : mark;
  }

  /** `[attempt, output_ms, stalled, fraction, note, alive_ms, printed]` of a step that runs now, or null. */
  heartbeatOf(step) {
    if (this.isPast) return null;
    const heartbeat = this.pulse.steps?.[step];
    return heartbeat && heartbeat[0] === this.stepStateOf(step).attempt ? heartbeat : null;
  }

  /** `[step, line]`: what a running step printed last, of the one that printed it last; null where there is none. */
  get lastPrinted() {
    const printed = Object.keys(this.pulse.steps ?? {}).map((step) => [Number(step), this.heartbeatOf(Number(step))]).filter(([, heartbeat]) => heartbeat?.[6]);
    if (!this.isLive || !printed.length) return null;
    const [step, heartbeat] = printed.reduce((last, each) => (each[1][1] > last[1][1] ? each : last));
    return [step, heartbeat[6]];
  }

  /** Go to a position, at the moment of its last event or at one before the next; `null` is the end, and stays there. */
  seek(position, at = null) {
    const next = position === null || position >= this.history.length ? null : Math.max(0, position);
    const shownAt = next === null ? null : at;
    if (next === this.position && shownAt === this.shownAt) return;
    const [before, wasPast] = [this.position, this.isPast];
    [this.position, this.shownAt] = [next, shownAt];
    if (next === before) this.notify("moment");
    else if (this.switchPlan()) this.notify("reset");
    else this.notify("position", wasPast && this.isPast ? this.history.touchedBetween(before, next) : null);
  }

  unfold(sheet) {
    this.sheet = sheet;
    this.notify("sheet");
  }

  // --- the kernel ---

  /** Ask the kernel a question or for an action; resolves to its message, or to an error of the same shape. */
  ask(message) {
    return this.questions.ask(message);
  }

  notify(what, detail) {
    for (const view of this.views) view.onChange(what, detail);
    this.toast?.onChange(what, detail);
  }
}

/** An entry as an earlier plan version has it: that something happened, to steps it does not know. */
function withoutSteps(entry) {
  const blank = [...entry];
  [blank[STEP], blank[CHANGES]] = [-1, []];
  return blank;
}

const KERNEL_GONE = "Last known state (kernel disconnected).";
