// The intervals of every step: stretches of time in which it waited for its turn, ran, waited to be tried again, or asked a person.
// An interval knows the entries that opened and closed it, so that any position is drawn without starting over.

import { AT, dependentsOf, STRIDE } from "../state/run_history.js";

const NEVER = Infinity;
export const NEGLIGIBLE_MS = 20; // ms: shorter waits are the engine's own turn, and nobody's slot

export class Intervals {
  constructor(scene, marks) {
    this.scene = scene;
    this.marks = marks; // key -> number
    this.of = scene.ids.map(() => []);
    this.open = scene.ids.map(() => ({})); // what is open of each kind
    this.isReady = scene.ids.map(() => false);
    this.readied = scene.ids.map(() => []); // indexes at which it became ready
    this.order = []; // [index, step] of first starts
    this.rows = new Map(); // step -> index in the order
    this.ends = []; // [index, step] of ends, of attempts and of questions
    this.dependents = dependentsOf(scene.needs);
  }

  add(index, kind, at, step, changes, details, courses) {
    if (this.scene.items?.isItem(step)) {
      this.addItem(index, kind, at, this.scene.items.parentOf(step), changes);
      return;
    }
    const isNew = kind === "run_started" || kind === "run_resumed";
    if (isNew) this.interrupt(index, courses);
    const readied = this.updateReady(index, changes);
    if (isNew) for (const each of this.scene.ids.keys()) this.startWait(each, index, at);
    else for (const each of readied) for (const next of this.dependents[each]) this.startWait(next, index, at);
    if (kind === "run_finished") {
      for (const each of this.scene.ids.keys()) for (const still of ["wait", "delay"]) this.close(each, still, index, at);
      for (const { run } of [...this.open]) if (run?.isOfItems) this.close(run.step, "run", index, at).mark = this.marks.held;
    }
    if (step < 0) return;
    const open = this.open[step];
    switch (kind) {
      case "step_scheduled":
        this.schedule(index, at, step, details);
        break;
      case "attempt_started":
        this.startRun(step, details[0], index, at);
        break;
      case "attempt_ended":
        if (!open.run) this.startRun(step, details[0], index, open.scheduled?.at ?? at);
        this.endRun(open, details, index, at);
        break;
      case "retry_planned": {
        const tried = this.lastRun(step);
        if (tried && tried.mark === this.marks.ended) Object.assign(tried, { verdict: this.marks.failed, judged: index });
        this.start(step, "delay", details[0], index, at).planned = details[1];
        break;
      }
      case "checkpoint_decided": {
        const judged = this.lastRun(step);
        if (judged?.attempt === details[0] && judged.judged === NEVER && !details[2]) Object.assign(judged, { verdict: details[1], judged: index });
      }
      // falls through
      case "step_held":
        for (const each of ["wait", "delay", "ask"]) this.close(step, each, index, at);
        break;
      case "decision_requested":
        this.close(step, "wait", index, at);
        this.close(step, "ask", index, at);
        this.start(step, "ask", details[0], index, at);
        break;
      case "decision_recorded":
        if (open.ask) open.ask.verdict = details[1];
        this.close(step, "ask", index, at);
        break;
    }
  }

  /** The attempts of all items are one bar in the row of their step, which ends with its own attempt: that collects their values. */
  addItem(index, kind, at, parent, changes) {
    this.updateReady(index, changes);
    if (kind !== "step_scheduled" || this.open[parent].run) return;
    this.startRun(parent, 0, index, at);
    this.open[parent].run.isOfItems = true;
  }

  startRun(step, attempt, index, at) {
    if (this.open[step].run?.isOfItems) {
      this.open[step].run.attempt = attempt;
      return;
    }
    const wait = this.close(step, "wait", index, at);
    this.start(step, "run", attempt, index, at).wait = wait;
  }

  endRun({ run, scheduled }, [attempt, mark, elapsed], index, at) {
    Object.assign(run, { attempt, mark, elapsed: run.isOfItems ? at - run.from : elapsed });
    this.close(run.step, "run", index, at);
    this.correctStart(run, run.isOfItems ? run.from : (scheduled?.at ?? at));
  }

  /** The start of an attempt is written with what comes next, perhaps with its end: what it took says when it really began. */
  correctStart(interval, scheduledAt) {
    interval.from = Math.max(Math.min(scheduledAt, interval.from), Math.min(interval.from, interval.to - interval.elapsed));
    if (interval.wait) interval.wait.to = Math.max(interval.wait.from, Math.min(interval.wait.to, interval.from));
  }

  schedule(index, at, step, details) {
    const { delay } = this.open[step];
    this.close(step, "ask", index, at);
    if (delay) {
      const due = Math.min(at, delay.from + Math.max(0, delay.planned));
      this.close(step, "delay", index, due);
      if (due < at) this.start(step, "wait", details[0], index, due);
    }
    this.open[step].scheduled = { index, at };
    this.addRow(step, index);
  }

  /** Who became ready, and who is not any more. */
  updateReady(index, changes) {
    const readied = [];
    for (let i = 0; i < changes.length; i += STRIDE) {
      const [step, isReady] = [changes[i], changes[i + 1] === this.marks.checkpoint_ready];
      if (step >= this.of.length) continue;
      if (isReady && !this.isReady[step]) {
        readied.push(step);
        this.readied[step].push(index);
      }
      this.isReady[step] = isReady;
    }
    return readied;
  }

  /** From here on a step waits for its turn, if all it needs is ready and it is not. */
  startWait(step, index, at) {
    const open = this.open[step];
    if (this.isReady[step] || open.wait || open.run || open.delay || open.ask) return;
    if (this.scene.needs[step].every((need) => this.isReady[need])) this.start(step, "wait", 0, index, at);
  }

  /** Another process took the run up: what was under way ended when the last was heard of it. */
  interrupt(index, courses) {
    const { list } = courses;
    const before = list[list.length - 2];
    for (const step of this.scene.ids.keys()) {
      if (this.open[step].run) this.open[step].run.mark = this.marks.lost;
      for (const kind of ["wait", "run", "delay"]) this.close(step, kind, index, before ? before.to : 0);
      delete this.open[step].scheduled;
    }
  }

  start(step, kind, attempt, index, at) {
    const scheduled = kind === "run" ? this.open[step].scheduled?.index ?? index : index;
    const interval = { step, kind, attempt, scheduled, opened: index, closed: NEVER, from: at, to: at, mark: -1, verdict: -1, judged: NEVER, elapsed: -1, planned: 0 };
    this.open[step][kind] = interval;
    this.of[step].push(interval);
    if (kind !== "wait") this.addRow(step, index);
    return interval;
  }

  close(step, kind, index, at) {
    const interval = this.open[step][kind];
    if (!interval) return null;
    Object.assign(interval, { closed: index, to: Math.max(interval.from, at) });
    delete this.open[step][kind];
    if (kind === "run" || kind === "ask") this.ends.push([index, step]);
    return interval;
  }

  addRow(step, index) {
    if (this.rows.has(step)) return;
    this.rows.set(step, this.order.push([index, step]) - 1);
  }

  lastRun(step) {
    return this.of[step].findLast((interval) => interval.kind === "run") ?? null;
  }

  /** What has run, or waited to be tried again, longest at a position, of what was opened since `first`; or null. */
  runningAt(position, first) {
    let found = null;
    for (const each of this.of.flat()) {
      const isOpen = each.opened >= first && each.opened < position && each.closed >= position;
      if (isOpen && (each.kind === "run" || each.kind === "delay") && !(found?.from <= each.from)) found = each;
    }
    return found;
  }

  /** What a step had to wait for when its interval began: `{step, why}` with why `need` or `slot`, or null; none before `first`. */
  causeOf(interval, first, history, kinds) {
    const { step, scheduled } = interval;
    let cause = null;
    let ready = first;
    for (const need of this.scene.needs[step]) {
      const index = this.readied[need].findLast((each) => each < scheduled);
      if (index !== undefined && index > first && index >= ready) [cause, ready] = [{ step: need, why: "need", index }, index];
    }
    const { entries } = history;
    if (entries[scheduled][AT] - entries[ready][AT] < NEGLIGIBLE_MS) return cause;
    // It could have begun and did not: what ended just before it began had held its slot, or what it may not touch.
    for (let index = scheduled; index > ready; index -= 1) {
      const [, , kind, place] = entries[index];
      const other = this.scene.items && place >= 0 ? this.scene.items.parentOf(place) : place;
      if (other >= 0 && other !== step && kinds[kind] === "attempt_ended") return { step: other, why: "slot", index };
    }
    return cause;
  }
}
