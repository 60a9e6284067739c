// What a compiler would check: every name is declared or imported, every import is used and is there, members that are read exist.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { declaredBy, nodesOf, parse, readNames } from "./scopes.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const STATIC = path.join(HERE, "../../pixirnb/notebook/static");
const FILES = readdirSync(STATIC, { recursive: true }).filter((each) => each.endsWith(".js"));
const OF_BROWSERS = new Set(
  "DOMParser IntersectionObserver MutationObserver Node Path2D ResizeObserver cancelAnimationFrame document getComputedStyle innerHeight matchMedia navigator requestAnimationFrame window".split(" "),
);
const skip = parse ? false : "node --expose-internals is needed";

function treeOf(file) {
  return parse(readFileSync(path.join(STATIC, file), "utf8"), { ecmaVersion: "latest", sourceType: "module" });
}

function classesOf(tree) {
  return [...nodesOf(tree)].filter(({ type }) => type === "ClassDeclaration");
}

/** Names of `this` that a class gives itself: members, and what is assigned. */
function ownNames(declaration) {
  const names = new Set(declaration.body.body.map(({ key }) => key.name));
  for (const node of nodesOf(declaration)) {
    if (node.type === "CallExpression" && node.callee.property?.name === "assign" && node.arguments[0].type === "ThisExpression") for (const { key } of node.arguments[1].properties) names.add(key.name);
    for (const target of targetsOf(node)) names.add(target);
  }
  return names;
}

/** Names of `this` that an assignment sets. */
function targetsOf({ type, left }) {
  if (type !== "AssignmentExpression") return [];
  return [left, ...(left.elements ?? [])].filter((each) => each?.object?.type === "ThisExpression").map(({ property }) => property.name);
}

for (const file of FILES) {
  test(`${file} loads without a page`, async () => {
    await import(path.join(STATIC, file));
  });

  test(`${file} declares or imports each name it reads`, { skip }, () => {
    const { free } = readNames(treeOf(file));
    assert.deepEqual([...free].filter((name) => !(name in globalThis) && !OF_BROWSERS.has(name)), []);
  });

  test(`${file} uses what it imports and what it keeps to itself`, { skip }, () => {
    const tree = treeOf(file);
    const { used } = readNames(tree);
    const own = tree.body.filter(({ type }) => !type.startsWith("Export"));
    assert.deepEqual(declaredBy(own).filter((name) => !used.has(name)), []);
  });

  test(`${file} sets no getter`, { skip }, () => {
    for (const declaration of classesOf(treeOf(file))) {
      const getters = new Set(declaration.body.body.filter(({ kind }) => kind !== "constructor").map(({ key }) => key.name));
      assert.deepEqual([...nodesOf(declaration)].flatMap(targetsOf).filter((name) => getters.has(name)), []);
    }
  });
}

test("what a class reads of itself is there", { skip }, () => {
  const classes = new Map(FILES.flatMap((file) => classesOf(treeOf(file))).map((each) => [each.id.name, each]));
  const FROM_OUTSIDE = new Set(["ConfirmCard.draw", "RunStore.toast"]); // of the subclasses; of main.js
  const missing = [];
  for (const [name, declaration] of classes) {
    const known = new Set();
    for (let each = declaration; each; each = classes.get(each.superClass?.name)) for (const own of ownNames(each)) known.add(own);
    for (const { type, object, property, init, id } of nodesOf(declaration)) {
      const isMember = type === "MemberExpression" && object.type === "ThisExpression";
      const isTaken = type === "VariableDeclarator" && init?.type === "ThisExpression" && id.type === "ObjectPattern";
      const read = isMember ? [property.name] : isTaken ? id.properties.map(({ key }) => key.name) : [];
      missing.push(...read.filter((each) => !known.has(each)).map((each) => `${name}.${each}`));
    }
  }
  assert.deepEqual(missing.filter((each) => !FROM_OUTSIDE.has(each)), []);
});

test("every export is imported somewhere", { skip }, () => {
  const trees = [...FILES.map(treeOf), ...readdirSync(HERE).filter((each) => each.endsWith(".mjs")).map((each) => treeOf(path.relative(STATIC, path.join(HERE, each))))];
  const imported = new Set(trees.flatMap((tree) => tree.body).filter(({ type }) => type === "ImportDeclaration").flatMap(({ specifiers }) => specifiers.map((each) => each.imported?.name)));
  const exported = FILES.flatMap((file) => declaredBy(treeOf(file).body.filter(({ type }) => type === "ExportNamedDeclaration")));
  assert.deepEqual(exported.filter((name) => !imported.has(name) && !["SEQ", "STATUS"].includes(name)), []);
});
