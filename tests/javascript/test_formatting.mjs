import assert from "node:assert/strict";
import { test } from "node:test";

import { capitalize, formatBytes, formatClock, formatDuration, formatTimestamp, pluralize } from "../../pixirnb/notebook/static/dom/formatting.js";
import { textWidth, truncateText } from "../../pixirnb/notebook/static/graph/text_fit.js";

test("a duration has the unit that fits it", () => {
  const written = [0, 12.9, 999, 1000, 1249, 1250, 59_949, 59_950, 65_000, 3_599_499, 3_599_500, 3_720_000].map(formatDuration);
  assert.deepEqual(written, ["0 ms", "12 ms", "999 ms", "1.0 s", "1.2 s", "1.3 s", "59.9 s", "1 m 00 s", "1 m 05 s", "59 m 59 s", "1 h 00 m", "1 h 02 m"]);
});

test("what is no duration is empty", () => {
  assert.deepEqual([null, undefined, -1, NaN, "5"].map(formatDuration), ["", "", "", "", ""]);
});

test("a clock has whole seconds", () => {
  assert.deepEqual([-5, 999, 1999, 59_999, 60_000].map(formatClock), ["0 s", "0 s", "1 s", "59 s", "1 m 00 s"]);
});

test("sizes have two digits at least", () => {
  assert.deepEqual([0, 999, 1000, 9949, 9951, 999_499, 999_500, 3_400_000, 5e15].map(formatBytes), ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "999 kB", "1.0 MB", "3.4 MB", "5000 TB"]);
  assert.equal(formatBytes(null), "");
});

test("one is singular, thousands have commas", () => {
  assert.deepEqual([0, 1, 3, 1200].map((count) => pluralize(count, "step")), ["0 steps", "1 step", "3 steps", "1,200 steps"]);
});

test("a time of another day has its date, no time is empty", () => {
  const today = new Date().toISOString();
  assert.ok(formatTimestamp("2020-02-03T04:05:06Z").length > formatTimestamp(today).length);
  assert.deepEqual([null, undefined, "soon"].map(formatTimestamp), ["", "", ""]);
});

test("a phrase begins with a capital", () => {
  assert.deepEqual(["", "resume the run"].map(capitalize), ["", "Resume the run"]);
});

test("text is as wide as its letters", () => {
  assert.ok(textWidth("mmm", 10) > textWidth("aaa", 10) && textWidth("aaa", 10) > textWidth("iii", 10));
  assert.equal(textWidth("Aa", 20), 2 * textWidth("Aa", 10));
});

test("text is cut where it is too wide", () => {
  assert.equal(truncateText("short", 100, 10), "short");
  const cut = truncateText("a name that is far too long", 60, 10);
  assert.match(cut, /^a name.*…$/);
  assert.ok(textWidth(cut.slice(0, -1), 10) + 8 <= 60);
  assert.equal(truncateText("abc", 1, 10), "…");
});
