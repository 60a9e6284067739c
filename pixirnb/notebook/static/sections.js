// The parts of the panel that are drawn whole, in their order: each picks what it shows from the kernel's answer, and makes nodes
// of it. A part that picks nothing is absent; one whose pick is as before is left alone.

const SECTIONS = [
  {
    name: "Headline",
    pick: ({ headline, description }) => [headline, description],
    make: ([headline, description]) => [
      h("p", { class: "pixirnb-headline", role: "status", "aria-live": "polite" }, proseOf(headline)),
      description ? h("p", {}, description) : null,
    ],
  },
  { name: "Permission", own: "permission" },
  { name: "Question", own: "question" },
  { name: "Conflict", own: "clash" },
  { name: "Actions", own: "deeds" },
  {
    name: "Why",
    pick: ({ why }) => (why.length ? why : null),
    make: (why) => h("ul", { class: "pixirnb-why" }, why.map((sentence) => h("li", {}, proseOf(sentence)))),
  },
  {
    name: "Error",
    // The headline may have said it all; what was printed last stands in the output where that is shown.
    pick: ({ error, headline, attempts }) => {
      if (!error) return null;
      const isTold = error.message !== "" && headline.includes(error.message);
      const hasOutput = Boolean(attempts[attempts.length - 1]?.output?.bytes);
      const tail = hasOutput ? [] : error.tail;
      return isTold && !tail.length ? null : [isTold ? null : error.kind, error.message, tail];
    },
    make: ([kind, message, tail]) => [
      kind === null ? null : h("p", { class: "pixirnb-error" }, h("b", { class: "pixirnb-bad" }, kind), message ? h("span", {}, proseOf(message)) : null),
      tail.length ? block(painted(tail), "The last it printed", "pixirnb-tail") : null,
    ],
  },
  {
    name: "What the last attempt left",
    titled: true,
    pick: ({ left }) => left,
    make: (left) => [
      h("p", {}, `Attempt ${left.attempt}: ${left.status.replaceAll("_", " ")}. `, left.summary),
      left.error ? h("p", { class: "pixirnb-error" }, h("b", { class: "pixirnb-bad" }, left.error.kind), h("span", {}, proseOf(left.error.message))) : null,
    ],
  },
  { name: "Changes", own: "changes" },
  {
    name: "Seams",
    titled: true,
    pick: ({ seams }) => (seams.length ? seams : null),
    make: (seams, panel) => seamsOf(seams, panel.stage, { remark: panel.remark, choose: (name) => panel.choose(name), wake: () => panel.wake() }),
  },
  { name: "Conversation", own: "conversation" },
  { name: "Output", own: "output" },
  { name: "Value", own: "value" },
  {
    name: "Attempts",
    pick: ({ attempts, attempts_count: count }) => (count ? [attempts, count] : null),
    make: ([attempts, count], panel) => panel.fold("Attempts", `Attempts (${count.toLocaleString("en-US")})`, count > 1, attemptsOf(attempts, panel)),
  },
  {
    name: "Evidence",
    pick: ({ checks, limitations, bundle }) => (checks.length || limitations.length || bundle ? [checks, limitations, bundle] : null),
    make: ([checks, limitations, bundle], panel) => panel.fold("Evidence", evidenceTitle(checks, bundle), checks.some((check) => !check.passed) || limitations.length > 0, evidenceOf(checks, limitations, bundle, panel.stage)),
  },
  {
    name: "Files",
    pick: ({ artifacts, artifacts_count: count }) => (count ? [artifacts, count] : null),
    make: ([artifacts, count], panel) => panel.fold("Files", `Files kept (${count.toLocaleString("en-US")})`, false, [
      h("ul", { class: "pixirnb-files" }, artifacts.map(({ path, bytes }) => h("li", {}, h("code", {}, path), h("span", { class: "pixirnb-mute" }, sizeOf(bytes))))),
      count > artifacts.length ? h("p", { class: "pixirnb-mute" }, `${(count - artifacts.length).toLocaleString("en-US")} more are not shown.`) : null,
    ]),
  },
  {
    name: "Says",
    pick: ({ says }) => says,
    make: (says, panel) => panel.fold("Says", SAYS[says.form] ?? "What it was told", false, saysOf(says)),
  },
  {
    name: "Inputs",
    pick: ({ inputs, env }) => (inputs.length || env.length ? [inputs, env] : null),
    make: ([inputs, env], panel) => panel.fold("Inputs", `What it was given (${inputs.length + env.length})`, false, [
      inputs.map(({ name, from, form, text, cut }) => h(
        "div",
        { class: "pixirnb-given" },
        h("div", {}, h("code", {}, name), " ", h("span", { class: "pixirnb-mute" }, from)),
        form === "missing" ? h("p", { class: "pixirnb-mute" }, "not known yet") : form === "large" ? h("p", { class: "pixirnb-mute" }, "too large to be shown here") : block(text, name, "pixirnb-brief"),
        cut ? h("p", { class: "pixirnb-mute" }, `${cut.toLocaleString("en-US")} characters more are not shown.`) : null,
      )),
      env.length ? h("dl", { class: "pixirnb-facts" }, env.map(({ name, text }) => [h("dt", {}, h("code", {}, name)), h("dd", {}, text)])) : null,
    ]),
  },
  {
    name: "Neighbours",
    pick: ({ needs, holds, needs_count: before, holds_count: after }) => (before || after ? [needs, holds, before, after] : null),
    make: ([needs, holds, before, after], panel) => [
      neighboursOf("Needs", needs, before, panel),
      neighboursOf("Needed by", holds, after, panel),
    ],
  },
  {
    name: "Settings",
    pick: (answer) => settingsOf(answer),
    make: (pairs, panel) => panel.fold("Settings", "Limits and claims", false, h("dl", { class: "pixirnb-facts" }, pairs.map(([name, words, names]) => [
      h("dt", {}, name),
      h("dd", {}, words, names ? namesOf(names, 40) : null),
    ]))),
  },
];

const SAYS = {
  command: "Command",
  argv: "Command",
  call: "Function",
  task: "Task",
  ask: "Question as written",
  merge: "What it merges",
};

function attemptsOf(attempts, panel) {
  let course = 0;
  return h("ol", { class: "pixirnb-attempts" }, attempts.map((each) => {
    const isResumed = each.course > 1 && each.course !== course;
    course = each.course;
    return [
      isResumed ? h("li", { class: "pixirnb-mute pixirnb-course" }, `resumed, course ${each.course}`) : null,
      attemptOf(each, panel),
    ];
  }));
}

function attemptOf(each, panel) {
  const { retry, error } = each;
  const ended = each.signal !== null ? `signal ${each.signal}` : each.exit_code ? `exit ${each.exit_code}` : "";
  const facts = [spanOf(each.elapsed_ms), momentOf(each.started_at ?? each.scheduled_at), ended].filter(Boolean).join(" · ");
  const see = each.output || each.status === "running"
    ? button("Output", () => panel.seeAttempt(each.attempt), { pressed: panel.seen === each.attempt, kind: "pixirnb-slight" })
    : null;
  see?.setAttribute("aria-label", `Output of attempt ${each.attempt}`);
  return h(
    "li",
    {},
    h("div", { class: "pixirnb-beside" }, h("b", { class: "pixirnb-count" }, `${each.attempt}`), markBadge(panel.stage, each.mark), h("span", { class: "pixirnb-mute" }, facts), h("span", { class: "pixirnb-right" }, see)),
    error ? h("p", { class: "pixirnb-mute pixirnb-clamp" }, `${error.kind}: ${error.message}`) : null,
    retry ? h("p", { class: "pixirnb-mute" }, retry.by ? `Tried again by ${retry.by}.` : `Tried again after ${spanOf(retry.delay_ms)}, as ${retry.class.replaceAll("_", " ")}.`) : null,
  );
}

function evidenceTitle(checks, bundle) {
  const failed = checks.filter((check) => !check.passed).length;
  if (failed) return `Evidence: ${failed} of ${plural(checks.length, "check")} failed`;
  if (checks.length) return `Evidence: ${plural(checks.length, "check")} passed`;
  return bundle?.dependent_safe ? "Evidence: steps may build on it" : "Evidence";
}

function evidenceOf(checks, limitations, bundle, stage) {
  const verdict = (passed) => markIcon(stage, passed ? { key: "checkpoint_ready", tone: "ready" } : { key: "failed", tone: "bad" });
  return [
    checks.map(({ name, argument, passed, saw }) => h(
      "div",
      { class: "pixirnb-check" },
      h("div", {}, verdict(passed), " ", h("b", {}, name.replaceAll("_", " ")), " ", argument ? h("code", {}, argument) : null, h("span", { class: "pixirnb-hidden" }, passed ? "passed" : "failed")),
      saw ? block(saw, `What ${name} saw`, "pixirnb-brief") : null,
    )),
    limitations.length ? [h("h4", {}, "Known limitations"), h("ul", {}, limitations.map((each) => h("li", {}, each)))] : null,
    bundle ? h("dl", { class: "pixirnb-facts" }, bundleFacts(bundle).map(([name, words]) => [h("dt", {}, name), h("dd", {}, words)])) : null,
    bundle?.validation?.errors.length ? h("ul", {}, bundle.validation.errors.map((each) => h("li", { class: "pixirnb-bad" }, each))) : null,
  ];
}

function bundleFacts(bundle) {
  return [
    ["Steps may build on it", bundle.dependent_safe ? "yes" : "no"],
    ["Produced", bundle.produced],
    bundle.validation ? ["Its shape", bundle.validation.passed ? "valid" : "not valid"] : null,
    bundle.schema_id ? ["Schema", bundle.schema_id] : null,
    bundle.provenance ? ["Told by", bundle.provenance.replaceAll("_", " ")] : null,
    bundle.files ? ["Changed", plural(bundle.files, "file")] : null,
  ].filter(Boolean);
}

function saysOf(says) {
  const more = says.cut ? h("p", { class: "pixirnb-mute" }, `${says.cut.toLocaleString("en-US")} more are not shown.`) : null;
  switch (says.form) {
    case "argv":
      return [h("p", { class: "pixirnb-words" }, says.words.flatMap((word) => [h("code", {}, word), " "])), more];
    case "call":
      return [
        h("p", {}, h("code", {}, says.function)),
        says.arguments.length ? h("dl", { class: "pixirnb-facts" }, says.arguments.map(({ name, text }) => [h("dt", {}, h("code", {}, name)), h("dd", {}, text)])) : null,
        says.source ? block(says.source, "Source") : null,
        more,
      ];
    case "merge":
      return [h("p", {}, namesOf(says.steps, 40)), more];
    default:
      return [block(says.text, SAYS[says.form] ?? "Text"), says.cut ? h("p", { class: "pixirnb-mute" }, `${says.cut.toLocaleString("en-US")} characters more are not shown.`) : null];
  }
}

function neighboursOf(words, steps, count, panel) {
  if (!count) return null;
  return h(
    "div",
    { class: "pixirnb-neighbours" },
    h("h4", {}, words),
    steps.map(({ step, mark }) => {
      const link = button([markIcon(panel.stage, mark), " ", step], () => panel.choose(step), { kind: "pixirnb-slight", title: mark.word });
      link.setAttribute("aria-label", `${step}: ${mark.word}`);
      return link;
    }),
    count > steps.length ? h("span", { class: "pixirnb-mute" }, `and ${(count - steps.length).toLocaleString("en-US")} more`) : null,
  );
}

/** `[name, words, names]` of what limits a step and what it claims. */
function settingsOf({ timeout, agent, posture, workspace, cwd, read_set: reads, write_set: writes, kind, wave }) {
  const pairs = [
    ["Time-out", timeout.ms === null ? "none" : `${spanOf(timeout.ms)}${timeout.source ? `, ${timeout.source}` : ""}`],
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
