import { expect, it } from "vitest";
import { type OutputDocument, writeDocument } from "../../src/formats/index.js";

const document: OutputDocument = {
  parts: () => [{ kind: "table", title: "Modules", headers: ["Module"], rows: [["a"]], remark: "One.\nTwo." }],
  records: () => ({ columns: [], rows: [] }),
  value: () => undefined,
};

it.each([
  // Markdown would take a line right below a table for another row.
  ["md", "\n\nOne.\nTwo."],
  ["table", "\nOne.\nTwo."],
  ["plain", "\nOne.\nTwo."],
])("remarks stand below their table: %s", (format, end) => {
  const text = writeDocument(document, format).trimEnd();
  expect(text.endsWith(end)).toBe(true);
  expect(text.endsWith(`\n${end}`)).toBe(false);
});
