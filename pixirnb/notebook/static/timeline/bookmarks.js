// Positions in the history worth going to: courses, beginnings of phases, checkpoints, questions and answers, what failed, the ends.

const BOOKMARK_RANKS = ["course", "bad", "ask", "end", "flag", "phase"]; // where two would touch, the first is drawn
const FAILED_KEYS = new Set(["failed", "timed_out", "cancelled", "interrupted", "detached", "partial"]);

export class Bookmarks {
  constructor(scene) {
    this.list = []; // {position, type, step, words}: `position` shows the run with that event applied
    this.phaseOf = new Map();
    scene.phases.forEach(([name, steps]) => steps.forEach((step) => this.phaseOf.set(step, name)));
    this.begun = new Set();
  }

  add(index, kind, step, changes, status, details, vocabulary) {
    const push = (type, words, mark = null) => this.list.push({ position: index + 1, type, step, words, mark });
    switch (kind) {
      case "run_resumed":
        this.begun.clear();
        push("course", "run resumed");
        break;
      case "run_forked":
        push("course", "run forked");
        break;
      case "step_scheduled": {
        const phase = this.phaseOf.get(step);
        if (phase === undefined || this.begun.has(phase)) break;
        this.begun.add(phase);
        push("phase", `phase ${phase} begins`);
        break;
      }
      case "checkpoint_saved":
        push("flag", `checkpoint ${details[0] ?? ""}`);
        break;
      case "decision_requested":
        push("ask", "decision requested", vocabulary.run.needs_orchestrator);
        break;
      case "decision_recorded":
        push("ask", details[1] === 1 ? "accepted by a person" : "rejected by a person", vocabulary.run.needs_orchestrator);
        break;
      case "subagent_event": {
        const words = ["permission requested", "allowed by a person", "denied by a person"][details[1]];
        if (words) push("ask", words, vocabulary.run.needs_orchestrator);
        break;
      }
      case "retry_planned":
      case "checkpoint_decided":
      case "attempt_ended": {
        const mark = vocabulary.marks[details[1]];
        if (kind !== "retry_planned" && mark && FAILED_KEYS.has(mark.key) && !this.isRepeated(index, step)) push("bad", mark.word, mark);
        break;
      }
      case "run_finished":
        push("end", `run finished: ${vocabulary.run[status]?.word ?? status}`, vocabulary.run[status]);
        break;
    }
  }

  /** Whether the same failure was recorded just before: an attempt ends badly, then its checkpoint says so. */
  isRepeated(index, step) {
    const last = this.list.at(-1);
    return last?.type === "bad" && last.step === step && index - last.position < 8;
  }

  /** The first after a position, or the last before it. */
  next(position, isBack) {
    return isBack ? this.list.findLast((each) => each.position < position) : this.list.find((each) => each.position > position);
  }

  /** Those to be drawn, at most one in `every` pixels by the `place` of its position; one that stands for several says how many. */
  thinned(every, place) {
    const kept = [];
    for (const each of this.list) {
      const last = kept.at(-1);
      if (!last || place(each.position) - place(last.shown.position) >= every) {
        kept.push({ shown: each, count: 1 });
        continue;
      }
      last.count += 1;
      if (BOOKMARK_RANKS.indexOf(each.type) < BOOKMARK_RANKS.indexOf(last.shown.type)) last.shown = each;
    }
    return kept;
  }
}
