// The step panel: all that is known of the chosen step, at the moment that is shown. The kernel says what; the parts that changed
// are drawn anew, the others are left as they are, so that nobody loses what they read or type.

const DRAG_MS = 90; // while the slider is dragged, the kernel is asked when it rests
const AGAIN_MS = 300; // at most three times a second of a step that changes
const SLOW_MS = 1200; // then the kernel is said to be busy
const READABLE = 0.6; // the scale below which a graph is not made smaller to be seen whole

class Panel {
  constructor(view) {
    this.view = view;
    this.stage = view.stage;
    this.step = -1;
    this.known = 0; // entries of the tape looked through
    this.seen = null; // the attempt whose output is shown; null: the last
    this.remark = new Remark();
    this.card = h("div", { class: "pixirnb-card-room" });
    this.question = new Question(this);
    this.permission = new Permission(this);
    this.clash = new Clash(this);
    this.changes = new Changes(this);
    this.output = new Output(this.stage);
    this.conversation = new Conversation(this);
    this.title = h("h3", { class: "pixirnb-title" });
    this.facts = h("p", { class: "pixirnb-mute pixirnb-sub" });
    this.progress = h("div", { class: "pixirnb-meter", hidden: true }, h("span", {}));
    this.then = h("p", { class: "pixirnb-then", hidden: true });
    this.note = h("div", { class: "pixirnb-note", role: "status", hidden: true });
    this.deeds = h("div", { class: "pixirnb-beside", role: "group", "aria-label": "What can be done", hidden: true });
    this.value = h("section", { class: "pixirnb-part", "aria-label": "Value", hidden: true });
    const own = { question: this.question.root, permission: this.permission.root, clash: this.clash.root, changes: this.changes.root, deeds: [this.deeds, this.card, this.remark.root], conversation: this.conversation.root, output: this.output.root, value: this.value };
    this.parts = SECTIONS.map((section) => ({
      section,
      root: section.own ? null : h("section", { class: "pixirnb-part", "aria-label": section.name, hidden: true }),
      shown: "",
    }));
    this.inner = h("div", { class: "pixirnb-inner" }, this.then, this.note, this.parts.map(({ section, root }) => root ?? own[section.own]));
    const close = button("×", () => this.close(), { kind: "pixirnb-close", title: "Close (Esc)" });
    close.setAttribute("aria-label", "Close the panel");
    this.head = h("header", { class: "pixirnb-panel-head" }, h("div", { class: "pixirnb-grow" }, this.title, this.facts, this.progress), close);
    this.root = h(
      "aside",
      { class: "pixirnb-panel", hidden: true, tabindex: -1, on: { keydown: (event) => this.key(event) } },
      h("div", { class: "pixirnb-panel-body" }, this.head, this.inner),
    );
    this.root.prepend(gripOf(this));
  }

  draw({ has, touched }) {
    const { stage } = this;
    const fresh = stage.story.entries.slice(this.known);
    this.known = stage.story.length;
    if (stage.chosen < 0) {
      if (!this.root.hidden) this.hide();
      return;
    }
    const isOther = has("reset") || stage.chosen !== this.step;
    if (isOther) this.open(stage.chosen);
    this.drawHead();
    if (isOther) this.wake(0);
    else if (has("position")) this.wake(DRAG_MS);
    else if (has("head") || (!stage.isPast && this.concerns(touched, fresh))) this.wake();
    if (!stage.isPast) this.output.tick(stage.signOf(this.step)?.[1] ?? null);
    this.conversation.tick(has("stirred") ? stage.stirred : null);
  }

  /** Whether steps that changed, or what happened, can be seen in this panel. */
  concerns(touched, fresh) {
    if (touched.has(this.step) || fresh.some((entry) => entry[STEP] === this.step) || tellsOfFiles(this.stage, fresh)) return true;
    for (const near of this.near) if (touched.has(near)) return true;
    return false;
  }

  open(step) {
    const { scene } = this.stage;
    const wasHidden = this.root.hidden;
    this.step = step;
    this.near = new Set([...scene.needs[step], ...this.view.graph.after(step)]);
    this.seen = null;
    this.loaded = null;
    this.answer = null;
    this.inner.classList.add("pixirnb-unknown");
    this.output.clear();
    this.conversation.clear();
    this.remark.clear();
    fill(this.card);
    this.root.hidden = false;
    this.root.setAttribute("aria-label", `Step ${scene.ids[step]}`);
    this.root.style.setProperty("--px-panel", `${this.stage.panelWidth ?? 400}px`);
    this.inner.scrollTop = 0;
    this.makeRoom(wasHidden, () => this.view.graph.reveal(step));
  }

  /** The graph has another width now: whoever saw the whole of it goes on seeing it, else `look` says what to look at. */
  makeRoom(isOther, look = null) {
    const { view, stage } = this;
    const { camera, frame } = view.graph;
    const wasWhole = isOther && camera.sheet.width * camera.scale <= (view.width ?? 0) + 1;
    if (isOther) view.hear("panel");
    requestAnimationFrame(() => {
      if (stage.tab !== "graph" || frame.hidden || !frame.clientWidth) return;
      if (wasWhole && camera.fitting() >= READABLE) camera.fit();
      else look?.();
    });
  }

  hide() {
    this.root.hidden = true;
    this.makeRoom(true);
    this.step = -1;
    this.asked = null;
    clearTimeout(this.timer);
    this.timer = null;
    this.output.clear();
    this.conversation.clear();
  }

  close() {
    const { step } = this;
    const hadFocus = this.root.contains(document.activeElement);
    this.stage.choose(-1);
    if (hadFocus && this.stage.tab === "graph") this.view.graph.reveal(step, { focus: true });
  }

  choose(id) {
    const step = this.stage.place.get(id);
    if (step !== undefined) this.stage.choose(step);
  }

  /** What the page knows by itself, at once. */
  drawHead() {
    const { stage, step } = this;
    const mark = stage.markAt(step);
    const look = stage.lookOf(step);
    const isRunning = mark.key === "running" || mark.key === "permission";
    const sign = isRunning ? stage.signOf(step) : null;
    const shown = `${mark.key}|${stage.scene.ids[step]}`;
    if (this.headShown !== shown) {
      this.headShown = shown;
      refill(this.title, icon(mark, 16), h("span", { class: "pixirnb-grow" }, stage.scene.ids[step]), h("span", { class: `pixirnb-${mark.tone}` }, mark.word));
    }
    const limit = this.answer?.max_attempts > 1 ? ` of ${this.answer.max_attempts}` : "";
    const phase = this.answer?.phase && stage.scene.phases.length ? `phase ${this.answer.phase}` : "";
    const span = isRunning ? clockOf(stage.moment - stage.story.beganAt(look)) : spanOf(look.elapsed);
    const quiet = sign?.[2] ? `stalled ${clockOf(stage.moment - sign[5])}` : "";
    const tries = look.attempt > 0 ? `attempt ${look.attempt}${look.attempt > 1 ? "" : limit}` : "";
    say(this.facts, [stage.scene.kinds[step], phase, tries, span, quiet, sign?.[4]].filter(Boolean).join(" · "));
    this.facts.classList.toggle("pixirnb-late", Boolean(quiet));
    const fraction = sign?.[3] ?? null;
    this.progress.hidden = fraction === null;
    if (fraction !== null) this.progress.firstChild.style.width = `${Math.max(0, Math.min(1, fraction)) * 100}%`;
  }

  // --- the kernel ---

  /** Ask again, soon: something about the step changed. */
  wake(wait = Math.max(0, (this.askedAt ?? -AGAIN_MS) + AGAIN_MS - performance.now())) {
    if (this.timer && wait === 0) clearTimeout(this.timer);
    else if (this.timer && wait === DRAG_MS) clearTimeout(this.timer);
    else if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.inquire();
    }, wait);
  }

  get moment() {
    return this.stage.isPast ? this.stage.story.seqAt(this.stage.at) : null;
  }

  async inquire() {
    const { stage, step, moment } = this;
    if (step < 0) return;
    const key = `${step}|${moment}`;
    if (this.asked?.key === key) {
      this.asked.isStale = true; // one is on its way; when it is there, the next goes out
      return;
    }
    const asked = { key, isStale: false };
    this.asked = asked;
    this.askedAt = performance.now();
    const slow = setTimeout(() => {
      if (this.asked === asked) this.tell("The kernel is busy. This fills in when it answers.");
    }, SLOW_MS);
    const message = await stage.ask({ ask: "step", step: stage.scene.ids[step], at: moment });
    clearTimeout(slow);
    if (this.asked !== asked) return; // another step or moment was asked about meanwhile
    this.asked = null;
    if (!message.ok) {
      this.fail(message.error);
      return;
    }
    this.note.hidden = true;
    this.take(message.answer);
    if (asked.isStale) this.wake();
  }

  tell(words, again = false) {
    if (!this.note.hidden && this.told === words) return; // its button may have the focus
    this.note.hidden = false;
    this.told = words;
    fill(this.note, h("span", {}, words), again ? button("Ask again", () => this.wake(0)) : null);
  }

  fail(error) {
    const isSilent = error.code === "kernel_silent";
    this.tell(`${error.message} ${error.fix}`, true);
    if (this.stage.wasRunning) {
      this.then.hidden = false;
      say(this.then, "As it was when the kernel last told of it.");
      this.deeds.hidden = true; // nobody is there to do them
    }
    if (isSilent) this.wake(2000); // it may be back
  }

  take(answer) {
    this.answer = answer;
    this.inner.classList.remove("pixirnb-unknown");
    this.drawHead();
    this.then.hidden = !answer.is_past;
    say(this.then, answer.is_past ? `As it was at event ${answer.seq.toLocaleString("en-US")}.` : "");
    this.permission.draw(answer);
    this.question.draw(answer);
    this.clash.draw(answer, this.moment);
    this.changes.draw(answer, this.moment);
    this.drawDeeds(answer);
    this.conversation.draw(answer, this.moment);
    this.drawOutput(answer);
    this.drawValue(answer);
    for (const part of this.parts) if (part.root) this.drawPart(part, answer);
  }

  drawPart(part, answer) {
    const picked = part.section.pick(answer);
    const shown = JSON.stringify([answer.step, picked, part.section.name === "Attempts" ? this.seen : null]);
    if (shown === part.shown) return;
    part.shown = shown;
    part.root.hidden = !picked;
    const title = part.section.titled ? h("h4", {}, part.section.name) : null;
    if (picked) refill(part.root, title, part.section.make(picked, this));
  }

  /** A part that folds; how it stands is kept while the page is open. */
  fold(name, words, open, ...body) {
    const folds = (this.stage.folds ??= new Map());
    return fold(words, { open: folds.get(name) ?? open, toggled: (isOpen) => folds.set(name, isOpen) }, body);
  }

  // --- parts with a life of their own ---

  drawDeeds(answer) {
    const { can, wishes, actions, step, error, is_past: isPast } = answer;
    const shown = JSON.stringify([step, can, wishes, actions, error?.copy, isPast]);
    if (shown === this.deedsShown) return;
    this.deedsShown = shown;
    const { stage, view, remark } = this;
    const others = actions.filter(({ action, step: of, cell }) => !(action === "decide_step" && can.decide) && !(action === "rerun_step" && (of ?? step) === step && wishes.rerun) && !(action === "approve_request" && answer.permissions.some(({ wishes: words }) => words)) && cell);
    const made = isPast
      ? []
      : [
          wishes.rerun ? button("Rerun …", () => this.forecast(`Run ${step} again`, { ask: "forecast", from: step }), { title: "First shows what would be reused and what would run" }) : null,
          wishes.cancel ? wishButton(stage, "Cancel step", wishes.cancel, { doing: "Cancelling …", remark, title: "Ends this step; what needs it is held" }) : null,
          error ? cellButton(stage, view, "Copy error into a cell", error.copy, { remark }) : null,
          others.map(({ phrase, cell, wish, forecast }) => {
            if (forecast && wish) return button(`${capital(phrase)} …`, () => this.forecast(capital(phrase), forecast));
            if (wish && wish.do !== "decide") return wishButton(stage, capital(phrase), wish, { doing: "Asking …", remark });
            return cellButton(stage, view, ["Cell: ", proseOf(phrase)], cell, { remark, title: `Puts this into a cell: ${cell}` });
          }),
        ].flat().filter(Boolean);
    this.deeds.hidden = !made.length;
    refill(this.deeds, made);
    if (isPast) fill(this.card);
  }

  forecast(name, ask) {
    new Forecast(this.view, ask, { name, remark: this.remark }).open(this.card);
  }

  seeAttempt(attempt) {
    this.seen = this.seen === attempt ? null : attempt;
    this.drawOutput(this.answer);
    for (const part of this.parts) if (part.section.name === "Attempts") this.drawPart(part, this.answer);
    this.output.root.scrollIntoView({ block: "nearest" });
  }

  drawOutput(answer) {
    const isTold = this.seen === null && !this.conversation.root.hidden; // a conversation holds the same words
    if (!answer.attempts_count || isTold) {
      this.output.clear();
      return;
    }
    const last = answer.attempts[answer.attempts.length - 1];
    const state = `${last.attempt}|${last.status}`;
    this.output.isQuiet = this.seen === null && answer.mark.key === "checkpoint_ready";
    this.output.watch({ step: answer.step, attempt: this.seen, at: this.moment }, this.outputState !== state);
    this.outputState = state;
  }

  drawValue(answer) {
    const { value, is_past: isPast, step } = answer;
    const stored = JSON.stringify([step, value, answer.attempt, isPast]);
    if (stored === this.valueStored) return;
    this.valueStored = stored;
    if (isPrinted(answer)) {
      this.value.hidden = true;
      return;
    }
    const show = button("Show", () => this.loadValue(step, show, stored));
    this.putValue(value, value.can_load && !isPast ? show : null);
  }

  putValue(value, show) {
    this.value.hidden = value.form === "none" || (value.form === "text" && !value.text);
    const kind = kindOf(value);
    refill(
      this.value,
      h("div", { class: "pixirnb-beside" }, h("h4", {}, "Value"), kind ? h("span", { class: "pixirnb-mute" }, kind) : null, h("span", { class: "pixirnb-right" }, show)),
      previewOf(value),
    );
  }

  async loadValue(step, trigger, stored) {
    trigger.disabled = true;
    say(trigger, "Loading …");
    const message = await this.stage.ask({ ask: "value", step, load: true });
    if (stored !== this.valueStored) return;
    if (message.ok) {
      this.putValue(message.answer, null);
      return;
    }
    trigger.disabled = false;
    say(trigger, "Show");
    this.remark.refuse(message.error);
  }

  // --- hands ---

  key(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    this.close();
  }

  leave() {
    clearTimeout(this.timer);
    this.output.clear();
    this.conversation.clear();
    this.step = -1;
    this.asked = null;
  }
}

/** Whether the value is nothing but what was printed or said, and stands above as the output or in the conversation. */
function isPrinted({ kind, value, attempts }) {
  return (kind === "shell" || kind === "agent") && value.form === "text" && Boolean(attempts[attempts.length - 1]?.output?.bytes);
}

/** A phrase as the words of a button. */
function capital(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
