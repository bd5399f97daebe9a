import * as fc from "fast-check";
import { marked } from "marked";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { type DefaultTreeAdapterTypes, parseFragment } from "parse5";
import { expect, test } from "vitest";
import { hostilePieces, hostileText } from "../../../../tooling/testkit/src/hostile-text.js";
import { displaySafe, markdown } from "../../src/emit/index.js";

const written = (name: string): string =>
  markdown.blocks([
    markdown.heading(2, name),
    markdown.line(name),
    markdown.line(`a ${name} b`),
    `${markdown.text(name)}(b) ${markdown.text(name)}[a] ${markdown.text(name)}` as never,
    markdown.fence(`a\n${name}\nb`),
    markdown.code(name),
    `| ${markdown.cell(name)} | b |\n| --- | --: |\n| ${markdown.cell(`x ${name}`)} | ${markdown.cell(name)} |` as never,
    markdown.line("end"),
  ]);

type PageNode = DefaultTreeAdapterTypes.Node;

/** Elements, and their texts without the blanks that Markdown takes for one or for none. */
function read(page: string): { readonly elements: readonly string[]; readonly texts: readonly string[] } {
  const elements: string[] = [];
  const texts: string[] = [];
  const visit = (node: PageNode, depth: number): void => {
    if ("tagName" in node) {
      elements.push(`${depth} ${node.tagName}`);
      if (node.childNodes.every((child) => child.nodeName === "#text"))
        texts.push(
          node.childNodes
            .map((child) => (child as DefaultTreeAdapterTypes.TextNode).value)
            .join("")
            .replace(/\s+/g, " ")
            .trim(),
        );
    } else if (node.nodeName !== "#text") elements.push(`${depth} ${node.nodeName}`);
    if ("childNodes" in node) node.childNodes.forEach((child) => visit(child, depth + 1));
  };
  visit(parseFragment(page), 0);
  return { elements, texts };
}

const readers: Readonly<Record<string, (text: string) => string>> = {
  micromark: (text) =>
    micromark(text, {
      extensions: [gfm()],
      htmlExtensions: [gfmHtml()],
      allowDangerousHtml: true,
      allowDangerousProtocol: true,
    }),
  marked: (text) => marked.parse(text, { gfm: true, async: false }),
};

const mark = "MARK";

for (const [reader, parse] of Object.entries(readers)) {
  const plain = read(parse(written(mark)));

  const check = (name: string): void => {
    const { elements, texts } = read(parse(written(`m${name}m`)));
    expect(elements).toEqual(plain.elements);
    const shown = `m${displaySafe(name)}m`;
    // A block of code keeps lines and tabs.
    const block = `m${name
      .split(/\r\n|\r|\n/)
      .map((line) => line.split("\t").map(displaySafe).join("\t"))
      .join("\n")}m`;
    const cell = `m${name
      .split(/\r\n|\r|\n/)
      .map(displaySafe)
      .join("")}m`;
    const expected = plain.texts.map((text, i) =>
      text
        .replaceAll(mark, () => (i === 4 ? block : i > 5 ? cell : shown))
        .replace(/\s+/g, " ")
        .trim(),
    );
    expect(texts).toEqual(expected);
  };

  test.each(hostilePieces.filter((piece) => !/[\r\n]/.test(piece)))(
    `${reader} reads the same document with %j, and shows it`,
    check,
  );

  test(`${reader} does so with any text`, () => {
    fc.assert(
      fc.property(
        hostileText.map((text) => text.replace(/[\r\n]/g, "")),
        check,
      ),
    );
  });

  test(`${reader} reads a line as one, whatever it begins with`, () => {
    const begin = fc.oneof(fc.constantFrom(...hostilePieces), hostileText);
    fc.assert(
      fc.property(begin, hostileText, (first, second) => {
        const lines = [first, second].filter((text) => displaySafe(text).trim() !== "");
        const page = read(parse(markdown.blocks([markdown.line("a"), ...lines.map((text) => markdown.line(text))])));
        expect(page.elements.slice(1)).toEqual(Array(lines.length + 1).fill("1 p"));
        expect(page.texts.slice(1)).toEqual(lines.map((text) => displaySafe(text).replace(/\s+/g, " ").trim()));
      }),
    );
  });
}

test("text without special meaning in Markdown is unchanged", () => {
  const text = "Fits: peak memory is 4.61 of 80 GiB (A100, 12% of it), net.layers_0.weight; 3 x 4 - 5 = 7!";
  expect(markdown.line(text)).toBe(text);
});
