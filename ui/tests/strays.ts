// Finds words that stand outside the catalogue: in markup by Svelte's own parser, in code by TypeScript's. What looks like
// a word to a person is one here: letters in a text node, in an attribute that is shown or read aloud, or in a literal
// that is handed to such a place.

import { parse } from "svelte/compiler";
import ts from "typescript";

export type Stray = { at: number; text: string };

/** Attributes that people read or hear. */
const shown = new Set(["title", "placeholder", "alt", "label", "aria-label", "aria-description", "aria-roledescription", "aria-valuetext", "aria-placeholder"]);
/** Properties of our components and documents that end in a sentence on screen. */
const spoken = new Set([...shown, "says", "head", "safe", "go", "text", "message", "approvedLine", "preparedLine", "checks", "blocked", "sentence", "subject", "kind", "right", "group", "name"]);
/** Functions that say what they are given. */
const sayers = /\.(say|alarm)$/;

const words = (text: string) => /\p{L}{2,}/u.test(text.replace(/&\w+;/g, ""));

type Node = { type: string; start: number; end: number; [member: string]: unknown };

function walk(value: unknown, visit: (node: Node) => boolean | void): void {
  if (Array.isArray(value)) for (const one of value) walk(one, visit);
  else if (value !== null && typeof value === "object") {
    const node = value as Node;
    if (typeof node.type === "string" && visit(node) === false) return;
    for (const [name, member] of Object.entries(node)) if (name !== "parent" && name !== "metadata") walk(member, visit);
  }
}

/** The literals an expression may come to: both sides of a choice, what is joined, what is put into a template. */
function literals(node: Node | null | undefined): Stray[] {
  if (!node) return [];
  switch (node.type) {
    case "Literal":
      return typeof node["value"] === "string" && words(node["value"]) ? [{ at: node.start, text: node["value"] }] : [];
    case "TemplateLiteral":
      return [...(node["quasis"] as Node[]).flatMap((part) => {
        const text = (part["value"] as { cooked: string }).cooked;
        return words(text) ? [{ at: part.start, text }] : [];
      }), ...(node["expressions"] as Node[]).flatMap(literals)];
    case "ConditionalExpression":
      return [...literals(node["consequent"] as Node), ...literals(node["alternate"] as Node)];
    case "LogicalExpression":
    case "BinaryExpression":
      // A comparison gives no words; what is joined or chosen from does.
      return /^(\+|\?\?|\|\|)$/.test(node["operator"] as string) ? [...literals(node["left"] as Node), ...literals(node["right"] as Node)] : node["operator"] === "&&" ? literals(node["right"] as Node) : [];
    case "ExpressionTag":
      return literals(node["expression"] as Node);
    default:
      return [];
  }
}

/** In the markup of a component. Words inside a drawing (SVG text) count; what is in scripts is asked for below. */
export function inMarkup(source: string): Stray[] {
  const out: Stray[] = [];
  const { fragment } = parse(source, { modern: true }) as unknown as { fragment: Node };
  // An icon and the fields of a request have names that nobody reads.
  const ours = new Set<Node>();
  walk(fragment, (node) => {
    if (node.type === "Component") for (const one of node["attributes"] as Node[]) if (one["name"] !== "name" && one["name"] !== "kind") ours.add(one);
  });
  walk(fragment, (node) => {
    if (node.type === "Comment" || node.type === "StyleDirective") return false;
    if (node.type === "Text") {
      const text = node["data"] as string;
      if (words(text)) out.push({ at: node.start, text: text.trim() });
    }
    if (node.type === "ExpressionTag") {
      out.push(...literals(node));
      // Nothing else below is text, but a snippet or a handler may hold markup of its own.
      return true;
    }
    if (node.type === "Attribute") {
      const name = node["name"] as string;
      const component = shown.has(name) || (ours.has(node) && spoken.has(name));
      if (component) for (const part of [node["value"]].flat() as (Node | true)[]) if (part !== true) out.push(...(part.type === "Text" ? (words(part["data"] as string) ? [{ at: part.start, text: part["data"] as string }] : []) : literals(part)));
      return false;
    }
    return true;
  });
  return out;
}

/** In code: what is handed to a property that is shown, returned by a getter of words, or said aloud. */
export function inCode(source: string, name = "code.ts"): Stray[] {
  const out: Stray[] = [];
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true);
  const take = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) {
      // A sentence or a capitalised word; codes, classes and selectors are small and have no spaces between words.
      if (/^\p{Lu}\p{Ll}+/u.test(node.text) || /\p{L} \p{L}/u.test(node.text)) out.push({ at: node.getStart(), text: node.text });
    } else if (ts.isTemplateExpression(node)) {
      for (const text of [node.head.text, ...node.templateSpans.map((span) => span.literal.text)]) if (/\p{L}{2,} \p{L}|\p{Lu}\p{Ll}{2,}/u.test(text)) out.push({ at: node.getStart(), text });
    } else if (ts.isConditionalExpression(node)) {
      take(node.whenTrue);
      take(node.whenFalse);
    } else if (ts.isBinaryExpression(node) && /^(\+|\?\?|\|\|)$/.test(node.operatorToken.getText())) {
      take(node.left);
      take(node.right);
    } else if (ts.isParenthesizedExpression(node)) take(node.expression);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && spoken.has(node.name.getText().replace(/["']/g, ""))) take(node.initializer);
    if (ts.isCallExpression(node) && sayers.test(node.expression.getText())) node.arguments.forEach(take);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken && /(message|problem|title|placeholder|ariaLabel|textContent|barMessage|polite|assertive)$/i.test(node.left.getText())) take(node.right);
    if ((ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) && node.initializer && /(message|problem|label|says|title)$/i.test(node.name.getText())) take(node.initializer);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return out;
}

export function strays(source: string, name: string): Stray[] {
  if (!name.endsWith(".svelte")) return inCode(source, name);
  const scripts = [...source.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map((m) => m[1] as string);
  return [...inMarkup(source), ...scripts.flatMap((code) => inCode(code, name))];
}
