// What a step left, as richly as is safe: text, tables, arrays, and pictures that came as PNG.

import { muted, textBlock, truncationNote } from "../dom/content.js";
import { h } from "../dom/elements.js";
import { formatBytes } from "../dom/formatting.js";

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Nodes for a preview of the kernel; an empty list where there is nothing to see. */
export function previewNodes(preview) {
  return [
    preview.sentence ? muted(preview.sentence) : null,
    previewBody(preview),
    truncationNote(preview.cut),
  ].filter(Boolean);
}

/** What a value is, in a few words: type, size, extent. */
export function describeValue(preview) {
  const by = (a, b) => `${a.toLocaleString("en-US")} × ${b.toLocaleString("en-US")}`;
  const hasCounts = typeof preview.row_count === "number" && typeof preview.column_count === "number";
  const extent = preview.shape?.length
    ? `${preview.shape.join(" × ")} ${preview.dtype}`
    : hasCounts
      ? by(preview.row_count, preview.column_count)
      : "";
  return [preview.type, extent, formatBytes(preview.bytes)].filter(Boolean).join(" · ");
}

function previewBody(preview) {
  switch (preview.form) {
    case "text":
    case "json":
    case "object":
      return textBlock(preview.text, "Value");
    case "table":
    case "frame":
    case "array":
      return [tableNodes(preview), statsNodes(preview.stats ?? [])];
    case "image":
      return imageNode(preview);
    default:
      return null;
  }
}

function tableNodes({ heads, rows, types = [], row_count: count, column_count: width }) {
  if (!heads.length) return null;
  const isNumber = (cell) => /^[-+]?[\d.,]+(e[-+]?\d+)?$/i.test(cell);
  const isColumn = heads.map((_, index) => rows.length > 0 && rows.every((row) => isNumber(row[index] ?? "")));
  const side = (index) => (isColumn[index] ? "pixirnb-num" : null);
  const more = [
    count > rows.length ? `${(count - rows.length).toLocaleString("en-US")} more rows` : "",
    width > heads.length ? `${(width - heads.length).toLocaleString("en-US")} more columns` : "",
  ].filter(Boolean);
  return [
    h(
      "div",
      { class: "pixirnb-table", tabindex: 0, role: "group", "aria-label": "Value as a table" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, heads.map((head, index) => h("th", { class: side(index) }, head, types[index] ? h("small", {}, types[index]) : null)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, index) => h("td", { class: side(index) }, cell))))),
      ),
    ),
    more.length ? muted(`${more.join(", ")} are not shown.`) : null,
  ];
}

function statsNodes(stats) {
  return stats.length ? h("dl", { class: "pixirnb-facts" }, stats.map(({ name, text }) => [h("dt", {}, name), h("dd", {}, text)])) : null;
}

/** Only a PNG goes into the page: a picture format without words or scripts in it. */
function imageNode({ mime, data, type }) {
  if (mime !== "image/png" || !BASE64.test(data)) return muted("This image cannot be shown here.");
  return h("img", { class: "pixirnb-value-picture", src: `data:image/png;base64,${data}`, alt: type ? `Value (${type}) as an image` : "Value as an image" });
}
