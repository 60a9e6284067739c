// The parts of the panel that are drawn whole, in their order: each picks what it shows from the kernel's answer, and makes nodes
// of it. A part that picks nothing is absent; one whose pick is as before is left alone.

import { ansiNodes } from "../dom/ansi.js";
import { codeList, inlineCode, muted, textBlock, truncationNote } from "../dom/content.js";
import { button, h } from "../dom/elements.js";
import { formatBytes, formatDuration, formatTimestamp, pluralize } from "../dom/formatting.js";
import { markBadge, markIcon } from "../dom/marks.js";
import { seamList } from "../files/seams.js";
import { labelsOf } from "../state/step_names.js";

export const SECTIONS = [
  {
    name: "Headline",
    pick: ({ headline, description }) => [headline, description],
    make: ([headline, description]) => [
      h("p", { class: "pixirnb-headline", role: "status", "aria-live": "polite" }, inlineCode(headline)),
      description ? h("p", {}, description) : null,
    ],
  },
  { name: "Items", own: "items" },
  { name: "Permission", own: "permission" },
  { name: "Question", own: "question" },
  {
    name: "Error",
    // The headline may have said it all; what was printed last stands in the output where that is shown.
    pick: ({ error, headline, attempts, checks }) => {
      if (!error) return null;
      const failed = checks.filter(({ passed }) => !passed);
      const isInHeadline = error.message !== "" && headline.includes(error.message.replace(/\.$/, ""));
      const hasOutput = Boolean(attempts.at(-1)?.output?.bytes);
      const tail = hasOutput ? [] : error.tail;
      const { frames, hint } = error;
      // A table of checks replaces the message that names them again.
      const isSaid = isInHeadline || (error.kind === "verification" && failed.length > 0);
      return isSaid && !failed.length && !tail.length && !frames.length && !hint ? null : [isSaid ? null : error.kind, error.message, failed, tail, frames, hint];
    },
    make: ([kind, message, failed, tail, frames, hint], panel) => [
      kind === null ? null : h("p", { class: "pixirnb-error" }, h("b", { class: "pixirnb-bad" }, kind), message ? h("span", {}, inlineCode(message)) : null),
      failed.length ? checkTable(failed, "Failed checks", panel.store) : null,
      frames.length ? h("ol", { class: "pixirnb-frames", "aria-label": "Where it failed, the last call first" }, frames.map(frameItem)) : null,
      tail.length ? textBlock(ansiNodes(tail), "Latest output", "pixirnb-tail") : null,
      hint ? h("p", {}, h("b", {}, "Hint: "), inlineCode(hint)) : null,
    ],
  },
  { name: "Actions", own: "actionBar" },
  {
    name: "Why",
    pick: ({ why }) => (why.length ? why : null),
    make: (why) => h("ul", { class: "pixirnb-why" }, why.map((sentence) => h("li", {}, inlineCode(sentence)))),
  },
  {
    name: "Result of the last attempt",
    isFacts: true,
    titled: true,
    pick: ({ left }) => left,
    make: (left) => [
      h("p", {}, `Attempt ${left.attempt}: ${left.status.replaceAll("_", " ")}. `, left.summary),
      left.error ? h("p", { class: "pixirnb-error" }, h("b", { class: "pixirnb-bad" }, left.error.kind), h("span", {}, inlineCode(left.error.message))) : null,
    ],
  },
  { name: "Changes", own: "changes" },
  {
    name: "Seams",
    titled: true,
    pick: ({ seams }) => (seams.length ? seams : null),
    make: (seams, panel) => seamList(seams, panel.store, { statusMessage: panel.statusMessage, choose: (name) => panel.choose(name), requestRefresh: () => panel.requestRefresh() }),
  },
  { name: "Conversation", own: "conversation" },
  { name: "Output", own: "output" },
  { name: "Value", own: "value" },
  {
    name: "Attempts",
    isFacts: true,
    // The error of the last attempt is shown above, where there is one.
    pick: ({ attempts, attempts_count: count, error }) => (count ? [error ? [...attempts.slice(0, -1), { ...attempts.at(-1), error: null }] : attempts, count] : null),
    make: ([attempts, count], panel) => panel.disclosure("Attempts", `Attempts (${count.toLocaleString("en-US")})`, count > 1, attemptList(attempts, panel)),
  },
  {
    name: "Evidence",
    isFacts: true,
    // Checks that failed are shown as the error, where there is one.
    pick: ({ checks, limitations, bundle, error }) => {
      const shown = error ? checks.filter(({ passed }) => passed) : checks;
      return shown.length || limitations.length || bundle ? [shown, limitations, bundle] : null;
    },
    make: ([checks, limitations, bundle], panel) => panel.disclosure("Evidence", evidenceTitle(checks, bundle), checks.some((check) => !check.passed) || limitations.length > 0, evidenceNodes(checks, limitations, bundle, panel.store)),
  },
  {
    name: "Files",
    isFacts: true,
    pick: ({ artifacts, artifacts_count: count }) => (count ? [artifacts, count] : null),
    make: ([artifacts, count], panel) => panel.disclosure("Files", `Artifacts (${count.toLocaleString("en-US")})`, false, [
      h("ul", { class: "pixirnb-files" }, artifacts.map(({ path, bytes }) => h("li", {}, h("code", {}, path), h("span", { class: "pixirnb-mute" }, formatBytes(bytes))))),
      count > artifacts.length ? muted(`${(count - artifacts.length).toLocaleString("en-US")} more are not shown.`) : null,
    ]),
  },
  {
    name: "Says",
    isFacts: true,
    pick: ({ says }) => says,
    make: (says, panel) => panel.disclosure("Says", INSTRUCTION_LABELS[says.form] ?? "Instruction", false, instructionNodes(says)),
  },
  {
    name: "Inputs",
    isFacts: true,
    pick: ({ inputs, env }) => (inputs.length || env.length ? [inputs, env] : null),
    make: ([inputs, env], panel) => panel.disclosure("Inputs", `Inputs (${inputs.length + env.length})`, false, [
      inputs.map(({ name, from, form, text, cut }) => h(
        "div",
        { class: "pixirnb-given" },
        h("div", {}, h("code", {}, name), " ", h("span", { class: "pixirnb-mute" }, from)),
        form === "missing" ? muted("not known yet") : form === "large" ? muted("too large to show") : textBlock(text, name, "pixirnb-brief"),
        truncationNote(cut),
      )),
      env.length ? h("dl", { class: "pixirnb-facts" }, env.map(({ name, text }) => [h("dt", {}, h("code", {}, name)), h("dd", {}, text)])) : null,
    ]),
  },
  {
    name: "Neighbours",
    isFacts: true,
    pick: ({ needs, holds, needs_count: before, holds_count: after }) => (before || after ? [needs, holds, before, after] : null),
    make: ([needs, holds, before, after], panel) => [
      neighbourList("Depends on", needs, before, panel),
      neighbourList("Dependents", holds, after, panel),
    ],
  },
  {
    name: "Settings",
    isFacts: true,
    pick: (answer) => settingFacts(answer),
    make: (pairs, panel) => panel.disclosure("Settings", "Settings", false, h("dl", { class: "pixirnb-facts" }, pairs.map(([name, words, names]) => [
      h("dt", {}, name),
      h("dd", {}, words, names ? codeList(names, 40) : null),
    ]))),
  },
];
const INSTRUCTION_LABELS = {
  command: "Command",
  argv: "Command",
  call: "Function",
  task: "Task",
  ask: "Question (as written)",
  merge: "Steps to merge",
};

function attemptList(attempts, panel) {
  let course = 0;
  return h("ol", { class: "pixirnb-attempts" }, attempts.map((each) => {
    const isResumed = each.course > 1 && each.course !== course;
    course = each.course;
    return [
      isResumed ? h("li", { class: "pixirnb-mute pixirnb-course" }, `resumed (invocation ${each.course})`) : null,
      attemptItem(each, panel),
    ];
  }));
}

function attemptItem(each, panel) {
  const { retry, error } = each;
  const ended = each.signal !== null ? `signal ${each.signal}` : each.exit_code ? `exit ${each.exit_code}` : "";
  const facts = [formatDuration(each.elapsed_ms), formatTimestamp(each.started_at ?? each.scheduled_at), ended].filter(Boolean).join(" · ");
  const see = each.output || each.status === "running"
    ? button("Output", () => panel.toggleAttempt(each.attempt), { pressed: panel.shownAttempt === each.attempt, kind: "pixirnb-slight" })
    : null;
  see?.setAttribute("aria-label", `Output of attempt ${each.attempt}`);
  return h(
    "li",
    {},
    h("div", { class: "pixirnb-flex-row" }, h("b", { class: "pixirnb-count" }, `${each.attempt}`), markBadge(panel.store, each.mark), h("span", { class: "pixirnb-mute" }, facts), h("span", { class: "pixirnb-right" }, see)),
    error ? h("p", { class: "pixirnb-mute pixirnb-clamp" }, error) : null,
    retry ? muted(retry.by ? `Retried by ${retry.by}.` : `Retried after ${formatDuration(retry.delay_ms)} (${retry.class.replaceAll("_", " ")}).`) : null,
  );
}

function frameItem({ place, function: name, code }) {
  return h("li", {}, h("span", { class: "pixirnb-mute" }, `${place}, in ${name}`), code ? h("code", {}, code) : null);
}

function evidenceTitle(checks, bundle) {
  const failed = checks.filter((check) => !check.passed).length;
  if (failed) return `Evidence: ${failed} of ${pluralize(checks.length, "check")} failed`;
  if (checks.length) return `Evidence: ${pluralize(checks.length, "check")} passed`;
  return bundle?.dependent_safe ? "Evidence: usable by dependents" : "Evidence";
}

/** Checks with what each expected and saw, as they are written in the workflow. */
function checkTable(checks, name, store) {
  const verdict = (passed) => markIcon(store, passed ? { key: "checkpoint_ready", tone: "ready" } : { key: "failed", tone: "bad" });
  return h(
    "table",
    { class: "pixirnb-checks", "aria-label": name },
    h("thead", {}, h("tr", {}, ["check", "expected", "seen"].map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, checks.map(({ name: kind, argument, passed, expected, seen }) => h(
      "tr",
      {},
      h("td", {}, verdict(passed), " ", h("span", { class: "pixirnb-hidden" }, passed ? "passed" : "failed"), h("code", {}, [kind, argument].filter(Boolean).join(" "))),
      h("td", {}, expected),
      h("td", {}, seen || (passed ? "" : "nothing")),
    ))),
  );
}

function evidenceNodes(checks, limitations, bundle, store) {
  return [
    checks.length ? checkTable(checks, "Checks", store) : null,
    limitations.length ? [h("h4", {}, "Known limitations"), h("ul", {}, limitations.map((each) => h("li", {}, each)))] : null,
    bundle ? h("dl", { class: "pixirnb-facts" }, bundleFacts(bundle).map(([name, words]) => [h("dt", {}, name), h("dd", {}, words)])) : null,
    bundle?.validation?.errors.length ? h("ul", {}, bundle.validation.errors.map((each) => h("li", { class: "pixirnb-bad" }, each))) : null,
  ];
}

function bundleFacts(bundle) {
  return [
    ["Usable by dependents", bundle.dependent_safe ? "yes" : "no"],
    ["Produced", bundle.produced],
    bundle.validation ? ["Schema check", bundle.validation.passed ? "valid" : "not valid"] : null,
    bundle.schema_id ? ["Schema", bundle.schema_id] : null,
    bundle.provenance ? ["Provenance", bundle.provenance.replaceAll("_", " ")] : null,
    bundle.files ? ["Changed", pluralize(bundle.files, "file")] : null,
  ].filter(Boolean);
}

function instructionNodes(says) {
  const more = says.cut ? muted(`${says.cut.toLocaleString("en-US")} more are not shown.`) : null;
  switch (says.form) {
    case "argv":
      return [h("p", { class: "pixirnb-words" }, says.words.flatMap((word) => [h("code", {}, word), " "])), more];
    case "call":
      return [
        h("p", {}, h("code", {}, says.function)),
        says.arguments.length ? h("dl", { class: "pixirnb-facts" }, says.arguments.map(({ name, text }) => [h("dt", {}, h("code", {}, name)), h("dd", {}, text)])) : null,
        says.source ? textBlock(says.source, "Source") : null,
        more,
      ];
    case "merge":
      return [h("p", {}, codeList(says.steps, 40)), more];
    default:
      return [textBlock(says.text, INSTRUCTION_LABELS[says.form] ?? "Text"), truncationNote(says.cut)];
  }
}

function neighbourList(words, steps, count, panel) {
  if (!count) return null;
  return h(
    "div",
    { class: "pixirnb-neighbours" },
    h("h4", {}, words),
    steps.map(({ step, mark }) => {
      const [name] = labelsOf(panel.store, [step]);
      const link = button([markIcon(panel.store, mark), " ", name], () => panel.choose(step), { kind: "pixirnb-slight", title: mark.word });
      link.setAttribute("aria-label", `${name}: ${mark.word}`);
      return link;
    }),
    count > steps.length ? h("span", { class: "pixirnb-mute" }, `and ${(count - steps.length).toLocaleString("en-US")} more`) : null,
  );
}

/** `[name, words, names]` of what limits a step and what it claims. */
function settingFacts({ timeout, agent, posture, workspace, cwd, read_set: reads, write_set: writes, kind, wave }) {
  const pairs = [
    ["Timeout", timeout.ms === null ? "none" : `${formatDuration(timeout.ms)}${timeout.source ? `, ${timeout.source}` : ""}`],
    agent ? ["Agent", [agent.name, agent.runner, agent.model].filter(Boolean).join(" · ")] : null,
    agent?.role ? ["Role", agent.role] : null,
    kind === "decision" ? null : ["Posture", posture.replaceAll("_", " ")],
    kind === "decision" ? null : ["Workspace", workspace],
    cwd ? ["Folder", cwd] : null,
    reads.length ? ["Reads", "", reads] : null,
    writes.length ? ["Writes", "", writes] : null,
    ["Wave", String(wave)],
  ];
  return pairs.filter(Boolean);
}
