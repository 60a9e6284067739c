// Nodes of a page. Text goes in as text and nothing is ever parsed as markup but the shapes that ship with the package.
// Attribute names and classes are words of ours alone; run data stands only in text and in values that cannot act.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An HTML element: `h("button", { class: "pixirnb-button", on: { click } }, "Cancel")`. */
function h(tag, attributes, ...children) {
  return made(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function s(tag, attributes, ...children) {
  return made(document.createElementNS(SVG_SPACE, tag), attributes, children);
}

const SHAPES = new Map();

/** The nodes of one of the package's own shapes, made anew each time. */
function shapeOf(markup) {
  if (!SHAPES.has(markup)) {
    const text = `<svg xmlns="${SVG_SPACE}">${markup}</svg>`;
    const page = new DOMParser().parseFromString(text, "image/svg+xml");
    SHAPES.set(markup, [...page.documentElement.children]);
  }
  return SHAPES.get(markup).map((child) => document.importNode(child, true));
}

/** A mark's shape as a small picture of its own, silent for readers: its word stands beside it. */
function icon(mark, size = 14) {
  return s(
    "svg",
    {
      class: `pixirnb-icon pixirnb-${mark.tone}`,
      width: size,
      height: size,
      viewBox: "0 0 16 16",
      "aria-hidden": "true",
    },
    shapeOf(mark.shape),
  );
}

/** Whether a button cannot be pressed now. */
function isBarred(element) {
  return element.disabled || element.getAttribute("aria-disabled") === "true";
}

/** A button that shows words. `pressed` makes it a switch. */
function button(words, click, { title = null, pressed = null, kind = "", disabled = false } = {}) {
  return h(
    "button",
    {
      type: "button",
      class: `pixirnb-button ${kind}`.trim(),
      title,
      "aria-pressed": pressed === null ? null : String(pressed),
      disabled,
      on: { click: (event) => isBarred(event.currentTarget) || click(event) },
    },
    words,
  );
}

/** Put `children` in the place of what an element held, without touching it where nothing changed. */
function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set an element's text where it differs. */
function say(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
