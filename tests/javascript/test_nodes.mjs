import { outline } from "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { copyChip } from "../../pixirnb/notebook/static/actions/action_buttons.js";
import { ansiNodes } from "../../pixirnb/notebook/static/dom/ansi.js";
import { codeList, inlineCode, truncationNote } from "../../pixirnb/notebook/static/dom/content.js";
import { button, h, handleKey, setChildren } from "../../pixirnb/notebook/static/dom/elements.js";
import { markdownNodes } from "../../pixirnb/notebook/static/dom/markdown.js";
import { markBadge, markIcon } from "../../pixirnb/notebook/static/dom/marks.js";
import { diffNodes, hunkBlock } from "../../pixirnb/notebook/static/files/diffs.js";
import { concernsFiles } from "../../pixirnb/notebook/static/files/seams.js";
import { Panel } from "../../pixirnb/notebook/static/panel/panel.js";
import { describeValue, previewNodes } from "../../pixirnb/notebook/static/panel/previews.js";
import { SECTIONS } from "../../pixirnb/notebook/static/panel/sections.js";
import { argumentNodes } from "../../pixirnb/notebook/static/session/entries.js";
import { StatusCounts } from "../../pixirnb/notebook/static/shell/status_counts.js";
import { KINDS, MARK, VOCABULARY } from "./tapes.mjs";

const MARKUP = "<img src=x onerror=alert(1)>";
const outlines = (nodes) => nodes.flat(Infinity).filter(Boolean).map(outline);

// --- elements ---

test("an element takes text as text and leaves out what is not there", () => {
  const element = h("p", { class: "a", title: null, hidden: false, disabled: true }, MARKUP, null, [["b", false], undefined], 0);
  assert.deepEqual([element.textContent, [...element.attributes]], [`${MARKUP}b0`, [["class", "a"], ["disabled", ""]]]);
  assert.equal(element.children.length, 0);
  assert.equal(setChildren(element, ["x", null], false).textContent, "x");
});

test("of Markdown bold, headings, lists and code are shown, and everything else is the text that it is", () => {
  const nodes = markdownNodes(`# Plan\n**Do** \`x*y\` [a](javascript:1) 2**3\n- ${MARKUP}\n\`\`\`py\n**no**\n\`\`\`\nend\n\`\`\`\nopen`);
  assert.deepEqual(nodes.map(({ localName }) => localName), ["div", "pre", "div", "pre"]);
  assert.deepEqual(nodes.map(({ textContent }) => textContent), [`Plan\nDo x*y [a](javascript:1) 2**3\n${MARKUP}`, "**no**", "end", "open"]);
  assert.deepEqual(nodes[0].children.map((each) => [each.localName, each.textContent]), [["b", "Plan"], ["b", "Do"], ["code", "x*y"], ["ul", MARKUP]]);
  const [list] = markdownNodes("First:\n- a **b**\n  - c\n* d\n-e\n\n-- f\n- ");
  assert.deepEqual(list.children.map((each) => each.children.map(({ textContent, attributes }) => [textContent, attributes.get("style")]) ), [[["a b", "margin-left: 0em"], ["c", "margin-left: 1em"], ["d", "margin-left: 0em"]], [["", "margin-left: 0em"]]]);
  assert.equal(list.textContent, "First:\na bcd-e\n\n-- f\n");
});

test("a line that only begins like a fence loses no word", () => {
  assert.deepEqual(markdownNodes("```ls``` lists\n``` and more").map(({ localName, textContent }) => [localName, textContent]), [["div", "``ls`` lists\n``` and more"]]);
});

test("a button that is disabled for readers cannot be pressed", () => {
  let pressed = 0;
  const element = button("Do it", () => (pressed += 1), { pressed: false });
  element.fire("click");
  element.setAttribute("aria-disabled", "true");
  element.fire("click");
  assert.deepEqual([pressed, element.getAttribute("aria-pressed")], [1, "false"]);
});

test("a key does its action and goes no further, one with Ctrl is the browser's", () => {
  const heard = [];
  const event = (key, more) => ({ key, preventDefault: () => heard.push("kept"), stopPropagation: () => heard.push("stopped"), ...more });
  const actions = { a: () => heard.push("done") };
  for (const each of [event("b"), event("a", { ctrlKey: true }), event("a", { metaKey: true }), event("a", { altKey: true })]) handleKey(each, actions);
  assert.deepEqual(heard, []);
  handleKey(event("a"), actions);
  assert.deepEqual(heard, ["kept", "stopped", "done"]);
});

test("a command is copied by its chip, and shown where there is no clipboard, as text", async () => {
  const said = [];
  const statusMessage = { show: (...parts) => said.push(parts.map((part) => part.textContent ?? part).join("")) };
  const copied = [];
  Object.defineProperty(globalThis, "navigator", { value: { clipboard: { writeText: async (words) => void copied.push(words) } }, configurable: true });
  const chip = copyChip(`%pixir resume ${MARKUP}`, statusMessage);
  chip.fire("click");
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([copied, said], [[`%pixir resume ${MARKUP}`], [`Copied: %pixir resume ${MARKUP}`]]);
  assert.deepEqual([chip.textContent, chip.getAttribute("aria-label")], [`%pixir resume ${MARKUP}`, `Copy %pixir resume ${MARKUP}`]);
});

// --- words ---

test("names between backticks are code, markup is text", () => {
  assert.deepEqual(outlines(inlineCode("`a` needs `b`: <b>")), [["code", "", "a"], " needs ", ["code", "", "b"], ": <b>"]);
  assert.deepEqual(outlines(inlineCode("one ` alone")), ["one ` alone"]);
});

test("a list of names ends with how many are left out", () => {
  assert.deepEqual(outlines(codeList(["a", "b", "c"], 2)), [["code", "", "a"], " ", ["code", "", "b"], " and 1 more"]);
  assert.deepEqual(outlines(codeList(["a"], 8, 1200)), [["code", "", "a"], " and 1,199 more"]);
  assert.deepEqual(outlines(codeList(["a"])), [["code", "", "a"]]);
});

test("a text that is whole needs no note", () => {
  assert.equal(truncationNote(0), null);
  assert.equal(truncationNote(1234).textContent, "1,234 more characters are not shown.");
});

test("styles of printed text are of a closed set", () => {
  const nodes = ansiNodes([["", "plain"], ["b bright-red bg-blue", MARKUP], ["evil pixirnb-view b\"x", "odd"]]);
  assert.deepEqual(nodes.map(outline), ["plain", ["span", "pixirnb-ansi-b pixirnb-ansi-bright-red pixirnb-ansi-bg-blue", MARKUP], ["span", "", "odd"]]);
});

test("a mark has a tone of a closed set, and its symbol where it has no shape", () => {
  const store = { vocabulary: VOCABULARY };
  assert.deepEqual(outline(markBadge(store, { key: "maybe", word: "may be kept", tone: "x y", symbol: "~" })), ["span", "pixirnb-nowrap pixirnb-idle", "~ may be kept"]);
  assert.deepEqual(outline(markIcon(store, { key: "maybe", tone: "x y", symbol: "~" })), ["span", "pixirnb-symbol pixirnb-idle", "~"]);
  assert.equal(markIcon(store, { key: "failed", tone: "bad" }).localName, "svg");
});

// --- files ---

test("a hunk says by its lines what came and went", () => {
  const lines = [["both", "same"], ["added", MARKUP], ["deleted", "old"], ["remark", " No newline"], ["odd", "?"]];
  const [block] = hunkBlock({ path: "f", hunks: [{ head: "1,2", lines }] });
  assert.equal(block.textContent, `── 1,2 ──\n same\n+${MARKUP}\n-old\n\\ No newline\n ?\n`);
  assert.deepEqual(block.children.map((each) => each.getAttribute("class")), ["pixirnb-hunk", "pixirnb-line-both", "pixirnb-line-added", "pixirnb-line-deleted", "pixirnb-line-remark", "pixirnb-line-both"]);
});

test("a unified diff is coloured by its lines, any other text is not one", () => {
  const text = `--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n same\n-old\n+${MARKUP}`;
  const nodes = diffNodes(text);
  assert.equal(nodes.map(({ textContent }) => textContent).join(""), text);
  assert.deepEqual(nodes.map((each) => each.getAttribute("class").replace("pixirnb-", "")), ["hunk", "hunk", "hunk", "line-both", "line-deleted", "line-added"]);
  assert.deepEqual(["- a\n- b", "--- title ---", "@@ me", ""].map(diffNodes), [null, null, null, null]);
  const [argument] = argumentNodes({ name: "edit", given: [{ name: "diff", text, cut: 0 }], given_cut: 0 }).flat();
  assert.equal(argument.children[1].getAttribute("class"), "pixirnb-block pixirnb-given-text pixirnb-diff");
});

test("some events concern the files of steps they do not name", () => {
  const store = { vocabulary: VOCABULARY };
  const entry = (kind) => [1, 0, KINDS.indexOf(kind), -1, [], "", []];
  assert.deepEqual([concernsFiles(store, [entry("run_started"), entry("seam_opened")]), concernsFiles(store, [entry("run_started")])], [true, false]);
});

// --- previews ---

test("a value is described by type, extent and size", () => {
  const values = [{ type: "DataFrame", row_count: 1200, column_count: 3, bytes: 2048 }, { type: "ndarray", shape: [2, 3], dtype: "int64", bytes: null }, { type: "", row_count: null, bytes: null }];
  assert.deepEqual(values.map(describeValue), ["DataFrame · 1,200 × 3 · 2.0 kB", "ndarray · 2 × 3 int64", ""]);
});

test("a column of numbers is set right, what is left out is said", () => {
  const nodes = previewNodes({ form: "table", sentence: "", cut: 0, heads: ["n", "s"], rows: [["1", "a"], ["-2.5e3", "4"]], row_count: 10, column_count: 2 }).flat(Infinity);
  const [head] = nodes[0].children[0].children;
  assert.deepEqual(head.children[0].children.map((each) => each.getAttribute("class")), ["pixirnb-num", null]);
  assert.equal(nodes[1].textContent, "8 more rows are not shown.");
});

test("only a PNG becomes a picture", () => {
  const picture = (mime, data) => previewNodes({ form: "image", mime, data, type: "" })[0].localName;
  assert.deepEqual([picture("image/png", "iVBORw0="), picture("image/svg+xml", "iVBORw0="), picture("image/png", "x\" onload=\"y")], ["img", "p", "p"]);
});

// --- the panel's sections ---

const section = (name) => SECTIONS.find((each) => each.name === name);

test("an error that the headline names is shown once, and a table of checks replaces the message", () => {
  const { pick } = section("Error");
  const answer = (headline, tail, output, checks = []) => ({ error: { kind: "exit", message: "exit 1", tail, frames: [], hint: "" }, headline, attempts: [{ output }], checks });
  assert.deepEqual(pick(answer("It failed: exit 1", [], null)), null);
  assert.deepEqual(pick(answer("It failed.", [["", "x"]], null)), ["exit", "exit 1", [], [["", "x"]], [], ""]);
  assert.deepEqual(pick(answer("It failed: exit 1", [["", "x"]], null)), [null, "exit 1", [], [["", "x"]], [], ""]);
  assert.deepEqual(pick(answer("It failed.", [["", "x"]], { bytes: 5 })), ["exit", "exit 1", [], [], [], ""]);
  const hinted = answer("It failed: exit 1", [], null);
  hinted.error.hint = "install it";
  assert.deepEqual(pick(hinted), [null, "exit 1", [], [], [], "install it"]);
  const [failed, passed] = [{ name: "file_exists", passed: false }, { name: "exit_code", passed: true }];
  const checked = answer("It failed.", [], null, [failed, passed]);
  checked.error.kind = "verification";
  assert.deepEqual(pick(checked), [null, "exit 1", [failed], [], [], ""]);
  assert.deepEqual(section("Evidence").pick({ ...checked, limitations: [], bundle: null })[0], [passed]);
});

test("settings name limits and claims that there are", () => {
  const answer = { timeout: { ms: 90_000, source: "written on the step" }, agent: null, posture: "read_only", workspace: "shared", cwd: "", read_set: [], write_set: ["src/*"], kind: "shell", wave: 2 };
  assert.deepEqual(section("Settings").pick(answer), [["Timeout", "1 m 30 s, written on the step"], ["Posture", "read only"], ["Workspace", "shared"], ["Writes", "", ["src/*"]], ["Wave", "2"]]);
});

test("every part of the panel stands in it", () => {
  const panel = new Panel({ store: {} });
  const parts = [panel.question.root, panel.permission.root, panel.conflict.root, panel.actionBar, panel.changes.root, panel.conversation.root, panel.output.root, panel.value];
  assert.deepEqual(parts.filter((part) => !panel.inner.contains(part)), []);
});

// --- status counts ---

function countsOf(marks) {
  const store = { vocabulary: VOCABULARY, markOf: MARK, isPast: false, scene: { ids: marks }, markAt: (step) => VOCABULARY.marks[MARK[marks[step]]] };
  const picked = [];
  const counts = new StatusCounts(store, (key) => picked.push(key));
  counts.draw({ has: (...names) => names.includes("reset"), touched: new Set() });
  return { counts, marks, picked, chips: () => counts.chips.children.filter(({ hidden }) => !hidden).map(({ textContent }) => textContent) };
}

test("statuses are counted in the order of the vocabulary", () => {
  const { chips } = countsOf(["failed", "queued", "running", "queued"]);
  assert.deepEqual(chips(), [" 2 queued", " 1 running", " 1 failed"]);
});

test("only steps that changed are counted again, and a status without steps goes", () => {
  const { counts, marks, chips } = countsOf(["queued", "running", "queued"]);
  marks[1] = "checkpoint_ready";
  marks[2] = "failed";
  counts.draw({ has: () => false, touched: new Set([1]) });
  assert.deepEqual(chips(), [" 2 queued", " 1 ready"]);
});

test("a pressed chip stays, also without steps, and highlights its status", () => {
  const { counts, marks, picked, chips } = countsOf(["running", "queued"]);
  const chip = counts.chips.children.find(({ textContent }) => textContent.includes("running"));
  chip.fire("click");
  marks[0] = "queued";
  counts.draw({ has: () => false, touched: new Set([0]) });
  assert.deepEqual([picked, chips(), chip.getAttribute("aria-pressed")], [["running"], [" 2 queued", " 0 running"], "true"]);
  chip.fire("click");
  assert.deepEqual([picked, chips()], [["running", null], [" 2 queued"]]);
});
