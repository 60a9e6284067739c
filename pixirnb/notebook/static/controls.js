// The head: how the run stands, what can be done with it, and which picture is shown. Everything stands where it stood; only what
// changed is touched.

const COPIED_MS = 1400;

class Controls {
  constructor(view) {
    this.view = view;
    this.stage = view.stage;
    this.remark = new Remark();
    this.tally = new Tally(this.stage, (key) => view.graph.highlight(key));
    this.finder = new Finder(view);
    this.status = h("span", { class: "pixirnb-status" });
    this.flow = h("span", { class: "pixirnb-flow" });
    this.id = button("", () => this.copyId(), { kind: "pixirnb-id" });
    this.elapsed = h("span", { class: "pixirnb-mute pixirnb-nowrap pixirnb-elapsed" });
    this.acts = h("div", { class: "pixirnb-acts", role: "group", "aria-label": "The run" });
    this.top = h("div", { class: "pixirnb-top" }, this.status, this.flow, this.id, this.elapsed, this.acts);
    this.sentence = h("p", { class: "pixirnb-sentence", role: "status", "aria-live": "polite", hidden: true });
    this.card = h("div", { class: "pixirnb-card-room" });
    this.more = h("div", { class: "pixirnb-more" });
    this.tools = this.makeTools();
    this.root = h("header", { class: "pixirnb-controls" }, this.top, this.sentence, this.tally.bar, this.tally.chips, this.remark.root, this.card, this.more, this.tools);
  }

  draw({ has, touched }) {
    const { stage } = this;
    this.drawTop();
    this.tally.draw({ has, touched });
    if (has("reset", "head", "position")) {
      const words = stage.isPast || stage.isLive ? "" : stage.sentence;
      say(this.sentence, words);
      this.sentence.hidden = !words;
      if (words && !stage.isPast) this.remark.outlive();
      this.drawActs();
      this.drawMore();
    }
    const fresh = stage.story.entries.slice(this.known ?? stage.story.length);
    this.known = stage.story.length;
    if (has("reset", "head") || tellsOfFiles(stage, fresh)) this.inquire();
    if (has("reset", "sheet", "tab")) this.drawTools();
  }

  drawTop() {
    const { stage } = this;
    const mark = stage.statusMark;
    const shown = `${mark.key}|${stage.scene.workflow}|${stage.scene.run_id}`;
    if (shown !== this.topShown) {
      this.topShown = shown;
      this.status.className = `pixirnb-status pixirnb-${mark.tone}`;
      fill(this.status, icon(mark, 18), mark.word);
      say(this.flow, stage.scene.workflow);
      say(this.id, stage.scene.run_id);
      this.id.title = "Copy the id of the run";
    }
    // A run that rested between two courses was not at work meanwhile.
    const worked = () => clockOf(chronicleOf(stage).courses.told(stage.moment));
    const span = stage.isLive || stage.isPast || stage.wasRunning ? worked() : spanOf(stage.head.elapsed_ms);
    say(this.elapsed, stage.head.live === "elsewhere" && !stage.isPast && !stage.isCut ? `${span} · driven by another process` : span);
  }

  async copyId() {
    const { run_id: id } = this.stage.scene;
    const isCopied = await copied(id);
    say(this.id, isCopied ? "copied" : id);
    setTimeout(() => say(this.id, id), COPIED_MS);
  }

  // --- what can be done ---

  /** What the kernel says of the run; until it answers, the head that came with the widget has to do. */
  async inquire() {
    const asked = (this.asked = {});
    const message = await this.stage.ask({ ask: "run", at: null });
    if (this.asked !== asked || !message.ok) return;
    this.answer = message.answer;
    this.drawActs();
    this.drawMore();
  }

  get can() {
    const { isLive, wasRunning } = this.stage;
    if (wasRunning) return {};
    const isKnown = this.answer && Boolean(this.answer.live) === isLive;
    return isKnown ? this.answer.can : { cancel: isLive, drain: isLive, checkpoint: true, resume: !isLive };
  }

  drawActs() {
    const { stage, can, remark } = this;
    const shown = JSON.stringify([can, stage.isPast, stage.scene.run_id]);
    if (shown === this.actsShown) return;
    this.actsShown = shown;
    this.acts.hidden = stage.isPast;
    refill(this.acts, [
      can.cancel ? wishButton(stage, "Cancel", { do: "cancel" }, { doing: "Cancelling …", remark, title: "Ends what runs, and the run. It can be resumed." }) : null,
      can.drain ? wishButton(stage, "Finish what runs", { do: "drain" }, { doing: "Finishing …", remark, title: "Lets the steps that run come to their end, and starts no more", done: () => remark.pass("Nothing more is started. The run ends with what runs now.") }) : null,
      can.resume ? button("Resume …", () => this.forecast("Resume the run", { ask: "forecast" }), { title: "First shows what would be reused and what would run" }) : null,
      can.checkpoint ? button("Checkpoint …", () => this.nameCheckpoint(), { title: "Names this place, so that a run can begin from it later" }) : null,
    ]);
    if (stage.isPast) fill(this.card);
  }

  /** What a card needs to know: an act is drawn anew while its card stands, so the focus may find another button there. */
  get around() {
    return { remark: this.remark, spare: () => this.acts.querySelector("button") };
  }

  forecast(name, ask) {
    new Forecast(this.view, ask, { name, ...this.around }).open(this.card);
  }

  nameCheckpoint() {
    const name = h("input", { type: "text", class: "pixirnb-field", maxlength: 64, spellcheck: "false", autocomplete: "off" });
    const note = h("input", { type: "text", class: "pixirnb-field", maxlength: 2000, autocomplete: "off" });
    const save = h("button", { type: "submit", class: "pixirnb-button pixirnb-primary" }, "Save");
    const submit = async (event) => {
      event.preventDefault();
      if (!name.value.trim()) {
        name.focus();
        return;
      }
      const wish = { do: "checkpoint", name: name.value.trim(), ...(note.value.trim() ? { note: note.value.trim() } : {}) };
      const answer = await grant(this.stage, wish, { trigger: save, doing: "Saving …", remark: this.remark });
      if (!answer) return;
      this.remark.say("The checkpoint ", h("b", {}, wish.name), " is saved.");
      card.close();
      this.inquire();
    };
    const form = h(
      "form",
      { class: "pixirnb-forecast pixirnb-form", "aria-label": "Save a checkpoint", on: { submit } },
      h("h4", {}, "Save a checkpoint"),
      h("label", { class: "pixirnb-label" }, h("span", {}, "Name"), name),
      h("label", { class: "pixirnb-label" }, h("span", {}, "Note", h("i", {}, " – for the record")), note),
      h("div", { class: "pixirnb-beside" }, save, button("Not now", () => card.close())),
    );
    const card = new Card(form, this.around);
    card.open(this.card, name);
  }

  // --- what else there is to say ---

  drawMore() {
    const { stage, answer } = this;
    const isNow = !stage.isPast;
    const isResting = isNow && !stage.isLive && !stage.wasRunning;
    const reasons = isResting ? (answer?.reasons ?? stage.head.reasons) : [];
    const warnings = isNow ? (answer?.warnings ?? stage.head.warnings) : [];
    const actions = isResting ? (answer?.actions ?? stage.head.actions) : [];
    const checkpoints = isNow ? (answer?.checkpoints ?? []) : [];
    const seams = isNow ? (answer?.seams ?? []) : [];
    const merges = isNow ? (answer?.merges ?? []) : [];
    const shown = JSON.stringify([reasons, warnings, actions, checkpoints, seams, merges]);
    if (shown === this.moreShown) return;
    this.moreShown = shown;
    const merged = JSON.stringify(merges);
    if (merged !== this.merged) this.offer?.again();
    this.merged = merged;
    refill(this.more, [
      reasons.length ? this.fold("reasons", `Why it is not completed (${reasons.length})`, h("ul", {}, reasons.map((each) => h("li", {}, proseOf(each))))) : null,
      seams.length ? this.fold("seams", seamsTitle(seams), seamsOf(seams, stage, { remark: this.remark, choose: (name) => stage.choose(stage.place.get(name)), wake: () => this.inquire() })) : null,
      merges.length ? this.fold("merges", plural(merges.length, "merge"), mergesOf(merges, (wish) => this.merge(wish))) : null,
      warnings.length ? this.fold("warnings", plural(warnings.length, "warning"), h("ul", {}, warnings.map((each) => h("li", {}, this.warning(each))))) : null,
      actions.length ? this.fold("next", `What can be done (${actions.length})`, h("ul", { class: "pixirnb-next" }, actions.map((each) => this.action(each)))) : null,
      checkpoints.length ? this.fold("checkpoints", plural(checkpoints.length, "checkpoint"), h("ul", { class: "pixirnb-next" }, checkpoints.map((each) => this.checkpoint(each)))) : null,
    ]);
  }

  fold(name, words, body) {
    const folds = (this.stage.folds ??= new Map());
    return fold(words, { open: folds.get(`run ${name}`) ?? false, toggled: (isOpen) => folds.set(`run ${name}`, isOpen) }, body);
  }

  merge(wish) {
    this.offer = new MergeOffer(this.view, wish, this.around);
    this.offer.open(this.card);
  }

  warning({ text, step }) {
    const place = this.stage.place.get(step);
    if (place === undefined) return proseOf(text);
    const link = button(step, () => this.stage.choose(place), { kind: "pixirnb-slight", title: "Show this step" });
    return [link, " ", proseOf(text)];
  }

  action({ action, step, phrase, cell, wish, forecast }) {
    const { stage, view, remark } = this;
    const place = stage.place.get(step);
    const doIt = forecast
      ? button("Show what it would do …", () => this.forecast(capital(phrase), forecast))
      : (action === "decide_step" || action === "approve_request") && place !== undefined
        ? button(action === "decide_step" ? "Decide …" : "See what it asks …", () => stage.choose(place))
        : wish?.do === "merge"
          ? button("Merge …", () => this.merge(wish), { title: "First shows what would be done to your files" })
          : action === "resolve_seam" && place !== undefined
          ? button("Show the seam …", () => stage.choose(place))
          : wish && wish.do !== "decide"
          ? wishButton(stage, "Do it", wish, { doing: "Asking …", remark })
          : null;
    return h("li", {}, h("span", { class: "pixirnb-grow" }, proseOf(capital(phrase)), " ", cell ? h("code", {}, cell) : null), doIt, cell ? cellButton(stage, view, "Put into a cell", cell, { remark }) : null);
  }

  checkpoint({ name, at, reason, note, ready, forecast }) {
    const facts = [plural(ready, "step") + " ready", reason.replaceAll("_", " "), momentOf(at)].filter(Boolean).join(" · ");
    return h(
      "li",
      {},
      h("span", { class: "pixirnb-grow" }, h("b", {}, name), " ", h("span", { class: "pixirnb-mute" }, facts), note ? h("div", {}, note) : null),
      forecast ? button("Start from here …", () => this.forecast(`Start a new run from ${name}`, forecast)) : null,
    );
  }

  // --- which picture ---

  makeTools() {
    const { stage, view } = this;
    const tab = (name, words) => button(words, () => stage.show(name), { pressed: false, kind: "pixirnb-tab" });
    const small = (words, click, name) => {
      const made = button(words, click, { title: name, kind: "pixirnb-square" });
      made.setAttribute("aria-label", name);
      return made;
    };
    this.tabs = { graph: tab("graph", "Graph"), timeline: tab("timeline", "Timeline") };
    this.conflicts = button("", () => this.showConflicts(), { pressed: false, title: "Show which steps cannot run at the same time, and who waits for whom" });
    this.whole = button("Unfold", () => stage.unfold(stage.sheet ? 0 : 1), { pressed: false, title: "Show every step of the wide waves" });
    this.graphTools = h(
      "span",
      { class: "pixirnb-tools pixirnb-grow" },
      h(
        "span",
        { class: "pixirnb-joined" },
        small("−", () => view.graph.camera.zoom(0.8), "Zoom out"),
        small("+", () => view.graph.camera.zoom(1.25), "Zoom in"),
        button("Fit", () => view.graph.camera.fit(), { title: "Show the whole graph" }),
      ),
      this.conflicts,
      this.whole,
      this.finder.root,
    );
    return h("div", { class: "pixirnb-tools", role: "toolbar", "aria-label": "View" }, h("span", { class: "pixirnb-joined" }, this.tabs.graph, this.tabs.timeline), this.graphTools);
  }

  drawTools() {
    const { stage, view } = this;
    for (const [name, made] of Object.entries(this.tabs)) made.setAttribute("aria-pressed", String(stage.tab === name));
    this.graphTools.hidden = stage.tab !== "graph";
    const count = stage.scene.conflict_count;
    this.conflicts.hidden = !count;
    say(this.conflicts, `Kept apart ${count.toLocaleString("en-US")}`);
    this.conflicts.setAttribute("aria-pressed", String(view.graph.withConflicts));
    this.whole.hidden = stage.scene.sheets.length < 2;
    this.whole.setAttribute("aria-pressed", String(stage.sheet > 0));
  }

  showConflicts() {
    const { graph } = this.view;
    graph.withConflicts = !graph.withConflicts;
    graph.drawConflicts();
    this.drawTools();
  }
}

function seamsTitle(seams) {
  const open = seams.filter(({ is_open: isOpen }) => isOpen).length;
  return open ? `${plural(seams.length, "seam")}, ${open.toLocaleString("en-US")} open` : plural(seams.length, "seam");
}
