// Which names of a module are declared where: what a compiler would check, read with the parser that node itself carries.
// It needs `node --expose-internals`; `parse` is null without it.

import { createRequire } from "node:module";

export const parse = (() => {
  try {
    return createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn").parse;
  } catch {
    return null;
  }
})();

/** Every node of a syntax tree. */
export function* nodesOf(tree) {
  if (Array.isArray(tree)) for (const each of tree) yield* nodesOf(each);
  else if (tree && typeof tree === "object") {
    if (typeof tree.type === "string") yield tree;
    for (const value of Object.values(tree)) if (value && typeof value === "object") yield* nodesOf(value);
  }
}

/** The names that a pattern declares. */
function namesIn(pattern) {
  switch (pattern?.type) {
    case "Identifier":
      return [pattern.name];
    case "ObjectPattern":
      return pattern.properties.flatMap((each) => namesIn(each.value ?? each.argument));
    case "ArrayPattern":
      return pattern.elements.flatMap(namesIn);
    case "AssignmentPattern":
      return namesIn(pattern.left);
    case "RestElement":
      return namesIn(pattern.argument);
    default:
      return [];
  }
}

/** The names that statements declare in the scope they stand in. */
export function declaredBy(statements) {
  return statements.flatMap((statement) => {
    const each = statement.declaration ?? statement;
    if (each.type === "VariableDeclaration") return each.declarations.flatMap(({ id }) => namesIn(id));
    if (each.type === "ImportDeclaration") return each.specifiers.map(({ local }) => local.name);
    return /^(Function|Class)Declaration$/.test(each.type) && each.id ? [each.id.name] : [];
  });
}

/** `{free, used}`: names that are read and declared nowhere in the module, and those of its top level that are read. */
export function readNames(tree) {
  const [free, used] = [new Set(), new Set()];
  const top = new Set(declaredBy(tree.body));
  const read = (name, scopes) => {
    const scope = scopes.findLast((each) => each.has(name));
    if (!scope) free.add(name);
    else if (scope === top) used.add(name);
  };
  const visitAll = (nodes, scopes) => nodes.forEach((each) => visit(each, scopes));
  const visitPattern = (pattern, scopes) => {
    for (const each of nodesOf(pattern)) {
      if (each.type === "AssignmentPattern") visit(each.right, scopes);
      if (each.type === "Property" && each.computed) visit(each.key, scopes);
    }
  };
  function visit(node, scopes) {
    if (!node || typeof node !== "object") return;
    if (Array.isArray(node)) {
      visitAll(node, scopes);
      return;
    }
    switch (node.type) {
      case "Identifier":
        read(node.name, scopes);
        return;
      case "ImportDeclaration":
        return;
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression": {
        const inner = [...scopes, new Set(node.params.flatMap(namesIn))];
        node.params.forEach((each) => visitPattern(each, inner));
        visit(node.body, inner);
        return;
      }
      case "ClassDeclaration":
        visit(node.superClass, scopes);
        for (const { value } of node.body.body) visit(value, scopes);
        return;
      case "VariableDeclaration":
        for (const { id, init } of node.declarations) {
          visitPattern(id, scopes);
          visit(init, scopes);
        }
        return;
      case "BlockStatement":
        visitAll(node.body, [...scopes, new Set(declaredBy(node.body))]);
        return;
      case "SwitchStatement": {
        const inner = [...scopes, new Set(declaredBy(node.cases.flatMap((each) => each.consequent)))];
        visit(node.discriminant, inner);
        for (const { test, consequent } of node.cases) visit([test, ...consequent], inner);
        return;
      }
      case "ForStatement":
      case "ForOfStatement":
      case "ForInStatement": {
        const inner = [...scopes, new Set(declaredBy([node.init ?? node.left].filter(Boolean)))];
        visit([node.init, node.left, node.right, node.test, node.update, node.body], inner);
        return;
      }
      case "CatchClause":
        visit(node.body, [...scopes, new Set(namesIn(node.param))]);
        return;
      case "MemberExpression":
        visit(node.object, scopes);
        if (node.computed) visit(node.property, scopes);
        return;
      case "Property":
        if (node.computed) visit(node.key, scopes);
        visit(node.value, scopes);
        return;
      default:
        visitAll(Object.values(node).filter((value) => value && typeof value === "object"), scopes);
    }
  }
  visitAll(tree.body, [top]);
  return { free, used };
}
