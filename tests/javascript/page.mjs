// As much of a page as the modules touch when they make nodes. Import it first.

class Node {
  constructor(name) {
    Object.assign(this, { localName: name, childNodes: [], attributes: new Map(), listeners: new Map(), parent: null, hidden: false });
    this.style = { setProperty: (property, value) => (this.style[property] = value) };
  }

  get children() {
    return this.childNodes.filter(({ localName }) => localName !== "#text");
  }

  get textContent() {
    return this.childNodes.map((each) => each.data ?? each.textContent).join("");
  }

  set textContent(words) {
    this.replaceChildren(words);
  }

  append(...nodes) {
    for (const each of nodes) this.insertBefore(each, null);
  }

  prepend(node) {
    this.insertBefore(node, this.childNodes[0]);
  }

  insertBefore(node, next) {
    const child = node instanceof Node ? node : Object.assign(new Node("#text"), { data: String(node) });
    child.remove();
    child.parent = this;
    this.childNodes.splice(next ? this.childNodes.indexOf(next) : this.childNodes.length, 0, child);
  }

  replaceChildren(...nodes) {
    this.childNodes = [];
    this.append(...nodes);
  }

  remove() {
    const siblings = this.parent?.childNodes ?? [];
    if (siblings.includes(this)) siblings.splice(siblings.indexOf(this), 1);
  }

  get classList() {
    const words = () => new Set((this.getAttribute("class") ?? "").split(" ").filter(Boolean));
    const toggle = (word, isOn = !words().has(word)) => {
      const rest = [...words()].filter((each) => each !== word);
      this.setAttribute("class", [...rest, ...(isOn ? [word] : [])].join(" "));
      return isOn;
    };
    return { toggle, contains: (word) => words().has(word), add: (word) => toggle(word, true), remove: (word) => toggle(word, false) };
  }

  get lastChild() {
    return this.childNodes.at(-1) ?? null;
  }

  getBoundingClientRect() {
    return { left: 0, top: 0, width: 0, height: 0 };
  }

  scrollIntoView() {}

  contains(node) {
    return node === this || this.childNodes.some((each) => each.contains(node));
  }

  setAttribute(name, value) {
    this.attributes.set(name, value);
    if (name === "hidden") this.hidden = true;
  }

  removeAttribute(name) {
    this.attributes.delete(name);
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  addEventListener(name, listener, { signal = null } = {}) {
    this.listeners.set(name, listener);
    signal?.addEventListener("abort", () => this.listeners.delete(name));
  }

  removeEventListener(name) {
    this.listeners.delete(name);
  }

  /** Let an event happen here. */
  fire(name, detail = {}) {
    this.listeners.get(name)?.({ currentTarget: this, target: this, preventDefault() {}, stopPropagation() {}, ...detail });
  }
}

globalThis.Node = Node;
globalThis.document = {
  createElement: (name) => new Node(name),
  createElementNS: (_, name) => new Node(name),
  createTextNode: (data) => Object.assign(new Node("#text"), { data }),
  importNode: (node) => node,
  activeElement: null,
};
globalThis.DOMParser = class {
  parseFromString() {
    return { documentElement: { children: [] } };
  }
};

/** An element as `[name, class, text]`, an own text as itself. */
export function outline(node) {
  return node.data ?? (typeof node === "string" ? node : [node.localName, node.getAttribute("class") ?? "", node.textContent]);
}
