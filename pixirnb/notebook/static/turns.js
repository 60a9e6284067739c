// What was said and done in an agent's session, an entry each, as nodes. All of it is text of others: it is put in as text, and
// says by its frame whose it is.

const TURN_WORDS = {
  running: ["under way", "live"],
  completed: ["came to its end", "idle"],
  partial_failed: ["broke off", "half"],
  failed: ["failed", "bad"],
  interrupted: ["interrupted", "half"],
  timed_out: ["timed out", "late"],
};

const ORIGINS = { prompt: "What it was told", person: "A person", harness: "Told by the run" };
const VERDICTS = { allow: ["Allowed", "ready"], deny: ["Denied", "bad"], unattended: ["Nobody was there to be asked", "idle"] };
const MODES = { auto: "may act unasked", ask: "asks first", read_only: "reads only" };

const ENTRIES = {
  started: ({ agent, runner, model, permission_mode: mode, continues, command }) =>
    remarkOf([
      [agent, runner, model, MODES[mode] ?? mode].filter(Boolean).join(" · "),
      command.length ? [" ", h("code", {}, command.join(" "))] : null,
      continues ? [", goes on from ", h("code", {}, continues)] : null,
    ]),
  told: (entry, talk) =>
    entry.origin === "prompt"
      ? talk.fold(entry, [h("b", {}, ORIGINS.prompt), h("span", { class: "pixirnb-mute pixirnb-cut" }, firstLine(entry.text))], wordsOf(entry))
      : speech("pixirnb-told", ORIGINS[entry.origin] ?? "Told", wordsOf(entry)),
  said: (entry) =>
    speech(
      entry.is_partial ? "pixirnb-said pixirnb-broken" : "pixirnb-said",
      "Agent",
      [wordsOf(entry), entry.is_partial ? h("p", { class: "pixirnb-late" }, h("b", {}, "Cut off here."), " It never finished this message.") : null],
    ),
  thought: (entry, talk) => talk.fold(entry, [h("b", {}, "Thought"), h("span", { class: "pixirnb-mute pixirnb-cut" }, firstLine(entry.text))], wordsOf(entry)),
  tool: (entry, talk) => talk.fold(entry, toolLine(entry, talk.stage), toolBody(entry)),
  permission: (entry, talk) => {
    const [words, tone] = VERDICTS[entry.verdict] ?? (entry.verdict ? [entry.verdict, "idle"] : ["Waits for a person", "ask"]);
    return talk.fold(
      entry,
      [h("b", { class: `pixirnb-${tone}` }, words), " ", h("code", {}, entry.name), h("span", { class: "pixirnb-cut" }, entry.about)],
      [
        entry.by && entry.verdict ? h("p", {}, `By ${entry.by}`, entry.note ? [": ", h("span", { class: "pixirnb-quote" }, entry.note)] : "") : null,
        givenOf(entry),
      ],
    );
  },
  report: (entry) =>
    speech("pixirnb-reported", `Its report: ${entry.status.replaceAll("_", " ")}`, [
      entry.text ? wordsOf(entry) : null,
      entry.limitations.length ? h("ul", {}, entry.limitations.map((each) => h("li", {}, "Known limitation: ", each))) : null,
    ]),
  news: (entry) => speech("pixirnb-told", [entry.title, entry.whose ? [" ", h("code", {}, entry.whose)] : ""], entry.text ? wordsOf(entry) : null),
  failed: (entry) => {
    const [words, tone] = TURN_WORDS[entry.status] ?? [entry.status, "bad"];
    const spans = [entry.elapsed_ms === null ? "" : `after ${spanOf(entry.elapsed_ms)}`, entry.timeout_ms === null || entry.status !== "timed_out" ? "" : `of ${spanOf(entry.timeout_ms)}`];
    return speech("pixirnb-reported pixirnb-broken", h("b", { class: `pixirnb-${tone}` }, `The turn ${entry.status === "interrupted" ? "was " : ""}${words}`, ` ${spans.filter(Boolean).join(" ")}`.trimEnd()), [
      entry.text || entry.error_kind !== entry.status ? h("p", { class: "pixirnb-error" }, h("code", {}, entry.error_kind), h("span", {}, entry.text)) : null,
    ]);
  },
  other: (entry, talk) => talk.fold(entry, h("span", { class: "pixirnb-mute" }, entry.name), wordsOf(entry)),
};

/** One entry, numbered so that it can be put in the place of what it was before. */
function entryOf(entry, talk) {
  const make = ENTRIES[entry.kind] ?? ENTRIES.other;
  return h("li", { class: "pixirnb-entry" }, make(entry, talk));
}

function speech(kind, whose, ...body) {
  return h("div", { class: `pixirnb-speech ${kind}` }, h("div", { class: "pixirnb-whose" }, whose), body);
}

function remarkOf(words) {
  return h("p", { class: "pixirnb-mute pixirnb-clamp" }, words);
}

function firstLine(text) {
  return text.split("\n", 1)[0].slice(0, 200);
}

function wordsOf({ text, cut }) {
  return [h("div", { class: "pixirnb-spoken" }, text), moreOf(cut)];
}

function moreOf(cut) {
  return cut ? h("p", { class: "pixirnb-mute" }, `${cut.toLocaleString("en-US")} characters more are not shown.`) : null;
}

function toolLine({ name, about, ok, is_orphan: isOrphan, is_barred: isBarred }, stage) {
  const mark = ok === null ? { key: "running", tone: "live" } : ok ? { key: "checkpoint_ready", tone: "ready" } : { key: "failed", tone: "bad" };
  const words = ok === null ? "under way" : ok ? "done" : isBarred ? "never allowed" : isOrphan ? "result lost" : "failed";
  return [
    markIcon(stage, mark),
    " ",
    h("code", {}, name),
    h("span", { class: "pixirnb-cut" }, about),
    ok ? h("span", { class: "pixirnb-hidden" }, words) : h("span", { class: `pixirnb-${mark.tone}` }, words),
  ];
}

function toolBody(entry) {
  const { output, output_cut: cut, error, ok } = entry;
  return [
    givenOf(entry),
    error ? h("p", { class: "pixirnb-error" }, h("b", { class: "pixirnb-bad" }, error.kind), h("span", {}, error.message)) : null,
    output && output !== error?.message ? [h("h4", {}, "Result"), block(output, `Result of ${entry.name}`, "pixirnb-given-text"), moreOf(cut)] : null,
    ok !== null && !output && !error ? h("p", { class: "pixirnb-mute" }, "It gave nothing back.") : null,
  ];
}

/** What a tool is given, each argument whole, as far as the kernel sent it. */
function givenOf({ name, given, given_cut: cut }) {
  if (!given.length) return null;
  return [
    given.map((each) => {
      const isShort = each.text.length <= 60 && !each.text.includes("\n");
      return h(
        "div",
        { class: isShort ? "pixirnb-given pixirnb-short" : "pixirnb-given" },
        each.name ? h("span", { class: "pixirnb-mute" }, each.name) : null,
        isShort ? h("code", {}, each.text) : [block(each.text, `${each.name || "What is given"} of ${name}`, "pixirnb-given-text"), moreOf(each.cut)],
      );
    }),
    cut ? h("p", { class: "pixirnb-mute" }, `${plural(cut, "argument")} more are not shown.`) : null,
  ];
}
