// What the timeline and the replay derive from a history: its courses, the intervals of its steps, its bookmarks. One for each
// history, whoever shows it; it grows with the tape.

import { formatDuration, pluralize } from "../dom/formatting.js";
import { Bookmarks } from "./bookmarks.js";
import { Courses } from "./courses.js";
import { Intervals } from "./intervals.js";

export class HistoryIndex {
  constructor(store) {
    this.history = store.history;
    this.scene = store.scene;
    this.vocabulary = store.vocabulary;
    this.kinds = store.vocabulary.told;
    this.courses = new Courses();
    this.intervals = new Intervals(store.scene, store.markOf);
    this.bookmarks = new Bookmarks(store.scene);
    this.indexed = 0;
    this.extent = 0;
  }

  catchUp() {
    const { entries } = this.history;
    for (; this.indexed < entries.length; this.indexed += 1) {
      const [, at, number, step, changes, status, details] = entries[this.indexed];
      const kind = this.kinds[number] ?? "";
      this.courses.add(this.indexed, kind, at);
      this.intervals.add(this.indexed, kind, at, step, changes, details, this.courses);
      this.bookmarks.add(this.indexed, kind, step, changes, status, details, this.vocabulary);
    }
    return this;
  }

  /** Active milliseconds at a position: without the pauses between courses. */
  activeAt(position) {
    return this.courses.activeAt(this.history.timeAt(position));
  }

  /** How far a picture of it reaches, in active milliseconds. While the run goes on, room is kept ahead, so that not every tick moves everything. */
  reach(store) {
    const { history } = this;
    const end = this.courses.activeAt(Math.max(store.latest, history.timeAt(history.length)));
    if (!store.isLive) this.extent = end;
    else if (end > this.extent || !this.extent) this.extent = Math.max(1000, end * 1.3);
    return this.extent;
  }

  /** How an attempt, a wait or a question looked at a position; `now` is how its step looks there. */
  markOf(interval, position, now) {
    const { marks, run } = this.vocabulary;
    const known = this.intervals.marks;
    if (interval.kind === "ask") return run.needs_orchestrator;
    if (interval.kind !== "run") return marks[known.queued];
    if (interval.closed >= position) return ["running", "permission", "lost"].includes(now.key) ? now : marks[known.running];
    return marks[interval.judged < position && interval.verdict >= 0 ? interval.verdict : interval.mark] ?? marks[known.ended];
  }

  /** The event at an index of the tape in words, without its step. */
  sentence(index) {
    const [, , number, , , status, details] = this.history.entries[index];
    const [first, second, third] = details;
    const mark = this.vocabulary.marks[second]?.word ?? "";
    const filled = {
      attempt: first,
      mark,
      elapsed: third >= 0 && this.kinds[number] === "attempt_ended" ? ` after ${formatDuration(third)}` : "",
      delay: second >= 0 ? ` in ${formatDuration(second)}` : "",
      reused: third === 1 ? ", reused" : "",
      asked: ["permission requested", "allowed by a person", "denied by a person"][second] ?? "agent event",
      verdict: second === 1 ? "accepted" : "rejected",
      name: first,
      files: pluralize(Math.max(0, second), "file"),
      merge: second === 1 ? "merge undone" : `${pluralize(Math.max(0, first), "file")} merged`,
      status: this.vocabulary.run[status]?.word ?? status,
      reuse: first,
      rerun: second,
      hold: third,
    };
    const words = this.vocabulary.events[number] ?? "unknown event";
    // An event whose data could not be read has nothing to fill in.
    const isBare = !details.length && !status;
    return words.replace(/\{(\w+)\}/g, (_, name) => (isBare ? "" : filled[name] ?? "")).replace(/[ :]+$/, "");
  }

  /**
   * The chain of steps that the length of a course hung on, as far as `position` tells: back from what has run longest, or at rest from
   * what ended last, to the need that was ready last, or to what held the slot. `{course, links: [{step, why, intervals}], running, worked}`,
   * first link first, `why` it began when it did, `running` the interval that goes on, `worked` the milliseconds without it; null where
   * nothing has run.
   */
  pathAt(position) {
    const { courses, intervals, history } = this;
    const number = courses.indexAtPosition(position);
    const first = courses.list[number]?.index ?? 0;
    const running = history.statusAt(position) === "running" ? intervals.runningAt(position, first) : null;
    const [limit, step] = running ? [running.opened, running.step] : (intervals.ends.findLast(([index]) => index < position) ?? [-1]);
    if (limit < 0 || limit <= first) return null;
    if (this.path?.limit === limit && this.path.course === number && this.path.running === running) return this.path;
    const links = [];
    let worked = 0;
    let next = { step, index: limit };
    while (next) {
      const { index } = next;
      const spans = intervals.of[next.step].filter((each) => each.kind !== "wait" && each.opened >= first && each.opened <= index);
      if (!spans.length) break;
      for (const each of spans) if (each !== running) worked += each.to - each.from;
      const cause = intervals.causeOf(spans[0], first, history, this.kinds);
      links.push({ step: next.step, why: cause?.why, intervals: spans });
      next = cause && cause.index < index ? cause : null;
    }
    links.reverse();
    this.path = { course: number, limit, links, running, worked, set: new Set(links.flatMap((link) => link.intervals)) };
    return this.path;
  }
}

const INDEXES = new WeakMap();

/** The index of what a store, or a plan version of it, shows, up to its last entry. */
export function historyIndexOf(store) {
  if (!INDEXES.has(store.history)) INDEXES.set(store.history, new HistoryIndex(store));
  return INDEXES.get(store.history).catchUp();
}
