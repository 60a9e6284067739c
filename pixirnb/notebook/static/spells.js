// The spells of every step: stretches of time in which it waited for its turn, ran, waited to be tried again, or asked a person.
// A spell knows the entries that opened and closed it, so that any moment of the story is drawn without beginning anew.

const NEVER = Infinity;
const SCARCELY = 20; // ms: shorter waits are the engine's own turn, and nobody's slot

class Spells {
  constructor(scene, marks) {
    this.scene = scene;
    this.marks = marks; // key -> number
    this.of = scene.ids.map(() => []);
    this.open = scene.ids.map(() => ({})); // what is open of each kind
    this.isReady = scene.ids.map(() => false);
    this.readied = scene.ids.map(() => []); // places at which it became ready
    this.order = []; // [place, step] of first starts
    this.rows = new Map(); // step -> place in the order
    this.closings = []; // [place, step] of ends, of attempts and of questions
    this.followers = scene.ids.map(() => []);
    scene.needs.forEach((needs, step) => needs.forEach((need) => this.followers[need].push(step)));
  }

  take(place, kind, at, step, changes, told, courses) {
    const isNew = kind === "run_started" || kind === "run_resumed";
    if (isNew) this.interrupt(place, courses);
    const readied = this.notice(place, changes);
    if (isNew) for (const each of this.scene.ids.keys()) this.await(each, place, at);
    else for (const each of readied) for (const next of this.followers[each]) this.await(next, place, at);
    if (kind === "run_finished") {
      for (const each of this.scene.ids.keys()) for (const still of ["wait", "delay"]) this.close(each, still, place, at);
    }
    if (step < 0) return;
    const open = this.open[step];
    switch (kind) {
      case "step_scheduled":
        this.schedule(place, at, step, told);
        break;
      case "attempt_started":
        this.run(step, told[0], place, at);
        break;
      case "attempt_ended":
        if (!open.run) this.run(step, told[0], place, open.scheduled?.at ?? at);
        Object.assign(open.run, { mark: told[1], elapsed: told[2] });
        this.settleStart(this.close(step, "run", place, at), open.scheduled?.at ?? at);
        break;
      case "retry_planned": {
        const tried = this.lastRun(step);
        if (tried && tried.mark === this.marks.ended) Object.assign(tried, { verdict: this.marks.failed, judged: place });
        this.begin(step, "delay", told[0], place, at).planned = told[1];
        break;
      }
      case "checkpoint_decided": {
        const judged = this.lastRun(step);
        if (judged?.attempt === told[0] && judged.judged === NEVER && !told[2]) Object.assign(judged, { verdict: told[1], judged: place });
        for (const each of ["wait", "delay", "ask"]) this.close(step, each, place, at);
        break;
      }
      case "step_held":
        for (const each of ["wait", "delay", "ask"]) this.close(step, each, place, at);
        break;
      case "decision_requested":
        this.close(step, "wait", place, at);
        this.close(step, "ask", place, at);
        this.begin(step, "ask", told[0], place, at);
        break;
      case "decision_recorded":
        if (open.ask) open.ask.verdict = told[1];
        this.close(step, "ask", place, at);
        break;
    }
  }

  run(step, attempt, place, at) {
    const wait = this.close(step, "wait", place, at);
    this.begin(step, "run", attempt, place, at).wait = wait;
  }

  /** The start of an attempt is written with what comes next, perhaps with its end: what it took says when it really began. */
  settleStart(spell, scheduledAt) {
    spell.from = Math.max(Math.min(scheduledAt, spell.from), Math.min(spell.from, spell.to - spell.elapsed));
    if (spell.wait) spell.wait.to = Math.max(spell.wait.from, Math.min(spell.wait.to, spell.from));
  }

  schedule(place, at, step, told) {
    const { delay } = this.open[step];
    this.close(step, "ask", place, at);
    if (delay) {
      const due = Math.min(at, delay.from + Math.max(0, delay.planned));
      this.close(step, "delay", place, due);
      if (due < at) this.begin(step, "wait", told[0], place, due);
    }
    this.open[step].scheduled = { place, at };
    this.list(step, place);
  }

  /** Who became ready, and who is not any more. */
  notice(place, changes) {
    const readied = [];
    for (let i = 0; i < changes.length; i += STRIDE) {
      const [step, isReady] = [changes[i], changes[i + 1] === this.marks.checkpoint_ready];
      if (isReady && !this.isReady[step]) {
        readied.push(step);
        this.readied[step].push(place);
      }
      this.isReady[step] = isReady;
    }
    return readied;
  }

  /** From here on a step waits for its turn, if all it needs is ready and it is not. */
  await(step, place, at) {
    const open = this.open[step];
    if (this.isReady[step] || open.wait || open.run || open.delay || open.ask) return;
    if (this.scene.needs[step].every((need) => this.isReady[need])) this.begin(step, "wait", 0, place, at);
  }

  /** Another process took the run up: what was under way ended when the last was heard of it. */
  interrupt(place, courses) {
    const { list } = courses;
    const before = list[list.length - 2];
    for (const step of this.scene.ids.keys()) {
      if (this.open[step].run) this.open[step].run.mark = this.marks.lost;
      for (const kind of ["wait", "run", "delay"]) this.close(step, kind, place, before ? before.to : 0);
      delete this.open[step].scheduled;
    }
  }

  begin(step, kind, attempt, place, at) {
    const scheduled = kind === "run" ? this.open[step].scheduled?.place ?? place : place;
    const spell = { step, kind, attempt, scheduled, opened: place, closed: NEVER, from: at, to: at, mark: -1, verdict: -1, judged: NEVER, elapsed: -1, planned: 0 };
    this.open[step][kind] = spell;
    this.of[step].push(spell);
    if (kind !== "wait") this.list(step, place);
    return spell;
  }

  close(step, kind, place, at) {
    const spell = this.open[step][kind];
    if (!spell) return null;
    Object.assign(spell, { closed: place, to: Math.max(spell.from, at) });
    delete this.open[step][kind];
    if (kind === "run" || kind === "ask") this.closings.push([place, step]);
    return spell;
  }

  list(step, place) {
    if (this.rows.has(step)) return;
    this.rows.set(step, this.order.push([place, step]) - 1);
  }

  lastRun(step) {
    return this.of[step].findLast((spell) => spell.kind === "run") ?? null;
  }

  /** What a step had to wait for when its spell began: `{step, why}` with why `need` or `slot`, or null; none before `first`. */
  before(spell, first, story, kinds) {
    const { step, scheduled } = spell;
    let cause = null;
    let ready = first;
    for (const need of this.scene.needs[step]) {
      const place = this.readied[need].findLast((each) => each < scheduled);
      if (place !== undefined && place > first && place >= ready) [cause, ready] = [{ step: need, why: "need", place }, place];
    }
    const { entries } = story;
    if (entries[scheduled][AT] - entries[ready][AT] < SCARCELY) return cause;
    // It could have begun and did not: what ended just before it began had held its slot, or what it may not touch.
    for (let place = scheduled; place > ready; place -= 1) {
      const [, , kind, other] = entries[place];
      if (other >= 0 && other !== step && kinds[kind] === "attempt_ended") return { step: other, why: "slot", place };
    }
    return cause;
  }
}
