/** Time that passes only when a test says so, in the place of the page's timers until `restore`. */
export class Clock {
  constructor() {
    this.now = 0;
    this.timers = new Map();
    const { setTimeout, clearTimeout } = globalThis;
    this.restore = () => Object.assign(globalThis, { setTimeout, clearTimeout });
    globalThis.setTimeout = (call, delay = 0) => {
      const timer = {};
      this.timers.set(timer, { due: this.now + delay, call });
      return timer;
    };
    globalThis.clearTimeout = (timer) => this.timers.delete(timer) || clearTimeout(timer);
  }

  /** Let milliseconds pass: what is due by then is called, earliest first. */
  pass(milliseconds) {
    this.now += milliseconds;
    const due = [...this.timers].filter(([, timer]) => timer.due <= this.now).sort(([, a], [, b]) => a.due - b.due);
    for (const [timer, { call }] of due) if (this.timers.delete(timer)) call();
  }
}
