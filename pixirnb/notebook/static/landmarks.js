// Places of a story worth going to: courses, beginnings of phases, checkpoints, questions and answers, what failed, the ends.

const LANDMARK_RANKS = ["course", "bad", "ask", "end", "flag", "phase"]; // where two would touch, the first is drawn
const FAILED_KEYS = new Set(["failed", "timed_out", "cancelled", "interrupted", "detached", "partial"]);

class Landmarks {
  constructor(scene) {
    this.list = []; // {position, sort, step, words}: `position` shows the story with that event told
    this.phaseOf = new Map();
    scene.phases.forEach(([name, steps]) => steps.forEach((step) => this.phaseOf.set(step, name)));
    this.begun = new Set();
  }

  take(place, kind, step, changes, status, told, look) {
    const add = (sort, words, mark = null) => this.list.push({ position: place + 1, sort, step, words, mark });
    switch (kind) {
      case "run_resumed":
        this.begun.clear();
        add("course", "the run was resumed");
        break;
      case "run_forked":
        add("course", "the run was forked");
        break;
      case "step_scheduled": {
        const phase = this.phaseOf.get(step);
        if (phase === undefined || this.begun.has(phase)) break;
        this.begun.add(phase);
        add("phase", `phase ${phase} begins`);
        break;
      }
      case "checkpoint_saved":
        add("flag", `checkpoint ${told[0] ?? ""}`);
        break;
      case "decision_requested":
        add("ask", "asks a person", look.run.needs_orchestrator);
        break;
      case "decision_recorded":
        add("ask", told[1] === 1 ? "accepted by a person" : "rejected by a person", look.run.needs_orchestrator);
        break;
      case "subagent_event": {
        const words = ["asks for a permission", "allowed by a person", "denied by a person"][told[1]];
        if (words) add("ask", words, look.run.needs_orchestrator);
        break;
      }
      case "retry_planned":
      case "checkpoint_decided":
      case "attempt_ended": {
        const mark = look.marks[told[1]];
        if (kind !== "retry_planned" && mark && FAILED_KEYS.has(mark.key) && !this.isSaid(place, step)) add("bad", mark.word, mark);
        break;
      }
      case "run_finished":
        add("end", `the run came to rest: ${look.run[status]?.word ?? status}`, look.run[status]);
        break;
    }
  }

  /** Whether the same failure was told just before: an attempt ends badly, then its checkpoint says so. */
  isSaid(place, step) {
    const last = this.list[this.list.length - 1];
    return last?.sort === "bad" && last.step === step && place - last.position < 8;
  }

  /** The first after a position, or the last before it. */
  next(position, isBack) {
    return isBack ? this.list.findLast((each) => each.position < position) : this.list.find((each) => each.position > position);
  }

  /** Those to be drawn, at most one in `every` positions; a place where several lie says how many. */
  thinned(every) {
    const kept = [];
    for (const each of this.list) {
      const last = kept[kept.length - 1];
      if (!last || each.position - last.shown.position >= every) {
        kept.push({ shown: each, count: 1 });
        continue;
      }
      last.count += 1;
      if (LANDMARK_RANKS.indexOf(each.sort) < LANDMARK_RANKS.indexOf(last.shown.sort)) last.shown = each;
    }
    return kept;
  }
}
