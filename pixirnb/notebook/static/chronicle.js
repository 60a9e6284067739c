// What the timeline and the replay know of a story beyond looks: its courses, the spells of its steps, the places worth going to.
// One a story, whoever looks at it; it grows with the tape.

class Chronicle {
  constructor(stage) {
    this.story = stage.story;
    this.scene = stage.scene;
    this.look = stage.look;
    this.kinds = stage.look.told;
    this.courses = new Courses();
    this.spells = new Spells(stage.scene, stage.markOf);
    this.landmarks = new Landmarks(stage.scene);
    this.taken = 0;
  }

  catchUp() {
    const { entries } = this.story;
    for (; this.taken < entries.length; this.taken += 1) {
      const [, at, number, step, changes, status, told] = entries[this.taken];
      const kind = this.kinds[number] ?? "";
      this.courses.take(this.taken, kind, at);
      this.spells.take(this.taken, kind, at, step, changes, told, this.courses);
      this.landmarks.take(this.taken, kind, step, changes, status, told, this.look);
    }
    return this;
  }

  /** Told milliseconds at a position: without the pauses between courses. */
  toldAt(position) {
    return this.courses.told(this.story.timeAt(position));
  }

  /** The event at a place in words, without its step. */
  sentence(place) {
    const [, , number, , , status, told] = this.story.entries[place];
    const [first, second, third] = told;
    const mark = this.look.marks[second]?.word ?? "";
    const filled = {
      attempt: first,
      mark,
      elapsed: third >= 0 && this.kinds[number] === "attempt_ended" ? ` after ${spanOf(third)}` : "",
      delay: second >= 0 ? ` in ${spanOf(second)}` : "",
      reused: third === 1 ? ", reused" : "",
      asked: ["asks to be allowed something", "allowed by a person", "denied by a person"][second] ?? "news of its agent",
      verdict: second === 1 ? "accepted" : "rejected",
      name: first,
      files: plural(Math.max(0, second), "file"),
      merge: second === 1 ? "a merge taken back" : `${plural(Math.max(0, first), "file")} merged`,
      status: this.look.run[status]?.word ?? status,
      reuse: first,
      rerun: second,
      hold: third,
    };
    const words = this.look.events[number] ?? "an event of a kind this page does not know";
    // An event whose data could not be read has nothing to fill in.
    const isBare = !told.length && !status;
    return words.replace(/\{(\w+)\}/g, (_, name) => (isBare ? "" : filled[name] ?? "")).replace(/[ :]+$/, "");
  }

  /**
   * The chain of steps that the length of a course hung on, as far as `position` tells: back from what ended last, to the need
   * that was ready last, or to what held the slot. `{course, links: [{step, why, spells}], worked}`, first link first, `why` it began
   * when it did; null where nothing has ended.
   */
  pathAt(position) {
    const { courses, spells, story } = this;
    const number = courses.at(position);
    const first = courses.list[number]?.place ?? 0;
    const closing = spells.closings.findLast(([place]) => place < position);
    if (!closing || closing[0] <= first) return null;
    if (this.path?.limit === closing[0] && this.path.course === number) return this.path;
    const links = [];
    let worked = 0;
    let next = { step: closing[1], place: closing[0] };
    while (next) {
      const limit = next.place;
      const made = spells.of[next.step].filter((each) => each.kind !== "wait" && each.opened >= first && each.opened <= limit);
      if (!made.length) break;
      for (const each of made) worked += each.to - each.from;
      const cause = spells.before(made[0], first, story, this.kinds);
      links.push({ step: next.step, why: cause?.why, spells: made });
      next = cause && cause.place < limit ? cause : null;
    }
    links.reverse();
    this.path = { course: number, limit: closing[0], links, worked, set: new Set(links.flatMap((link) => link.spells)) };
    return this.path;
  }
}

const CHRONICLES = new WeakMap();

/** The chronicle of what a stage shows, up to its last entry. */
function chronicleOf(stage) {
  if (!CHRONICLES.has(stage.story)) CHRONICLES.set(stage.story, new Chronicle(stage));
  return CHRONICLES.get(stage.story).catchUp();
}
