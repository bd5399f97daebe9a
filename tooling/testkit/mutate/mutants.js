import { parseAst } from "vite";

/**
 * One change to a source file: `text` replaces `before`.
 *
 * @typedef {{ readonly kind: string, readonly start: number, readonly end: number, readonly before: string, readonly text: string, readonly line: number }} Mutant
 */

const boundaries = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const equalities = { "===": "!==", "!==": "===" };
const sums = { "+": "-", "-": "+", "+=": "-=", "-=": "+=", "*": "/", "/": "*" };
const logic = { "&&": "||", "||": "&&" };
/** Calls that clean up. Tests seldom check what they leave behind. */
const cleanups =
  /^(?:abort|cancel|clear\w*|close\w*|delete|detach\w*|dispose\w*|end\w*|forget\w*|free|off|release\w*|remove\w*|rm\w*|stop\w*|terminate|unref|unsubscribe|\[Symbol\.dispose\])$/;

/**
 * Returns every mutation of a file: negated conditions, boundaries moved by one, reversed operators, changed numbers
 * and flags, removed calls.
 *
 * @param {string} text
 * @param {string} path tells TypeScript from JSX
 * @returns {readonly Mutant[]} in the order of the file
 */
export function mutantsOf(text, path) {
  /** @type {Mutant[]} */
  const found = [];
  const add = (kind, node, replacement) => {
    const before = text.slice(node.start, node.end);
    const line = text.slice(0, node.start).split("\n").length;
    found.push({ kind, start: node.start, end: node.end, before, text: replacement, line });
  };
  const source = (node) => text.slice(node.start, node.end);
  const operator = (kind, node, to) => {
    // Between the operands. Comments there are not expected to contain the operator.
    const at = text.indexOf(node.operator, node.left.end);
    add(kind, { start: at, end: at + node.operator.length }, to);
  };
  const negate = (test) => {
    // Conditions that other mutations already negate would give the same mutant twice.
    if (test.type === "BinaryExpression" && Object.hasOwn(equalities, test.operator)) return;
    if (test.type === "Literal") return;
    add("negate", test, `!(${source(test)})`);
  };
  const visit = (node, parent) => {
    if (/^(?:Import|Export(?:All|Named))/.test(node.type) && node.source) return;
    if (node.type.startsWith("TS") && !/^TS(?:As|Satisfies|NonNull)/.test(node.type)) return;
    switch (node.type) {
      case "IfStatement":
      case "ConditionalExpression":
      case "WhileStatement":
        negate(node.test);
        break;
      case "BinaryExpression":
      case "AssignmentExpression":
        if (Object.hasOwn(boundaries, node.operator)) operator("boundary", node, boundaries[node.operator]);
        else if (Object.hasOwn(equalities, node.operator)) operator("equality", node, equalities[node.operator]);
        else if (Object.hasOwn(sums, node.operator) && !isText(node.left) && !isText(node.right))
          operator("arithmetic", node, sums[node.operator]);
        break;
      case "LogicalExpression":
        if (Object.hasOwn(logic, node.operator)) operator("logic", node, logic[node.operator]);
        break;
      case "Literal":
        if (typeof node.value === "boolean") add("constant", node, String(!node.value));
        else if (typeof node.value === "number" && parent?.type !== "Property")
          add("constant", node, source(node).includes("e") ? `(2 * ${source(node)})` : `(${source(node)} + 1)`);
        break;
      case "ExpressionStatement": {
        const call = node.expression.type === "AwaitExpression" ? node.expression.argument : node.expression;
        const { type, callee } = call.type === "ChainExpression" ? call.expression : call;
        if (type === "CallExpression" && callee.type !== "Super")
          add(cleanups.test(source(callee.property ?? callee)) ? "cleanup" : "call", node, ";");
        break;
      }
      case "CallExpression": {
        const name = source(node.callee);
        if (name === "Math.max" || name === "Math.min")
          add("call", node.callee, name === "Math.max" ? "Math.min" : "Math.max");
        break;
      }
    }
    for (const child of Object.values(node).flat())
      if (typeof child === "object" && child !== null && typeof child.type === "string") visit(child, node);
  };
  visit(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }), undefined);
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

const isText = ({ type, value }) => type === "TemplateLiteral" || (type === "Literal" && typeof value === "string");

/**
 * Draws a number of items, the same for the same seed, in the order of the items.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {number} count
 * @param {number} seed
 * @returns {readonly T[]}
 */
export function drawFrom(items, count, seed) {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const indices = items.map((_, i) => i);
  for (let i = 0; i < Math.min(count, indices.length); i++) {
    const other = i + Math.floor(next() * (indices.length - i));
    [indices[i], indices[other]] = [indices[other], indices[i]];
  }
  return indices
    .slice(0, count)
    .sort((a, b) => a - b)
    .map((i) => items[i]);
}
