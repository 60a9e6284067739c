import { outline } from "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { Output } from "../../pixirnb/notebook/static/panel/output.js";
import { findWords, firstErrorLine, markPlaces, MAX_HITS } from "../../pixirnb/notebook/static/panel/printed_text.js";

const MARKUP = "<img src=x onerror=alert(1)>";

test("words are found literally, whatever their case, as often as can be marked", () => {
  assert.deepEqual(findWords("a.b A.B axb", " a.B "), [[0, 3], [4, 7]]);
  assert.deepEqual(findWords("anything", "  "), []);
  assert.equal(findWords("x".repeat(MAX_HITS + 5), "x").length, MAX_HITS);
});

test("the first line that looks like an error is no summary without errors and no name of a file", () => {
  const line = (text) => {
    const [begin, end] = firstErrorLine(text) ?? [0, 0];
    return text.slice(begin, end);
  };
  for (const bad of ["Traceback (most recent call last):", "NameError: name 'x'", "src/a.c:3:1: error: expected ;", "[ERROR] no space", "FAILED tests/a.py::test", "fatal: not a git repository"]) assert.equal(line(`fine\n${bad}\nerror: later`), bad);
  for (const good of ["0 errors, 0 failed", "No errors.", "wrote error.log", "cat logs/error-1.txt", "terrors of the deep", "--fail-fast"]) assert.equal(firstErrorLine(`${good}\n`), null);
});

test("places cut segments, over their borders too, and no letter is lost", () => {
  const segments = [["red", "abc"], ["", "def"]];
  assert.deepEqual(markPlaces(segments, [[1, 2], [2, 5]]), [["red", "a", -1], ["red", "b", 0], ["red", "c", 1], ["", "de", 1], ["", "f", -1]]);
  assert.deepEqual(markPlaces(segments, []), [["red", "abc", -1], ["", "def", -1]]);
});

function outputOf(answer) {
  const asked = [];
  const output = new Output({ ask: async (message) => (asked.push(message), { ok: true, answer: output.next }) });
  output.wanted = { step: "a", attempt: null, at: null };
  output.next = { attempt: 1, is_running: false, segments: [], sentence: "", cut: 0, path: "/runs/a.log", can_load: false, ...answer };
  output.draw(output.next);
  const shown = () => output.text.childNodes.map(outline);
  return { output, asked, shown };
}

test("what is searched for is marked as text, the first at once, Enter goes to the next, and new output is searched too", () => {
  const { output, shown } = outputOf({ segments: [["red", `one ${MARKUP}\n`], ["", "two img\n"]] });
  const { field } = output.finder;
  field.value = "IMG";
  field.fire("input");
  assert.deepEqual([output.finder.words.textContent, shown().filter(([tag]) => tag === "mark")], ["1 of 2", [["mark", "pixirnb-here", "img"], ["mark", "", "img"]]]);
  field.fire("keydown", { key: "Enter" });
  output.draw({ ...output.next, segments: [["red", `one ${MARKUP}\n`], ["", "two img\nimg"]] });
  assert.deepEqual([output.finder.words.textContent, shown().filter(([tag]) => tag === "mark").map(([, kind]) => kind)], ["2 of 3", ["", "pixirnb-here", ""]]);
  assert.equal(output.text.textContent, `one ${MARKUP}\ntwo img\nimg`);
  field.fire("keydown", { key: "Escape" });
  assert.deepEqual(shown().map(([tag]) => tag).includes("mark"), false);
});

test("the first error is offered where there is one, and stands out when it was gone to", () => {
  const { output, shown } = outputOf({ segments: [["", "fine\nValueError: no\nend\n"]] });
  assert.equal(output.errorButton.hidden, false);
  output.errorButton.fire("click");
  assert.deepEqual(shown(), ["fine\n", ["mark", "pixirnb-here", "ValueError: no"], "\nend\n"]);
  assert.equal(outputOf({ segments: [["", "fine\n"]] }).output.errorButton.hidden, true);
});

test("a part that did not change keeps its node", () => {
  const { output } = outputOf({ segments: [["", "one\n"], ["red", "two\n"]] });
  const [first] = output.text.childNodes;
  output.draw({ ...output.next, segments: [["", "one\n"], ["red", "two\nthree\n"]] });
  assert.equal(output.text.childNodes[0], first);
});

test("more is asked for where there is more, and long lines wrap or not", async () => {
  const { output, asked } = outputOf({ segments: [["", "x"]], can_load: true });
  assert.equal(output.moreButton.hidden, false);
  output.moreButton.fire("click");
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(asked, [{ ask: "output", step: "a", attempt: null, at: null, load: true }]);
  const pressed = () => output.wrapButton.getAttribute("aria-pressed");
  output.wrapButton.fire("click");
  assert.equal(pressed(), "false");
  output.wrapButton.fire("click");
  assert.equal(pressed(), "true");
});
