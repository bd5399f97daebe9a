import * as fc from "fast-check";
import { type DefaultTreeAdapterTypes, parse } from "parse5";
import { describe, expect, test } from "vitest";
import { hostilePieces, hostileText } from "../../../../tooling/testkit/src/hostile-text.js";
import { html } from "../../src/emit/index.js";

type PageNode = DefaultTreeAdapterTypes.Node;

const written = (name: string): string =>
  html`<!doctype html>
<html lang="en"><head><title>${name}</title>${html.element("style", "p > b { color: red }")}</head>
<body><p class="a" title="${name}" data-all='x ${name} y'>${name}<b>${[name, html`<i>${name}</i>`]}</b></p>
<a href="#${name}">${1}</a><svg viewBox="0 0 1 1"><text x="1">${name}</text><title>${name}</title></svg>
<textarea>${name}</textarea>${undefined}${false}${html.element("script", "let a = 1 < 2;")}</body></html>`.html;

/** Elements with the names of their attributes; texts and values in their order. */
function read(page: string): { readonly elements: readonly string[]; readonly texts: readonly string[] } {
  const elements: string[] = [];
  const texts: string[] = [];
  const visit = (node: PageNode, depth: number): void => {
    if ("attrs" in node) {
      elements.push(`${depth} ${node.tagName} ${node.attrs.map(({ name }) => name).join()}`);
      texts.push(...node.attrs.map(({ value }) => value));
    } else if (node.nodeName === "#text") texts.push((node as DefaultTreeAdapterTypes.TextNode).value);
    else elements.push(`${depth} ${node.nodeName}`);
    if ("childNodes" in node) node.childNodes.forEach((child) => visit(child, depth + 1));
  };
  visit(parse(page), 0);
  return { elements, texts };
}

/** The visible form of a text: hidden and bidirectional characters by their code. */
const shown = (text: string): string =>
  Array.from(text.replace(/\r\n?/g, "\n"), (character) => {
    const code = character.codePointAt(0)!;
    if (code === 0xfffe || code === 0xffff) return "\ufffd";
    if (
      character === "\n" ||
      character === "\t" ||
      !/[\p{C}\p{Zl}\p{Zp}]/u.test(character) ||
      /[\p{Cn}\p{Co}]/u.test(character)
    )
      return character;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  }).join("");

const mark = "MARK";
const plain = read(written(mark));

function check(name: string): void {
  const { elements, texts } = read(written(`m${name}m`));
  expect(elements).toEqual(plain.elements);
  expect(texts).toEqual(plain.texts.map((text) => text.replaceAll(mark, () => shown(`m${name}m`))));
  for (const text of texts) expect(text).not.toMatch(/[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?![\n\t])\p{Cc}/u);
}

test.each(hostilePieces)("a page has the same structure with %j, and shows it", check);

test("so with any text", () => {
  expect(plain.texts.filter((text) => text.includes(mark))).toHaveLength(10);
  fc.assert(fc.property(hostileText, check));
});

describe("an address", () => {
  const linkTo = (address: string): string => /href="([^"]*)"/.exec(html`<a href="${address}">x</a>`.html)![1];

  test.each(["#a:b", "a.html", "https://example.com/", "http://x", "mailto:a@b.c", "/a:b", "?a:b"])(
    "%s stays",
    (address) => expect(linkTo(address)).toBe(address),
  );

  test.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,<script>",
    "vbscript:x",
    "file:///etc/passwd",
  ])("%j leads nowhere", (address) => expect(linkTo(address)).toBe("about:blank"));
});

test("a hole where a text could be code is refused", () => {
  const name = "x";
  expect(() => html`<p ${name}>`).toThrow("within a tag");
  expect(() => html`<p class=${name}>`).toThrow("within a tag");
  expect(() => html`<${name}>`).toThrow("within a tag");
  expect(() => html`<p onclick="${name}">`).toThrow("onclick=");
  expect(() => html`<p style="color: ${name}">`).toThrow("style=");
  expect(() => html`<script>${name}</script>`).toThrow("within a script");
  expect(() => html`<style>${name}</style>`).toThrow("within a style");
  expect(() => html`<!-- ${name} -->`).toThrow("within a comment");
  expect(() => html`<p title="${html`<b>x</b>`}">`).toThrow("HTML stands within");
  expect(() => html.element("script", "</script>")).toThrow("end early");
});

test("an object that only looks like built HTML is text, or nothing", () => {
  const forged = JSON.parse('{ "html": "<script>" }') as string;
  expect(() => html`<p>${forged}</p>`).toThrow("did not make");
});
