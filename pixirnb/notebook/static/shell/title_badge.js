// A badge before the title of the browser's tab while runs need a person: `◆ release · …`, several runs counted.

const BADGE = Symbol.for("pixirnb.title_badge.1");

/** The badge of the page: one for the modules of all widgets, and of other versions of pixirnb. */
export function titleBadge() {
  return (globalThis[BADGE] ??= new TitleBadge());
}

class TitleBadge {
  constructor() {
    this.waiting = new Map(); // owner -> name of its workflow
    this.shown = "";
    this.observer = null;
  }

  /** `name` is the workflow of a run that needs a person; null where it needs none. */
  set(owner, name) {
    if ((this.waiting.get(owner) ?? null) === name) return;
    if (name === null) this.waiting.delete(owner);
    else this.waiting.set(owner, name);
    this.draw();
    this.watch();
  }

  draw() {
    const names = [...this.waiting.values()];
    const badge = names.length ? `◆ ${names.length > 1 ? `${names.length} runs` : names[0]} · ` : "";
    const { title } = document;
    const own = title.startsWith(this.shown) ? title.slice(this.shown.length) : title; // the front-end sets it anew now and then
    this.shown = badge;
    if (title !== badge + own) document.title = badge + own;
  }

  watch() {
    this.observer ??= new MutationObserver(() => this.draw());
    const element = document.querySelector("title");
    if (this.waiting.size && element) this.observer.observe(element, { childList: true });
    else this.observer.disconnect();
  }
}
