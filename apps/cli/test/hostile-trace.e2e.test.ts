import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goldenFiles, sampledCases } from "@remat/testkit";
import { parse as parseCsv } from "csv-parse/sync";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { type DefaultTreeAdapterTypes, parse as parseHtml } from "parse5";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { twoLayers } from "./fixtures/two-layers.js";
import { remat } from "./run.js";

/** Breaks out of whatever it is written into without care. Without a dot, so that modules stay within each other. */
const hostile = `x\`](y)|\n## FORGED\n<img src=x onerror=FORGED()><script>FORGED()</script>[l](https://evil/FORGED)"""'; import os #\\\u001b[2J\u009b31m\u202e\u2028\r\nimport FORGED\n$(touch FORGED)`;
const hostileName = 'it\'s "$(touch FORGED)" `touch FORGED`\n#FORGED ;=FORGED <b>|.remat.jsonl';
/** Characters that a terminal would interpret, except line ends and tabs of tables. */
const obeyed = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?![\n\t\r])\p{Cc}/u;
/** Text that begins a line only if a name was not escaped. */
const forged = /^(?:## FORGED|import FORGED|FORGED|#FORGED|<img|\$\(touch)/m;

const before = process.cwd();
const folder = mkdtempSync(join(tmpdir(), "remat-hostile-"));
beforeAll(async () => {
  process.chdir(folder);
  const golden = goldenFiles().find(({ name }) => name === "mem_tf_b2_adam")!.path;
  await remat("memory", golden, "--trace", "plain.remat.jsonl");
  const lines = readFileSync("plain.remat.jsonl", "utf8").trimEnd().split("\n");
  for (const name of [hostileName, "second.remat.jsonl"]) writeFileSync(name, `${lines.map(poison).join("\n")}\n`);
  await remat("check", hostileName, "--baseline", "base.json", "--update");
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

/** Every string of a record that is a name. */
function poison(line: string): string {
  const record = JSON.parse(line) as Record<string, unknown> & { t?: string; fqn?: string };
  const append = (field: string): void => {
    if (typeof record[field] === "string") record[field] += hostile;
  };
  if (record.t === undefined)
    return JSON.stringify({
      ...record,
      model: `${String(record["model"])}${hostile}`,
      frameworkVersion: `2.13.0${hostile}`,
      libraries: { [`torch${hostile}`]: `2.13.0${hostile}` },
      notes: [`a note${hostile}`],
    });
  if (record.fqn !== undefined)
    record.fqn = record.fqn
      .split(".")
      .map((part) => part + hostile)
      .join(".");
  append("kind");
  if (record.t === "scope") append("name");
  if (record.t === "mark" && record["name"] !== "optimizerStates") append("name");
  if (record.t === "op") {
    // Names that plans know keep theirs.
    if (Number(record["id"]) % 3 === 0) append("name");
    record["line"] = `train.py:1${hostile}`;
  }
  return JSON.stringify(record);
}

const runs: readonly (readonly string[])[] = [
  ["estimate", hostileName, "--ops", "--fit"],
  ["estimate", hostileName, "--as-pytorch"],
  ["memory", hostileName, "--snapshots", "--regions"],
  ["memory", hostileName, "--at", "op:3"],
  ["memory", hostileName, "--fsdp", "world=8", "--gathered"],
  ["plan", hostileName, "--budget", "80%", "--iterations", "20"],
  ["plan", hostileName, "--budget", "1B", "--iterations", "1"],
  ["plan", hostileName, "--budget", "80%", "--method", "modules"],
  ["plan", hostileName, "--fsdp", "world=8", "--budget", "80%", "--time", "300ms"],
  ["compare", hostileName, "--fsdp", "world=8", "--fsdp", "world=4"],
  ["extrapolate", hostileName, "second.remat.jsonl", "plain.remat.jsonl", "--sizes", "1,2,3"],
  ["leaks", hostileName],
  ["check", hostileName, "--baseline", "none.json"],
  ["check", hostileName, "--baseline", "base.json"],
  ["check", hostileName, "--baseline", "base.json", "--max-peak", "1MB"],
  ["fit", hostileName, "--devices", "a100", "--iterations", "1"],
  ["fit", hostileName, "--devices", "a100", "--ranks", "8", "--iterations", "1"],
  ["explain", "hostile.log", hostileName],
  ["memory", hostileName, "--at", `mark:${hostile}`],
  ["estimate", hostileName, "--module", hostile],
  ["memory", `${hostileName}${hostile.replaceAll("/", "")}`],
  ["ui", hostileName, "--once", "--view", "modules"],
  ["ui", hostileName, "--once", "--view", "ops"],
  ["ui", hostileName, "--once", "--view", "held"],
  ["run", hostileName],
  [hostile],
  ["plan", hostileName, `--${hostile}`],
  ["plan", hostileName, "--budget", hostile],
];

const formats = ["table", "plain", "md", "csv", "json"];

describe.each(formats)("a trace whose every name is hostile, as %s", (format) => {
  beforeAll(() => {
    writeFileSync(
      "hostile.log",
      `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 1.00 MiB is free. ${hostile.replaceAll("\n", " ")}\n`,
    );
  });

  it.each(sampledCases(runs, 2, formats.indexOf(format)))("says nothing that is not its own: %j", async (...args) => {
    const { stdout, stderr } = await remat(...args, ...(args[0] === "ui" ? [] : ["--format", format]));
    expect(stderr).not.toMatch(obeyed);
    expect(stderr).not.toMatch(forged);
    if (stdout === "" || args[0] === "ui") {
      expect(stdout).not.toMatch(obeyed);
      return;
    }
    expect(stdout).not.toMatch(obeyed);
    if (format === "json") JSON.parse(stdout);
    else if (format === "csv") checkCsv(stdout);
    else expect(stdout).not.toMatch(forged);
    if (format === "md") checkMarkdown(stdout);
    if (format === "table") checkCommands(stdout);
  });
});

function checkCsv(csv: string): void {
  const rows = parseCsv(csv, { record_delimiter: "\r\n" }) as readonly string[][];
  for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+@]|^-(?!\d)/);
}

type PageNode = DefaultTreeAdapterTypes.Node;

function elementsOf(page: string): readonly DefaultTreeAdapterTypes.Element[] {
  const found: DefaultTreeAdapterTypes.Element[] = [];
  const visit = (node: PageNode): void => {
    if ("tagName" in node) found.push(node);
    if ("childNodes" in node) node.childNodes.forEach(visit);
  };
  visit(parseHtml(page));
  return found;
}

function checkMarkdown(text: string): void {
  const page = micromark(text, { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true });
  const names = new Set(elementsOf(page).map(({ tagName }) => tagName));
  for (const name of ["a", "img", "script", "h1", "em", "strong", "del"]) expect(names).not.toContain(name);
}

/** A command that is suggested is one command, which names the file as it is called. */
function checkCommands(text: string): void {
  for (const [command] of text.matchAll(/^remat (?:plan|memory|run|fit|exec) .*$/gm)) {
    const { status, stdout } = spawnSync("bash", ["--norc", "-c", `remat() { printf '%s\\0' "$@"; }\n${command}`], {
      encoding: "utf8",
    });
    expect(status, command).toBe(0);
    expect(stdout.split("\0"), command).toContain(hostileName);
  }
  expect(readdirSync(folder)).not.toContain("FORGED");
}

describe("files that are written of it", () => {
  it.each([
    ["memory", hostileName, "--fsdp", "world=8,bf16", "--fsdp-code", "shard.py"],
    ["fit", hostileName, "--devices", "a100", "--ranks", "8", "--iterations", "1", "--apply", "shard.py"],
  ])("are Python with nothing but imports and functions: remat %s", async (...args) => {
    rmSync("shard.py", { force: true });
    const { code, stderr } = await remat(...args);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    const judge = `import ast, sys\ntree = ast.parse(open("shard.py").read())\nprint([type(node).__name__ for node in tree.body if type(node).__name__ not in ("Import", "ImportFrom", "FunctionDef")], [n.name for node in tree.body if "Import" in type(node).__name__ for n in node.names])`;
    const { stdout, stderr: said } = spawnSync("python3", ["-c", judge], { encoding: "utf8" });
    expect(`${stdout}${said}`).toMatch(/^\[\] \[/);
    expect(stdout).not.toContain("FORGED");
    expect(stdout).not.toContain("'os'");
    expect(readFileSync("shard.py", "utf8").replaceAll("\n", "")).not.toMatch(obeyed);
  });

  it.each([
    ["report", hostileName, "--time", "0", "-o", "page.html"],
    ["fit", hostileName, "--devices", "a100", "--iterations", "1", "--html", "page.html"],
  ])("are pages with our own elements: remat %s", async (...args) => {
    const { code, stderr } = await remat(...args);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    const page = readFileSync("page.html", "utf8");
    expect(page).not.toMatch(obeyed);
    const elements = elementsOf(page);
    expect(elements.length).toBeGreaterThan(30);
    for (const { tagName, attrs, childNodes } of elements) {
      expect(tagName).not.toBe("img");
      for (const { name, value } of attrs) {
        expect(name).not.toMatch(/^on/);
        if (name === "href" || name === "src") expect(value).not.toMatch(/^\s*javascript:/i);
      }
      if (tagName === "script")
        for (const child of childNodes) expect("value" in child ? child.value : "").not.toContain("FORGED");
    }
  });

  it("are JavaScript with no other statements", async () => {
    const model = "model\nFORGED();\u2028FORGED();.json";
    writeFileSync(model, JSON.stringify(twoLayers("softmax")));
    const run = await remat(
      "fit",
      model,
      "--devices",
      "a100",
      "--iterations",
      "1",
      "--batch",
      "1..8",
      "--apply",
      "fit.mjs",
    );
    expect(run).toMatchObject({ code: 0 });
    const text = readFileSync("fit.mjs", "utf8");
    expect(text.split("\n")[0]).toMatch(/^\/\/ model\\x0aFORGED/);
    expect(text.split("\n").slice(1).join("\n")).not.toContain("FORGED");
    expect(text.replaceAll("\n", "")).not.toMatch(obeyed);
    expect(spawnSync(process.execPath, ["--check", "fit.mjs"]).status).toBe(0);
  });

  it("are SVG without other elements", async () => {
    await remat("estimate", hostileName, "--graphs", "graphs");
    const pictures = readdirSync("graphs").filter((name) => name.endsWith(".svg"));
    expect(pictures.length).toBeGreaterThan(0);
    for (const name of pictures) {
      expect(name).not.toMatch(obeyed);
      expect(readFileSync(join("graphs", name), "utf8")).not.toMatch(obeyed);
      for (const { tagName } of elementsOf(readFileSync(join("graphs", name), "utf8")))
        expect(["html", "head", "body", "svg", "title", "rect", "text", "g", "line", "circle", "path"]).toContain(
          tagName,
        );
    }
  });
});
