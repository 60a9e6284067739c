// What was said and done in an agent's session, an entry each, as nodes. All of it is text of others: it is put in as text, and
// says by its frame whose it is.

import { muted, textBlock, truncationNote } from "../dom/content.js";
import { h } from "../dom/elements.js";
import { diffNodes } from "../files/diffs.js";
import { formatDuration, pluralize } from "../dom/formatting.js";
import { markdownNodes } from "../dom/markdown.js";
import { markIcon } from "../dom/marks.js";

export const TURN_LABELS = {
  running: ["in progress", "live"],
  completed: ["completed", "idle"],
  partial_failed: ["partially failed", "half"],
  failed: ["failed", "bad"],
  interrupted: ["interrupted", "half"],
  timed_out: ["timed out", "late"],
};
const ORIGIN_LABELS = { prompt: "Prompt", person: "Person", harness: "Run" };
const VERDICT_LABELS = { allow: ["Allowed", "ready"], deny: ["Denied", "bad"], unattended: ["No person available", "idle"] };
const MODE_LABELS = { auto: "no approval needed", ask: "asks for approval", read_only: "read only" };
const ENTRY_NODES = {
  started: ({ agent, runner, model, permission_mode: mode, continues, command }) =>
    noteNode([
      [agent, runner, model, MODE_LABELS[mode] ?? mode].filter(Boolean).join(" · "),
      command.length ? [" ", h("code", {}, command.join(" "))] : null,
      continues ? [", continues ", h("code", {}, continues)] : null,
    ]),
  told: (entry, conversation) =>
    entry.origin === "prompt"
      ? conversation.disclosure(entry, [h("b", {}, ORIGIN_LABELS.prompt), h("span", { class: "pixirnb-mute pixirnb-cut" }, firstLine(entry.text))], bodyNodes(entry))
      : speech("pixirnb-message-in", ORIGIN_LABELS[entry.origin] ?? "Message", bodyNodes(entry)),
  said: (entry) =>
    speech(
      entry.is_partial ? "pixirnb-message-out pixirnb-broken" : "pixirnb-message-out",
      "Agent",
      [spokenNodes(entry), entry.is_partial ? h("p", { class: "pixirnb-late" }, h("b", {}, "Cut off."), " The agent did not finish this message.") : null],
    ),
  thought: (entry, conversation) => conversation.disclosure(entry, [h("b", {}, "Thought"), h("span", { class: "pixirnb-mute pixirnb-cut" }, firstLine(entry.text))], bodyNodes(entry)),
  tool: (entry, conversation) => conversation.disclosure(entry, toolLine(entry, conversation.store), toolBody(entry)),
  permission: (entry, conversation) => {
    const [words, tone] = VERDICT_LABELS[entry.verdict] ?? (entry.verdict ? [entry.verdict, "idle"] : ["Waiting for approval", "ask"]);
    return conversation.disclosure(
      entry,
      [h("b", { class: `pixirnb-${tone}` }, words), " ", h("code", {}, entry.name), h("span", { class: "pixirnb-cut" }, entry.about)],
      [
        entry.by && entry.verdict ? h("p", {}, `By ${entry.by}`, entry.note ? [": ", h("span", { class: "pixirnb-quote" }, entry.note)] : "") : null,
        argumentNodes(entry),
      ],
    );
  },
  report: (entry) =>
    speech("pixirnb-reported", `Report: ${entry.status.replaceAll("_", " ")}`, [
      entry.text ? spokenNodes(entry) : null,
      entry.limitations.length ? h("ul", {}, entry.limitations.map((each) => h("li", {}, "Known limitation: ", each))) : null,
    ]),
  news: (entry) => speech("pixirnb-message-in", [entry.title, entry.whose ? [" ", h("code", {}, entry.whose)] : ""], entry.text ? bodyNodes(entry) : null),
  failed: (entry) => {
    const [words, tone] = TURN_LABELS[entry.status] ?? [entry.status, "bad"];
    const spans = [entry.elapsed_ms === null ? "" : `after ${formatDuration(entry.elapsed_ms)}`, entry.timeout_ms === null || entry.status !== "timed_out" ? "" : `of ${formatDuration(entry.timeout_ms)}`];
    const isNamed = entry.error_kind === entry.status || (entry.error_kind === "timeout" && entry.status === "timed_out");
    return speech("pixirnb-reported pixirnb-broken", h("b", { class: `pixirnb-${tone}` }, `The turn ${entry.status === "interrupted" ? "was " : ""}${words}`, ` ${spans.filter(Boolean).join(" ")}`.trimEnd()), [
      entry.text || !isNamed ? h("p", { class: "pixirnb-error" }, isNamed ? null : h("code", {}, entry.error_kind), h("span", {}, entry.text)) : null,
    ]);
  },
  other: (entry, conversation) => conversation.disclosure(entry, h("span", { class: "pixirnb-mute" }, entry.name), bodyNodes(entry)),
};

/** One entry, numbered so that it can be put in the place of what it was before. */
export function entryNode(entry, conversation) {
  const make = ENTRY_NODES[entry.kind] ?? ENTRY_NODES.other;
  return h("div", { class: "pixirnb-entry" }, make(entry, conversation));
}

function speech(kind, whose, ...body) {
  return h("div", { class: `pixirnb-speech ${kind}` }, h("div", { class: "pixirnb-whose" }, whose), body);
}

function noteNode(words) {
  return h("p", { class: "pixirnb-mute pixirnb-clamp" }, words);
}

function firstLine(text) {
  return text.split("\n", 1)[0].slice(0, 200);
}

function bodyNodes({ text, cut }) {
  return [h("div", { class: "pixirnb-spoken" }, text), truncationNote(cut)];
}

/** What the agent itself says. */
function spokenNodes({ text, cut }) {
  return [markdownNodes(text), truncationNote(cut)];
}

function toolLine({ name, about, ok, is_orphan: isOrphan, is_barred: isBarred }, store) {
  const mark = ok === null ? { key: "running", tone: "live" } : ok ? { key: "checkpoint_ready", tone: "ready" } : { key: "failed", tone: "bad" };
  const words = ok === null ? "running" : ok ? "done" : isBarred ? "not approved; not executed" : isOrphan ? "result lost" : "failed";
  return [
    markIcon(store, mark),
    " ",
    h("code", {}, name),
    h("span", { class: "pixirnb-cut" }, about),
    ok ? h("span", { class: "pixirnb-hidden" }, words) : h("span", { class: `pixirnb-${mark.tone}` }, words),
  ];
}

function toolBody(entry) {
  const { output, output_cut: cut, error, ok } = entry;
  return [
    argumentNodes(entry),
    error ? h("p", { class: "pixirnb-error" }, h("b", { class: "pixirnb-bad" }, error.kind), h("span", {}, error.message)) : null,
    output && output !== error?.message ? [h("h4", {}, "Result"), longText(output, `Result of ${entry.name}`), truncationNote(cut)] : null,
    ok !== null && !output && !error ? muted("No result.") : null,
  ];
}

function longText(text, name) {
  const diff = diffNodes(text);
  return textBlock(diff ?? text, name, diff ? "pixirnb-given-text pixirnb-diff" : "pixirnb-given-text");
}

/** What a tool is given, each argument whole, as far as the kernel sent it. */
export function argumentNodes({ name, given, given_cut: cut }) {
  if (!given.length) return null;
  return [
    given.map((each) => {
      const isShort = each.text.length <= 60 && !each.text.includes("\n");
      return h(
        "div",
        { class: isShort ? "pixirnb-given pixirnb-short" : "pixirnb-given" },
        each.name ? h("span", { class: "pixirnb-mute" }, each.name) : null,
        isShort ? h("code", {}, each.text) : [longText(each.text, `${each.name || "Argument"} of ${name}`), truncationNote(each.cut)],
      );
    }),
    cut ? muted(`${pluralize(cut, "argument")} more are not shown.`) : null,
  ];
}
