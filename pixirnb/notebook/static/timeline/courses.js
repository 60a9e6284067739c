// The courses of a run, from each start or resume to the rest that follows. Active time runs through them without the pauses
// between, so that a run that was taken up three hours later is not three hours of nothing.

export class Courses {
  constructor() {
    this.list = [];
  }

  /** Take the entry at `index`. */
  add(index, kind, at) {
    let last = this.list.at(-1);
    if (!last || kind === "run_resumed") {
      const activeBefore = last ? last.activeBefore + last.to - last.from : 0;
      this.list.push({ index, from: at, to: at, activeBefore, isOver: false });
      return;
    }
    // A decision that is recorded while nobody drives the run belongs to the pause.
    if (last.isOver) return;
    last.to = at;
    // What a fork took over happened in another run, and ended there.
    last.isOver = kind === "run_finished" || kind === "run_forked";
  }

  /** The number of the course in which, or after which, a moment lies. */
  indexAtTime(at) {
    let found = this.list.length - 1;
    while (found > 0 && this.list[found].from > at) found -= 1;
    return Math.max(0, found);
  }

  /** The number of the course that the last of `position` entries belongs to. */
  indexAtPosition(position) {
    let found = this.list.length - 1;
    while (found > 0 && this.list[found].index >= position) found -= 1;
    return Math.max(0, found);
  }

  /** Active milliseconds at a moment: a pause takes none, and the course that is under way has no end. */
  activeAt(at) {
    const course = this.list[this.indexAtTime(at)];
    if (!course) return 0;
    const isOpen = course === this.list.at(-1) && !course.isOver;
    return course.activeBefore + Math.max(0, (isOpen ? at : Math.min(at, course.to)) - course.from);
  }

  /** The moment after so many active milliseconds. */
  timeAt(active) {
    const course = this.list.findLast((each) => each.activeBefore <= active);
    return course ? course.from + active - course.activeBefore : 0;
  }

  /** How long nobody drove the run before that course. */
  pauseBefore(number) {
    return number > 0 ? this.list[number].from - this.list[number - 1].to : 0;
  }
}
