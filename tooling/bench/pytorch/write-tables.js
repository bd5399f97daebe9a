// Puts the rows of `pnpm bench:pytorch` into the README of the PyTorch package, and those for one budget and for the
// lowest reachable budget into docs/evidence/benchmarks.md.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const modelsInOrder = ["gpt2", "llama", "bert", "vit", "resnet50", "lstm"];
const shownBudgets = ["70%", "least"];
const leftOut = new Set(["peak off by", "bitwise identical"]);
const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/**
 * Replaces the rows of the same models by those of a Markdown table, in the order of the models.
 *
 * @param {string} table
 */
export function writeTables(table) {
  const path = pathOf("../../pytorch-exporter/README.md");
  const [header, rule, ...rows] = linesOf(table);
  const modelOf = (row) => cellsOf(row)[0];
  const measured = new Set(rows.map(modelOf));
  const known = between(path).filter((row) => row !== header && !row.startsWith("|---") && !measured.has(modelOf(row)));
  const all = [...known, ...rows].toSorted(
    (a, b) => modelsInOrder.indexOf(modelOf(a)) - modelsInOrder.indexOf(modelOf(b)),
  );
  write(path, [header, rule, ...all]);
  const kept = cellsOf(header).map((name) => !leftOut.has(name));
  const shown = [
    header,
    rule,
    ...all.filter((row) => shownBudgets.includes(cellsOf(row)[1]) && !row.includes("none within it")),
  ];
  write(
    pathOf("../../../docs/evidence/benchmarks.md"),
    shown.map(
      (row) =>
        `| ${cellsOf(row)
          .filter((_, i) => kept[i])
          .join(" | ")} |`,
    ),
  );
}

function linesOf(text) {
  return text.split("\n").filter((line) => line.startsWith("|"));
}

function cellsOf(row) {
  return row
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

const marked = /(<!-- bench:pytorch -->\n)([^]*?)(<!-- \/bench:pytorch -->)/;

function between(path) {
  const found = marked.exec(readFileSync(path, "utf8"));
  if (found === null) throw new Error(`${path}: expected <!-- bench:pytorch --> and its end`);
  return linesOf(found[2]);
}

function write(path, lines) {
  between(path);
  const readme = readFileSync(path, "utf8");
  writeFileSync(
    path,
    readme.replace(marked, (_, begin, __, end) => `${begin}\n${lines.join("\n")}\n\n${end}`),
  );
}
