// A small run as the kernel would describe it: a vocabulary, a scene, and a tape of events.

const WORDS = { queued: "queued", starting: "starting", running: "running", permission: "waits for permission", checkpoint_ready: "ready", failed: "failed", ended: "ended, not judged", lost: "was running", retrying: "waits to retry", unretried: "was to retry", held: "held", needs_orchestrator: "needs a person" };
const TONES = { running: "live", permission: "ask", checkpoint_ready: "ready", failed: "bad", needs_orchestrator: "ask" };

const markOfKey = (key) => ({ key, word: WORDS[key], tone: TONES[key] ?? "idle", symbol: "?", shape: "" });

const EVENTS = {
  run_started: "run started",
  run_resumed: "run resumed: {reuse} kept, {rerun} to rerun",
  run_finished: "run finished: {status}",
  step_scheduled: "attempt {attempt} scheduled",
  attempt_started: "attempt {attempt} started",
  attempt_ended: "attempt {attempt} ended: {mark}{elapsed}",
  checkpoint_decided: "judged: {mark}{reused}",
  retry_planned: "attempt {attempt} planned{delay}",
  checkpoint_saved: "checkpoint {name}",
  decision_requested: "decision requested",
  decision_recorded: "{verdict} by a person",
  seam_opened: "a seam opened",
};

export const KEYS = Object.keys(WORDS);
export const MARK = Object.fromEntries(KEYS.map((key, number) => [key, number]));
export const KINDS = Object.keys(EVENTS);

export const VOCABULARY = {
  marks: KEYS.map(markOfKey),
  run: { running: markOfKey("running"), completed: { ...markOfKey("checkpoint_ready"), word: "completed" }, failed: markOfKey("failed"), needs_orchestrator: markOfKey("needs_orchestrator") },
  kinds: { shell: "<path/>" },
  told: KINDS,
  events: Object.values(EVENTS),
};

/** A scene of steps named in order, `needs` by name. */
export function sceneOf(needs, { phases = [] } = {}) {
  const ids = Object.keys(needs);
  return { run_id: "r-1", workflow: "w", ids, kinds: ids.map(() => "shell"), isolated: ids.map(() => false), needs: Object.values(needs).map((each) => each.map((id) => ids.indexOf(id))), phases, sheets: [{}] };
}

/** Entries of a tape: `event(ms, kind, step, changes, {status, details})` with `changes` as `{step: [mark, attempt, elapsed]}`. */
export class Tape {
  constructor(scene) {
    this.scene = scene;
    this.entries = [];
  }

  event(at, kind, id = null, changes = {}, { status = "", details = [] } = {}) {
    const flat = Object.entries(changes).flatMap(([name, [mark, attempt = 0, elapsed = -1, holder = -1]]) => [this.scene.ids.indexOf(name), MARK[mark], attempt, elapsed, holder]);
    this.entries.push([this.entries.length + 1, at, KINDS.indexOf(kind), id === null ? -1 : this.scene.ids.indexOf(id), flat, status, details]);
    return this;
  }

  /** A whole attempt of a step, from its scheduling to the verdict. */
  attempt(id, number, from, to, mark = "checkpoint_ready") {
    return this.event(from, "step_scheduled", id, { [id]: ["starting", number] }, { details: [number] })
      .event(from, "attempt_started", id, { [id]: ["running", number] }, { details: [number] })
      .event(to, "attempt_ended", id, { [id]: ["ended", number, to - from] }, { details: [number, MARK.ended, to - from] })
      .event(to, "checkpoint_decided", id, { [id]: [mark, number, to - from] }, { details: [number, MARK[mark], 0] });
  }
}

/** `a → b`, done in one course from 0 to 3,000 ms. */
export function chainTape() {
  const tape = new Tape(sceneOf({ a: [], b: ["a"] }));
  tape.event(0, "run_started", null, {}, { status: "running" }).attempt("a", 1, 0, 1000).attempt("b", 1, 1000, 3000);
  return tape.event(3000, "run_finished", null, {}, { status: "completed" });
}
