// Bringing changes into the user's files. First what it would come to, then one button; where two sides changed a file in different ways, both are
// shown side by side, and whose version counts is chosen for each.

const SOLVED = ""; // the choice that names no side: as it stands in the user's own files

/** What a merge would do to the user's files. `wish` is the message that does it. */
class MergeOffer extends Offer {
  constructor(view, wish, { remark, spare }) {
    const { do: _, ...asked } = wish;
    super(view, { ask: "merge", ...asked }, { name: wish.undo ? "Take the last merge back" : "Merge into your files", remark, spare });
    this.wish = wish;
  }

  draw(answer) {
    const isClash = answer.status === "conflict";
    const choice = isClash ? new Sides(answer.conflicts, answer.sides) : null;
    const act = answer.status === "nothing" || (isClash && this.wish.undo)
      ? null
      : button(isClash ? "Merge so" : this.wish.undo ? "Take it back" : "Merge", () => this.send(act, choice), { kind: "pixirnb-primary" });
    this.tell(
      act,
      answer.status === "nothing" ? "Close" : "Not now",
      h("p", { role: "status" }, markBadge(this.stage, answer.mark), " ", answer.sentence),
      answer.patch.files.map((file) => diffOf(file)),
      answer.patch.sentence ? h("p", { class: "pixirnb-mute" }, answer.patch.sentence) : null,
      choice?.root,
      isClash && !this.wish.undo ? h("p", { class: "pixirnb-mute" }, "A file that you have put right in your own folder counts as solved. The others need a side.") : null,
    );
  }

  async send(trigger, choice) {
    const sides = choice?.read() ?? null;
    const done = await grant(this.stage, sides ? { ...this.wish, sides } : this.wish, { trigger, doing: "Merging …", remark: this.remark });
    if (!done) return;
    if (done.merge?.status === "conflict") {
      this.draw(done.merge);
      return;
    }
    this.close();
    this.remark.say(done.merge?.sentence ?? done.sentence);
  }
}

/** Files in conflict, each with both sides and the choice whose version counts. */
class Sides {
  constructor(files, sides) {
    this.files = files;
    this.choices = files.map((file) => this.choice(file, sides));
    this.root = h("div", {}, files.map((file, place) => h("div", { class: "pixirnb-clash" }, clashOf(file), this.choices[place].root)));
  }

  choice({ path }, sides) {
    // The name ties the radios together; it says nothing of the run.
    const group = `pixirnb-side-${++Sides.number}`;
    const options = [{ name: SOLVED, words: "my own solution: I have put this file right in my folder" }, ...sides.map(({ name, words }) => ({ name, words: `${name === words ? `that of ${words}` : "my file as it stands"}, without the changes of the other side` }))];
    const radios = options.map((_, place) => h("input", { type: "radio", name: group, checked: place === 0 }));
    const labels = options.map(({ words }, place) => h("label", { class: "pixirnb-choice" }, radios[place], h("span", {}, words)));
    return {
      root: h("fieldset", { class: "pixirnb-choices" }, h("legend", {}, "Whose version of ", h("code", {}, path), " counts"), labels),
      read: () => options[radios.findIndex((radio) => radio.checked)]?.name ?? SOLVED,
    };
  }

  /** `{path: side}` of the files for which a side was chosen; null where there is none. */
  read() {
    const named = this.files.map(({ value }, place) => [value, this.choices[place].read()]).filter(([, side]) => side !== SOLVED);
    return named.length ? Object.fromEntries(named) : null;
  }
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
    this.root = h("section", { class: "pixirnb-part", "aria-label": "Conflict", hidden: true });
    this.shown = "";
  }

  /** From the panel's answer; `moment` is the event it is of, null for now. */
  draw({ step, clash }, moment) {
    const shown = JSON.stringify([step, clash]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.remark.clear();
    this.root.hidden = !clash;
    this.root.classList.toggle("pixirnb-asking", Boolean(clash?.is_open));
    if (!clash) {
      fill(this.root);
      return;
    }
    this.put(step, clash, clash.files);
    this.load(step, clash, moment);
  }

  put(step, clash, files) {
    const choice = clash.is_open ? new Sides(files, clash.sides) : null;
    const note = h("input", { type: "text", class: "pixirnb-field", maxlength: 2000, autocomplete: "off" });
    const accept = button("Try again", () => this.send(clash.wishes.accept, accept, choice, note), { kind: "pixirnb-primary", title: "With your files as they are now, and the sides chosen above" });
    const reject = button("Give it up", () => this.send(clash.wishes.reject, reject, null, note), { title: "The step fails, and the seam stays open" });
    this.pair = [accept, reject];
    refill(
      this.root,
      h("p", { class: "pixirnb-asked" }, markIcon(this.stage, { key: "needs_orchestrator", tone: "ask", symbol: "◆" }), h("b", {}, clash.sentence)),
      choice?.root ?? files.map((file) => h("div", { class: "pixirnb-clash" }, clashOf(file))),
      clash.count > files.length ? h("p", { class: "pixirnb-mute" }, `${plural(clash.count - files.length, "file")} more are not shown.`) : null,
      clash.is_open
        ? h(
            "form",
            { class: "pixirnb-form", "aria-label": `Solve the conflict of ${step}`, on: { submit: (event) => event.preventDefault() } },
            h("label", { class: "pixirnb-label" }, h("span", {}, "Note", h("i", {}, " – for the record")), note),
            h("div", { class: "pixirnb-beside" }, accept, reject),
          )
        : null,
      this.remark.root,
    );
  }

  async load(step, clash, moment) {
    const asked = this.shown;
    const message = await this.stage.ask({ ask: "conflict", step, at: moment });
    if (asked !== this.shown || !message.ok) return; // the files are named all the same
    if (message.answer.files.some(({ pieces }) => pieces.length)) this.put(step, clash, message.answer.files);
  }

  async send(wish, trigger, choice, note) {
    const value = choice?.read();
    const words = note.value.trim();
    for (const each of this.pair) each.disabled = true;
    const said = { ...wish, ...(value ? { value } : {}), ...(words ? { note: words } : {}) };
    const answer = await grant(this.stage, said, { trigger, doing: "Saying it …", remark: this.remark });
    if (answer) this.panel.wake();
    else for (const each of this.pair) each.disabled = false;
  }
}
