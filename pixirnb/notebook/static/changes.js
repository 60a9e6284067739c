// What a step changed apart from the user's files: a line for each file, its diff behind it, and whether it is merged. The patch is
// asked for when somebody opens a file. Names and contents of files are data: they go in as text.

const SIGNS = { both: " ", added: "+", deleted: "-", remark: "\\" };
const FILE_SIGNS = { added: "A", deleted: "D", modified: "M" };
const SIGN_WORDS = { A: "added", D: "deleted", M: "changed" };

class Changes {
  constructor(panel) {
    this.panel = panel;
    this.stage = panel.stage;
    this.remark = new Remark();
    this.card = h("div", { class: "pixirnb-card-room" });
    this.head = h("div", {});
    this.body = h("div", {});
    this.root = h("section", { class: "pixirnb-part", "aria-label": "Changes", hidden: true }, this.head, this.card, this.remark.root, this.body);
    this.shown = "";
  }

  /** From the panel's answer; `moment` is the event it is of, null for now. */
  draw({ step, files, attempt }, moment) {
    const shown = JSON.stringify([step, files, attempt]);
    if (shown === this.shown) return;
    if (step !== this.step) {
      this.remark.clear();
      fill(this.card);
    } else {
      this.offer?.again();
    }
    this.shown = shown;
    this.step = step;
    this.moment = moment;
    this.patch = null;
    this.bodies = new Map();
    this.root.hidden = !files;
    if (!files) {
      fill(this.head);
      fill(this.body);
      return;
    }
    refill(this.head, h("div", { class: "pixirnb-beside" }, h("h4", {}, "Changes"), h("span", {}, files.phrase), h("span", { class: "pixirnb-right pixirnb-beside" }, this.deeds(files.wishes))));
    refill(
      this.body,
      files.sentence ? h("p", { class: "pixirnb-mute" }, files.sentence) : null,
      files.outside ? h("p", {}, h("b", { class: "pixirnb-ask" }, "Outside its write_set: "), namesOf(files.outside.paths, 20, files.outside.count)) : null,
      files.files.length ? h("ul", { class: "pixirnb-changes" }, files.files.map((file) => h("li", {}, this.file(file, files.has_patch)))) : null,
      files.count > files.files.length ? h("p", { class: "pixirnb-mute" }, `${plural(files.count - files.files.length, "file")} more are not listed.`) : null,
      files.built_on.length ? h("p", { class: "pixirnb-mute" }, "It began with the changes of ", namesOf(files.built_on, 20), ".") : null,
      files.left_behind ? h("p", { class: "pixirnb-mute" }, "Changed and left behind, since ignored files and secrets go nowhere: ", namesOf(files.left_behind.paths, 20, files.left_behind.count)) : null,
    );
  }

  deeds({ merge, undo }) {
    const open = (words, wish) => button(words, () => this.look(wish), { title: "First shows what would be done to your files" });
    return [merge ? open("Merge …", merge) : null, undo ? open("Undo the merge …", undo) : null];
  }

  look(wish) {
    // What opened the card may be gone when it closes: another button may stand there, or none.
    const spare = () => this.head.querySelector("button") ?? this.remark.root.querySelector("button") ?? this.panel.root;
    this.offer = new MergeOffer(this.panel.view, wish, { remark: this.remark, spare });
    this.offer.open(this.card);
  }

  file(file, hasPatch) {
    const head = fileHead(FILE_SIGNS[file.change] ?? "?", file);
    if (!hasPatch) return bare(head);
    const body = h("div", {});
    this.bodies.set(file.path, body);
    const element = fold(head, { kind: "pixirnb-file" }, body);
    element.addEventListener("toggle", () => element.open && this.load(file.path));
    return element;
  }

  async load(path) {
    const body = this.bodies.get(path);
    if (!body || body.firstChild) return;
    fill(body, h("p", { class: "pixirnb-mute" }, "Reading …"));
    const asked = this.shown;
    this.patch ??= this.stage.ask({ ask: "changes", step: this.step, at: this.moment });
    const message = await this.patch;
    if (asked !== this.shown) return; // another step, or it changed meanwhile
    if (!message.ok) {
      this.patch = null;
      fill(body);
      this.remark.refuse(message.error);
      return;
    }
    const found = message.answer.files.filter((file) => file.path === path);
    const told = found.flatMap((file) => (file.hunks.length ? hunksOf(file) : [h("p", { class: "pixirnb-mute" }, file.note || "No lines of text changed.")]));
    refill(body, told.length ? told : h("p", { class: "pixirnb-mute" }, "Not among what is shown."), message.answer.sentence ? h("p", { class: "pixirnb-mute" }, message.answer.sentence) : null);
  }
}

const TONE_OF_SIGN = { A: "ready", D: "bad", M: "half" };

/** What stands on the line of a file: what became of it, its name, how many lines. */
function fileHead(sign, { path, added, deleted, mode }) {
  const word = SIGN_WORDS[sign] ?? "changed";
  const isText = added !== null || deleted !== null;
  return [
    h("b", { class: `pixirnb-sign pixirnb-${TONE_OF_SIGN[sign] ?? "half"}`, title: word }, sign, h("span", { class: "pixirnb-hidden" }, ` ${word}: `)),
    h("code", { class: "pixirnb-path" }, path),
    h("span", { class: "pixirnb-mute pixirnb-nowrap" }, isText ? `+${(added ?? 0).toLocaleString("en-US")} -${(deleted ?? 0).toLocaleString("en-US")}` : "not text"),
    mode ? h("span", { class: "pixirnb-mute" }, mode) : null,
  ];
}

/** The line of a file that has no diff to open; it begins where the others do. */
function bare(head) {
  return h("div", { class: "pixirnb-bare" }, head);
}

/** A file of a patch that is known already, its diff folded. */
function diffOf(file) {
  const head = fileHead(file.sign, { ...file, mode: file.added === null ? "" : file.note });
  return file.hunks.length ? fold(head, { kind: "pixirnb-file" }, hunksOf(file)) : bare(head);
}

/** The hunks of a file, one block that scrolls by itself. */
function hunksOf({ path, hunks }) {
  const rows = hunks.flatMap(({ head, lines }) => [
    h("span", { class: "pixirnb-hunk" }, `── ${head} ──\n`),
    lines.map(([kind, words]) => h("span", { class: `pixirnb-line-${SIGNS[kind] ? kind : "both"}` }, `${SIGNS[kind] ?? " "}${words}\n`)),
  ]);
  return [block(rows, `Diff of ${path}`, "pixirnb-diff")];
}
