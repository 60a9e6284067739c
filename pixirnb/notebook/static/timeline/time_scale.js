// Milliseconds since a run's first event to pixels and back: active time in proportion, each pause between two courses in a gap of one
// width. The timeline and the strip are drawn with it.

export class TimeScale {
  /** `pauseWidth` is the px between two courses. */
  constructor(pauseWidth) {
    this.pauseWidth = pauseWidth;
    this.scale = 1; // px per active millisecond
  }

  /** Take the courses and how far the picture reaches, in active milliseconds. */
  update(courses, span) {
    this.courses = courses;
    this.span = Math.max(1, span);
  }

  get pausesWidth() {
    return this.pauseWidth * Math.max(0, this.courses.list.length - 1);
  }

  get width() {
    return this.span * this.scale + this.pausesWidth;
  }

  /** The scale at which everything is seen in `available` pixels. */
  fitting(available) {
    return Math.max(40, available - this.pausesWidth) / this.span;
  }

  /** Where a moment is drawn; one in a pause in its gap. */
  x(at) {
    const { list } = this.courses;
    const number = this.courses.indexAtTime(at);
    const isInPause = number + 1 < list.length && at > list[number].to;
    const part = isInPause ? (at - list[number].to) / this.courses.pauseBefore(number + 1) : 0;
    return this.courses.activeAt(at) * this.scale + this.pauseWidth * (number + part);
  }

  /** The moment that is drawn at a pixel. */
  time(x) {
    const { list } = this.courses;
    const number = Math.max(0, list.findLastIndex((_, each) => this.start(each) <= x));
    const course = list[number];
    if (!course) return 0;
    const at = course.from + Math.max(0, x - this.start(number)) / this.scale;
    if (number + 1 === list.length || at <= course.to) return at;
    const part = (x - this.start(number + 1)) / this.pauseWidth + 1;
    return course.to + Math.min(1, part) * this.courses.pauseBefore(number + 1);
  }

  /** Where a course begins. */
  start(number) {
    return this.courses.list[number].activeBefore * this.scale + this.pauseWidth * number;
  }
}
