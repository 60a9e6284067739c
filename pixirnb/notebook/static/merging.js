// Bringing changes into the user's files. First what it would come to, then one button; where two sides changed a file in different ways, both are
// shown side by side, and whose version counts is chosen for each.

const MINE = "workspace"; // the side that is the user's own files
const ENDED = new Set(["checkpoint_ready", "failed", "held"]); // marks of a step whose conflict is over

/** What a merge would do to the user's files. `wish` is the message that does it. */
class MergeOffer extends Offer {
  constructor(view, wish, { remark, spare }) {
    const { do: _, ...asked } = wish;
    super(view, { ask: "merge", ...asked }, { name: wish.undo ? "Take the last merge back" : "Merge into your files", remark, spare });
    this.wish = wish;
    this.recorded = new Set(); // a look is told nowhere: once it was wanted, the log has how these files were
    this.isSent = false;
  }

  /** Ask anew, where it is still open: what it was told of may be out of date. */
  again() {
    if (this.root.isConnected && !this.isSent) this.ask();
  }

  draw(answer, remarks = null) {
    const { undo } = this.wish;
    const isClash = answer.status === "conflict";
    const choice = (this.choice = isClash && !undo ? new Sides(answer.conflicts, answer.sides, this.choice?.chosen()) : null);
    const words = undo ? "Take it back" : isClash ? "Merge so" : "Merge";
    const act = answer.status === "nothing" ? null : button(words, () => this.send(act), { kind: "pixirnb-primary" });
    const said = [
      h("p", { role: "status" }, markBadge(this.stage, answer.mark), " · ", answer.sentence),
      choice?.root,
      isClash ? h("p", { role: remarks ? "status" : null }, remarks ?? this.advice()) : null,
    ];
    const details = [
      choice ? null : answer.conflicts.map((file) => h("div", { class: "pixirnb-clash" }, clashOf(file))),
      answer.patch.files.map((file) => diffOf(file)),
      answer.patch.sentence ? h("p", { class: "pixirnb-mute" }, answer.patch.sentence) : null,
    ];
    this.tell(act, act ? "Not now" : "Close", { said, details, first: isClash && !remarks ? this.root : act });
  }

  /** What to do about a conflict that was looked at. */
  advice() {
    return this.wish.undo
      ? "These files were changed since they were merged. “Take it back” has the conflict recorded; then put them right in your own folder, and take it back once more. A file that you have edited since then stays as you left it."
      : null;
  }

  /** The same of one that was met: nothing was done, since these files are not solved. */
  unsolved(files) {
    const others = files.length === 1 ? "it" : "them";
    const edit = [" Edit ", others, " in your own folder"];
    const what = this.wish.undo ? ", then take it back." : ", or choose a side, and merge again.";
    const known = files.filter(({ path }) => this.recorded.has(path));
    if (known.length) return [...unchanged(known), ...edit, what];
    return ["The conflict is recorded; nothing was changed. From now on a file that you edit counts as solved: ", namesOf(files.map(({ path }) => path), 4), ".", ...edit, what];
  }

  async send(trigger) {
    const sides = this.choice?.read() ?? null;
    this.isSent = true;
    const done = await grant(this.stage, sides ? { ...this.wish, sides } : this.wish, { trigger, doing: this.wish.undo ? "Taking it back …" : "Merging …", remark: this.remark });
    this.isSent = false;
    if (!done) return;
    if (done.merge?.status === "conflict") {
      this.draw(done.merge, this.unsolved(done.merge.conflicts));
      this.recorded = new Set(done.merge.conflicts.map(({ path }) => path));
      return;
    }
    this.remark.say(done.merge?.sentence ?? done.sentence);
    this.close();
  }
}

/** Files that a person was to solve and that nobody has touched. */
function unchanged(files) {
  const are = files.length === 1 ? "is as it was" : "are as they were";
  return [namesOf(files.map(({ path }) => path), 4), ` ${are} when this was asked.`];
}

/** Files in conflict, each with both sides and the choice whose version counts. Nothing is chosen beforehand. */
class Sides {
  /** `chosen`: sides by path that were chosen before. */
  constructor(files, sides, chosen = {}) {
    this.files = files;
    this.choices = files.map((file) => this.choice(file, sides, chosen[file.value]));
    this.root = h(
      "div",
      {},
      h("p", { class: "pixirnb-mute" }, "To solve a file yourself, edit it in your own folder, then choose your file."),
      files.map((file, place) => h("div", { class: "pixirnb-clash" }, clashOf(file), this.choices[place].root)),
    );
  }

  choice(file, sides, chosen) {
    // The name ties the radios together; it says nothing of the run.
    const group = `pixirnb-side-${++Sides.number}`;
    const met = file.sides.length ? file.sides : sides;
    const options = [...sides.filter(({ name }) => name === MINE), ...met.filter(({ name }) => name !== MINE)];
    const radios = options.map(({ name }) => h("input", { type: "radio", name: group, checked: name === chosen }));
    const labels = options.map((side, place) => h("label", { class: "pixirnb-choice" }, radios[place], h("span", {}, sideWords(side, met))));
    return {
      root: h("fieldset", { class: "pixirnb-choices pixirnb-sides" }, h("legend", {}, "Whose version of ", h("code", {}, file.path), " counts"), labels),
      read: () => options[radios.findIndex((radio) => radio.checked)]?.name ?? null,
    };
  }

  /** `{path: side}` of the files for which a side was chosen. */
  chosen() {
    return Object.fromEntries(this.files.map(({ value }, place) => [value, this.choices[place].read()]).filter(([, side]) => side !== null));
  }

  /** The same; null where there is none. */
  read() {
    const named = this.chosen();
    return Object.keys(named).length ? named : null;
  }
}

/** A side as a choice says it, and what it leaves out; `met` are the sides that clash. */
function sideWords({ name, words }, met) {
  const others = met.filter((each) => each.name !== name).map((each) => (each.name === MINE ? "your own" : `that of ${each.words}`));
  const without = others.length ? `, and not ${others.join(", nor ")}` : "";
  return name === MINE ? `your file as it stands now${without}` : `that of ${words}${without}`;
}

Sides.number = 0;

/** One file in conflict: why, and both sides beside each other, or one above the other where it is narrow. */
function clashOf({ path, words, sides, pieces, cut }) {
  const names = sides.map(({ words: name }) => name);
  const columns = [["ours", names[0] ?? "one side"], ["theirs", names[names.length - 1] ?? "the other"]];
  return [
    h("p", {}, h("code", {}, path), " ", h("span", { class: "pixirnb-mute" }, `${words}.`)),
    pieces.length
      ? h("div", { class: "pixirnb-pair" }, columns.map(([key, name]) => h("div", {}, h("h4", {}, name), block(pieces.map((piece) => pieceOf(piece, key)), `${path} as ${name} has it`, "pixirnb-diff"))))
      : null,
    cut ? h("p", { class: "pixirnb-mute" }, "The rest is not shown.") : null,
  ];
}

function pieceOf(piece, key) {
  if (piece.both) return h("span", { class: "pixirnb-line-remark" }, piece.both.map((row) => `${row}\n`).join(""));
  const rows = piece[key];
  return h("span", { class: "pixirnb-line-clash" }, rows.length ? rows.map((row) => `${row}\n`).join("") : "(nothing)\n");
}

/** A conflict that holds a step up: both sides of its files, and the words that let it go on. */
class Clash {
  constructor(panel) {
    this.panel = panel;
    this.stage = panel.stage;
    this.remark = new Remark();
    this.root = h("section", { class: "pixirnb-part", "aria-label": "Conflict", hidden: true, on: { input: () => this.keep() } });
    this.shown = "";
  }

  /** From the panel's answer; `moment` is the event it is of, null for now. */
  draw({ step, clash, attempt, mark }, moment) {
    const shown = JSON.stringify([step, clash, attempt, clash ? null : mark.key]);
    if (shown === this.shown) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.shown = shown;
    this.step = step;
    this.attempt = attempt;
    this.remark.clear();
    this.root.hidden = !clash;
    this.root.classList.toggle("pixirnb-asking", Boolean(clash?.is_open));
    if (!clash) {
      this.choice = null;
      fill(this.root);
      if (ENDED.has(mark.key)) this.drafts.delete(step);
      if (hadFocus) this.panel.root.focus({ preventScroll: true });
      return;
    }
    this.put(clash, clash.files);
    this.load(step, clash, moment);
  }

  /** What was typed and chosen, by step: it is kept while the step is tried again, and where an output is drawn anew. */
  get drafts() {
    return (this.stage.clashes ??= new Map());
  }

  keep() {
    if (this.choice) this.drafts.set(this.step, { ...this.drafts.get(this.step), sides: this.choice.chosen(), note: this.note.value });
  }

  put(clash, files) {
    const draft = clash.is_open ? this.drafts.get(this.step) : null;
    const choice = (this.choice = clash.is_open ? new Sides(files, clash.sides, draft?.sides) : null);
    const note = (this.note = h("input", { type: "text", class: "pixirnb-field", maxlength: 2000, autocomplete: "off" }));
    note.value = draft?.note ?? "";
    const accept = button("Try again", () => this.send(clash.wishes.accept, accept), { kind: "pixirnb-primary", title: "With your files as they are now, and the sides chosen above" });
    const reject = button("Give it up", () => this.send(clash.wishes.reject, reject), { title: "The step fails, and the seam stays open" });
    this.pair = [accept, reject];
    const known = draft?.tried && this.attempt > draft.attempt ? files.filter(({ path }) => draft.tried.includes(path)) : [];
    refill(
      this.root,
      h("p", { class: "pixirnb-asked" }, markIcon(this.stage, { key: "needs_orchestrator", tone: "ask", symbol: "◆" }), h("b", {}, clash.sentence)),
      choice?.root ?? files.map((file) => h("div", { class: "pixirnb-clash" }, clashOf(file))),
      clash.count > files.length ? h("p", { class: "pixirnb-mute" }, `${plural(clash.count - files.length, "file")} more are not shown.`) : null,
      clash.is_open
        ? h(
            "form",
            { class: "pixirnb-form", "aria-label": `Solve the conflict of ${this.step}`, on: { submit: (event) => event.preventDefault() } },
            known.length ? h("p", { role: "status" }, unchanged(known), ` Edit ${known.length === 1 ? "it" : "them"} in your own folder, or choose a side, and try again.`) : null,
            h("label", { class: "pixirnb-label" }, h("span", {}, "Note", h("i", {}, " – for the record")), note),
            h("div", { class: "pixirnb-beside" }, accept, reject),
          )
        : null,
      this.remark.root,
    );
    const isHere = document.activeElement === this.panel.root || this.root.contains(document.activeElement);
    if (!clash.is_open || !this.isAwaited) return;
    this.isAwaited = false;
    if (isHere) accept.focus(); // who pressed the button goes on there
  }

  async load(step, clash, moment) {
    const asked = this.shown;
    const message = await this.stage.ask({ ask: "conflict", step, at: moment });
    if (asked !== this.shown || !message.ok) return; // the files are named all the same
    if (message.answer.files.some(({ pieces }) => pieces.length)) this.put(clash, message.answer.files);
  }

  async send(wish, trigger) {
    const isAccepted = wish.verdict === "accept";
    const value = isAccepted ? this.choice.read() : null;
    const words = this.note.value.trim();
    const said = { ...wish, ...(value ? { value } : {}), ...(words ? { note: words } : {}) };
    // Before it is said: the step may have met the same conflict again before the answer is here.
    if (isAccepted) this.drafts.set(this.step, { ...this.drafts.get(this.step), attempt: this.attempt, tried: this.choice.files.map(({ path }) => path) });
    this.isAwaited = isAccepted;
    const answer = await grant(this.stage, said, { trigger, doing: "Saying it …", remark: this.remark, others: this.pair });
    if (answer) this.panel.wake();
    else this.isAwaited = false;
  }
}
