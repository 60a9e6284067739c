import { outline } from "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { Conflict } from "../../pixirnb/notebook/static/files/conflict.js";
import { conflictNodes, ConflictSides } from "../../pixirnb/notebook/static/files/conflict_sides.js";
import { FileChoice } from "../../pixirnb/notebook/static/files/file_choice.js";
import { VOCABULARY } from "./tapes.mjs";

const MARKUP = "<img src=x onerror=alert(1)>";
const SIDES = [{ name: "workspace", words: "your files" }, { name: "cook", words: "cook" }];
const FILE = { path: "f", value: "f", words: "both changed it", sides: SIDES, cut: 0, of: "b2:1", pieces: [{ both: ["top"] }, { ours: [MARKUP], theirs: [] }, { both: ["mid"] }, { ours: ["a"], theirs: ["b"] }] };

const all = (node) => [node, ...node.childNodes.flatMap(all)];
const buttonsOf = (root) => all(root).filter(({ localName }) => localName === "button");
const press = (root, text, place = 0) => buttonsOf(root).filter(({ textContent }) => textContent === text)[place].fire("click");
const pressed = (root) => buttonsOf(root).filter((each) => each.getAttribute("aria-pressed") === "true").map(({ textContent }) => textContent);

test("each hunk is chosen by whose text it is, and nothing is chosen beforehand", () => {
  const choice = new FileChoice(FILE, SIDES, undefined, () => {});
  assert.deepEqual(buttonsOf(choice.root).map(({ textContent }) => textContent), ["yours", "cook", "both", "yours", "cook", "both", "yours", "cook"]);
  assert.deepEqual([pressed(choice.root), choice.read(), choice.preview.hidden], [[], undefined, true]);
  press(choice.root, "both");
  assert.deepEqual([choice.read(), choice.draft()], [undefined, { hunks: ["workspace+cook", null], of: "b2:1" }]);
  press(choice.root, "cook", 1);
  assert.deepEqual([choice.read(), choice.progress], [{ hunks: ["workspace+cook", "cook"], of: "b2:1" }, [2, 2]]);
});

test("the result is shown with what is not chosen yet, as text", () => {
  const choice = new FileChoice(FILE, SIDES, undefined, () => {});
  press(choice.root, "yours");
  assert.equal(choice.result.textContent, `top\n${MARKUP}\nmid\n── hunk 2: not chosen ──\n`);
  press(choice.root, "cook", 1);
  assert.equal(choice.result.textContent, `top\n${MARKUP}\nmid\nb\n`);
  press(choice.root, "cook");
  assert.equal(choice.result.textContent, "top\nmid\nb\n");
});

test("the whole file is a short cut that a hunk takes back", () => {
  const choice = new FileChoice(FILE, SIDES, undefined, () => {});
  press(choice.root, "cook", 0);
  press(choice.root, "cook", 2);
  assert.deepEqual([choice.read(), pressed(choice.root)], ["cook", ["cook"]]);
  press(choice.root, "both", 1);
  assert.deepEqual([choice.read(), pressed(choice.root)], [undefined, ["both"]]);
  press(choice.root, "both", 1);
  assert.equal(choice.draft(), undefined);
});

test("a file without hunks is chosen whole, both versions side by side", () => {
  const file = { ...FILE, of: null };
  const choice = new FileChoice(file, SIDES, "cook", () => {});
  assert.deepEqual(buttonsOf(choice.root).map(({ textContent }) => textContent), ["yours", "cook"]);
  assert.deepEqual([choice.read(), choice.preview.hidden], ["cook", true]);
  assert.deepEqual(outline(conflictNodes(file)[1]), ["div", "pixirnb-pair", `your filestop\n${MARKUP}\nmid\na\ncooktop\n(nothing)\nmid\nb\n`]);
  assert.equal(new FileChoice({ ...file, pieces: [] }, SIDES, undefined, () => {}).root.textContent, "f both changed it.ResultWhole fileyourscook");
});

test("a draft of another text is dropped, that of this one is kept", () => {
  const read = (draft) => new FileChoice(FILE, SIDES, draft, () => {}).draft();
  assert.equal(read({ hunks: ["cook", null], of: "b2:2" }), undefined);
  assert.deepEqual(read({ hunks: ["cook", null], of: "b2:1" }), { hunks: ["cook", null], of: "b2:1" });
});

test("only what is chosen whole is sent, and how much is chosen is said", () => {
  let changes = 0;
  const choice = new ConflictSides([FILE, { ...FILE, value: "g", path: "g" }], SIDES, {}, () => (changes += 1));
  press(choice.choices[0].root, "yours", 0);
  press(choice.choices[1].root, "cook", 2);
  assert.deepEqual([choice.read(), choice.isComplete, choice.progress.textContent, changes], [{ g: "cook" }, false, "2 of 3 choices made.", 2]);
  press(choice.choices[0].root, "yours", 1);
  assert.deepEqual([choice.isComplete, choice.read().f.hunks], [true, ["workspace", "workspace"]]);
});

test("resolve is there to press once every hunk is chosen, and sends the choices", async () => {
  const asked = [];
  const ask = async (message) => (asked.push(message), { ok: message.ask === "conflict", answer: { files: [FILE] }, error: { message: "busy" } });
  const conflict = new Conflict({ store: { ask, vocabulary: VOCABULARY }, root: {} });
  const wishes = { accept: { do: "decide", step: "land", verdict: "accept" }, reject: null };
  conflict.draw({ step: "land", attempt: 1, mark: { key: "needs_orchestrator" }, clash: { sentence: "s", files: [{ ...FILE, pieces: [], of: null }], sides: SIDES, count: 1, is_open: true, wishes } }, null);
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(conflict.resolve.disabled, true);
  press(conflict.choice.root, "cook", 0);
  press(conflict.choice.root, "both", 1);
  assert.deepEqual([conflict.resolve.disabled, conflict.drafts.get("land").sides.f.hunks], [false, ["cook", "workspace+cook"]]);
  conflict.resolve.fire("click");
  assert.deepEqual(asked.at(-1), { ...wishes.accept, value: { f: { hunks: ["cook", "workspace+cook"], of: "b2:1" } } });
});
