// The session of an agent's attempt as a conversation. The kernel is asked for what is new when it says that there is something,
// for earlier pages when a person wants them; no more than a few hundred entries are in the page at a time.

import { disclosure } from "../dom/content.js";
import { button, h, setChildren, setText } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";
import { entryNode, TURN_LABELS } from "./entries.js";

const PAGE_LENGTH = 60;
const MAX_ENTRIES = 240; // what is further from where one reads is let go, and can be asked for again
const SESSION_REFRESH_MS = 250;
const SESSION_POLL_MS = 1000; // a run of another process gives no sign: it is asked now and then

export class Conversation {
  constructor(panel) {
    this.panel = panel;
    this.store = panel.store;
    this.openDisclosures = new Map();
    this.title = h("h4", {}, "Conversation");
    this.facts = h("span", { class: "pixirnb-mute pixirnb-turn" });
    this.attempts = h("select", { class: "pixirnb-field pixirnb-attempt-select", "aria-label": "Conversation of attempt", on: { change: () => this.selectAttempt() } });
    this.about = h("p", { class: "pixirnb-mute" });
    this.earlier = button("Earlier", () => this.loadEarlier(), { kind: "pixirnb-slight" });
    this.list = h("div", { class: "pixirnb-entries", role: "log", "aria-label": "Messages and tool calls" });
    this.saying = h("div", { class: "pixirnb-spoken" });
    // Words that come letter by letter are not read out; the message they become is.
    this.draft = h("div", { class: "pixirnb-speech pixirnb-message-out pixirnb-draft", "aria-live": "off", hidden: true }, h("div", { class: "pixirnb-whose" }, "Agent (typing)"), this.saying);
    this.scroller = h("div", { class: "pixirnb-conversation-scroll", tabindex: 0, role: "group", "aria-label": "Conversation, scrollable" }, this.earlier, this.list, this.draft);
    this.scroller.addEventListener("scroll", () => this.onScroll());
    this.newest = button("Jump to latest", () => this.goToEnd(), { kind: "pixirnb-slight pixirnb-newest" });
    this.root = h(
      "section",
      { class: "pixirnb-part pixirnb-conversation", role: "group", "aria-label": "Conversation", hidden: true },
      h("div", { class: "pixirnb-flex-row" }, this.title, this.attempts, h("span", { class: "pixirnb-right" }, this.facts)),
      this.about,
      this.scroller,
      this.newest,
    );
    this.reset();
  }

  /** From the panel's answer about its step. */
  draw({ step, kind, attempts_count: count, attempts }, moment) {
    if (kind !== "agent" || !count) {
      this.clear();
      return;
    }
    const last = attempts.at(-1);
    const state = `${last.attempt}|${last.status}`;
    const isOther = step !== this.step || moment !== this.moment;
    if (step !== this.step) this.picked = null;
    if (isOther || (this.picked === null && last.attempt !== this.lastAttempt)) {
      [this.step, this.moment] = [step, moment];
      this.reset();
    } else if (state === this.state) return;
    [this.state, this.lastAttempt] = [state, last.attempt];
    this.request();
  }

  /** Nothing to show. */
  clear() {
    this.step = null;
    this.picked = null;
    this.root.hidden = true;
    this.reset();
  }

  reset() {
    clearTimeout(this.timer);
    this.timer = null;
    this.session = null;
    this.seq = 0;
    this.first = 1; // number of the first entry in the page
    this.nodes = []; // entries from there on
    this.count = 0;
    this.isRunning = false;
    this.isAtEnd = true;
    this.isDrawn = false;
    this.number = (this.number ?? 0) + 1; // what was asked before is not for this
  }

  /** Another attempt. */
  selectAttempt() {
    this.picked = Number(this.attempts.value);
    this.reset();
    this.request();
  }

  /** Called with every drawing: whether the kernel said there is more. */
  poll(stirred) {
    if (!this.isRunning || this.moment !== null) return;
    if (stirred?.has(this.session)) this.request();
    else if (this.store.head.live === "elsewhere" && performance.now() - this.asked > SESSION_POLL_MS) this.request();
  }

  get hasEnd() {
    return this.first + this.nodes.length > this.count;
  }

  request() {
    if (this.step === null) return;
    if (this.timer) {
      this.isStale = true; // one is on its way; when it is there, the next goes out
      return;
    }
    this.isStale = false;
    const wait = this.isDrawn ? Math.max(0, this.asked + SESSION_REFRESH_MS - performance.now()) : 0;
    this.timer = setTimeout(async () => {
      this.asked = performance.now();
      const limit = Math.min(200, Math.max(PAGE_LENGTH, this.nodes.length + PAGE_LENGTH));
      const message = await this.fetch({ since: this.seq || null, limit });
      if (!message) return;
      this.timer = null;
      if (message.ok) this.onAnswer(message.answer);
      if (message.ok && this.isStale) this.request();
    }, wait);
  }

  /** The kernel's message; null where something else is shown by now. */
  async fetch(more) {
    const { number } = this;
    const message = await this.store.ask({ ask: "session", step: this.step, attempt: this.picked, at: this.moment, ...more });
    return number === this.number ? message : null;
  }

  onAnswer(answer) {
    const isNew = !this.isDrawn || answer.session_id !== this.session;
    const held = this.hasEnd;
    const known = this.first + this.nodes.length - 1;
    const beyond = answer.entries.filter(({ n }) => n > known);
    if (!isNew && held && beyond.length && beyond[0].n !== known + 1) {
      this.reset(); // more was said meanwhile than one page holds
      this.request();
      return;
    }
    Object.assign(this, { session: answer.session_id, seq: answer.seq, count: answer.count, isRunning: answer.is_running });
    if (isNew) {
      this.isDrawn = true;
      this.first = answer.entries[0]?.n ?? 1;
      this.nodes = answer.entries.map((entry) => entryNode(entry, this));
      setChildren(this.list, this.nodes);
    } else {
      for (const entry of answer.entries) if (entry.n >= this.first && entry.n <= known) this.replace(entry);
      if (held) this.append(beyond);
    }
    this.drawHead(answer);
    this.drawDraft(answer.saying);
    this.root.hidden = answer.session_id === null;
    this.panel.drawOutput(this.panel.answer); // the same words stand in both
    this.updateScroll();
  }

  replace(entry) {
    const before = this.nodes[entry.n - this.first];
    const held = before.contains(document.activeElement);
    const node = entryNode(entry, this);
    before.replaceWith(node);
    this.nodes[entry.n - this.first] = node;
    if (held) node.querySelector("summary")?.focus({ preventScroll: true });
  }

  append(entries) {
    const fresh = entries.map((entry) => entryNode(entry, this));
    this.nodes.push(...fresh);
    this.list.append(...fresh);
    const fallbackFocus = this.nodes.length - MAX_ENTRIES;
    if (fallbackFocus > 0 && this.isAtEnd) this.drop(this.nodes.splice(0, fallbackFocus), fallbackFocus);
  }

  drop(nodes, before) {
    for (const node of nodes) node.remove();
    this.first += before;
  }

  /** A page of what was before, above what is read now. */
  async loadEarlier() {
    const { scroller } = this;
    const fromEnd = scroller.scrollHeight - scroller.scrollTop;
    const hadFocus = document.activeElement === this.earlier;
    this.earlier.disabled = true;
    const message = await this.fetch({ before: this.first, limit: PAGE_LENGTH });
    this.earlier.disabled = false;
    if (!message?.ok) return;
    const entries = message.answer.entries.filter(({ n }) => n < this.first);
    const fresh = entries.map((entry) => entryNode(entry, this));
    this.list.prepend(...fresh);
    this.nodes.unshift(...fresh);
    this.first -= fresh.length;
    this.drop(this.nodes.splice(MAX_ENTRIES), 0);
    this.updateScroll();
    scroller.scrollTop = scroller.scrollHeight - fromEnd;
    if (hadFocus) (this.earlier.hidden ? scroller : this.earlier).focus({ preventScroll: true });
  }

  goToEnd() {
    this.isAtEnd = true;
    if (this.hasEnd) this.updateScroll();
    else {
      this.reset();
      this.request();
    }
    this.scroller.focus({ preventScroll: true });
  }

  onScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.isAtEnd = scrollHeight - scrollTop - clientHeight < 24;
    this.newest.hidden = this.isAtEnd && this.hasEnd;
  }

  /** The end stays in sight unless a person went up to read. */
  updateScroll() {
    this.earlier.hidden = this.first <= 1;
    setText(this.earlier, `Earlier (${(this.first - 1).toLocaleString("en-US")})`);
    if (this.isAtEnd && this.hasEnd) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.newest.hidden = this.isAtEnd && this.hasEnd;
  }

  drawHead({ attempts, attempt, turn, usage, sentence, is_running: isRunning }) {
    const shown = JSON.stringify([attempts, attempt]);
    this.attempts.hidden = attempts.length < 2;
    if (shown !== this.attemptsShown) {
      this.attemptsShown = shown;
      setChildren(this.attempts, attempts.map((each) => h("option", { value: each, selected: each === attempt }, `attempt ${each}`)));
    }
    const [words, tone] = turn === "running" && !isRunning ? ["session not closed", "half"] : (TURN_LABELS[turn] ?? [turn, "idle"]);
    const tokens = usage ? `${pluralize(usage.requests, "request")} · ${usage.input_tokens.toLocaleString("en-US")} tokens in, ${usage.output_tokens.toLocaleString("en-US")} out` : "";
    const facts = JSON.stringify([words, tokens]);
    if (facts !== this.factsShown) {
      this.factsShown = facts;
      setChildren(this.facts, tokens ? `${tokens} · ` : "", h("span", { class: `pixirnb-${tone}` }, words));
    }
    setText(this.about, sentence);
    this.about.hidden = !sentence;
  }

  drawDraft(saying) {
    this.draft.hidden = !saying;
    if (saying) setText(this.saying, `${saying.is_cut ? "… " : ""}${saying.text}`);
  }

  /** An entry that opens; how it stands is kept when it is drawn again. */
  disclosure({ n }, words, ...body) {
    const key = `${this.session ?? this.step}|${n}`;
    return disclosure(words, { open: this.openDisclosures.get(key) ?? false, toggled: (isOpen) => this.openDisclosures.set(key, isOpen), kind: "pixirnb-entry-details" }, body);
  }
}
