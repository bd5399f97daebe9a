import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatBytes } from "@remat/reporting";
import { writeTrace } from "@remat/trace";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { evilTrace, resnet50 } from "../traces.js";
import { bundleRemat } from "./bundle-remat.js";
import { hasTmux, openTerminal, type Terminal } from "./tmux.js";

const folder = mkdtempSync(join(tmpdir(), "remat-pty-"));
/** A program that trains until it is ended. */
const training = fileURLToPath(new URL("../../../../packages/program/test/programs/endless.cjs", import.meta.url));
const isThere = hasTmux();
let remat = "";
let terminal: Terminal;

const has =
  (...texts: string[]) =>
  (screen: readonly string[]): boolean =>
    texts.every((text) => screen.some((line) => line.includes(text)));

function start(args: string, { columns = 100, rows = 30, env = {} } = {}): void {
  terminal = openTerminal(columns, rows, {
    folder,
    env: { XDG_STATE_HOME: join(folder, "state"), COLORTERM: "truecolor", ...env },
  });
  terminal.type(
    `echo before; ${JSON.stringify(process.execPath)} ${JSON.stringify(remat)} ${args}; echo "exit code $?"`,
  );
  terminal.press("Enter");
}

/** The screen of the shell is back, with the cursor and without the mouse. */
async function restored(code = 0): Promise<void> {
  await terminal.until("the shell", has(`exit code ${code}`, "before"));
  expect(terminal.ask("#{alternate_on} #{cursor_flag} #{mouse_any_flag}")).toBe("0 1 0");
  // A shell that echoes what is typed has a terminal in its usual mode.
  terminal.type("echo still here");
  await terminal.until("what was typed", has("echo still here"));
}

beforeAll(async () => {
  if (!isThere) return;
  remat = await bundleRemat();
  for (const [name, trace] of [
    ["resnet50", await resnet50()],
    ["evil", evilTrace()],
  ] as const) {
    const parts = Array.from(writeTrace(trace));
    writeFileSync(join(folder, `${name}.remat.jsonl`), Buffer.concat(parts.map((part) => Buffer.from(part))));
  }
});
afterEach(() => terminal?.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("has a terminal to run in", () => {
  // Without tmux there is nothing to drive the app with, which only a machine of one's own may lack.
  if (process.env["CI"] !== undefined) expect(isThere, "tmux: apt-get install tmux").toBe(true);
  else if (!isThere) console.warn("tmux is not installed: the real app is not tested (apt-get install tmux)");
});

describe.runIf(isThere)("remat ui in a terminal", () => {
  it("opens, searches, changes the budget, exports, follows the terminal's size, quits, and restores the screen", async () => {
    start("ui resnet50.remat.jsonl --view modules");
    await terminal.until("the modules", has("2Modules", "resnet50 Functional", "conv1 Group"));
    expect(terminal.ask("#{alternate_on} #{cursor_flag} #{mouse_any_flag}")).toBe("1 0 1");

    terminal.type("/block3_2_c");
    await terminal.until("live results", has("4 found", "conv5_block3_2_conv"));
    terminal.press("Enter");
    // The name may be cut to the column's width.
    await terminal.until(
      "the first result, in its place",
      (screen) => has("▾ conv2_block3_2 Group", "conv2_block3_2_co")(screen) && !has("4 found")(screen),
    );

    terminal.press("g", "4");
    const before = await terminal.until("the trade-off", has("budget", "50.0% of all", "greedy"));
    terminal.press("S-Left", "Left");
    await terminal.until(
      "another budget and plan",
      (screen) => has("39.0% of all", "optimal")(screen) && !has("searching")(screen),
    );
    expect(terminal.screen().find((line) => line.includes("saved"))).not.toBe(
      before.find((line) => line.includes("saved")),
    );

    terminal.press("e", "c");
    const exported = await terminal.until("where the file is", has("written:", "resnet50-trade-off.csv"));
    expect(exported.some((line) => line.includes(folder))).toBe(true);
    const csv = readFileSync(join(folder, "resnet50-trade-off.csv"), "utf8").split("\r\n");
    expect(csv[0]).toBe("op,name,module,fate,memoryBytes,runtimeMs");
    expect(csv.some((line) => line.includes(",recomputed,"))).toBe(true);

    terminal.press("Down");
    for (const [columns, rows] of [
      [80, 24],
      [200, 60],
      [50, 20],
      [100, 30],
    ]) {
      terminal.resize(columns, rows);
      const isSmall = columns < 60;
      const screen = await terminal.until(`${columns} × ${rows}`, (lines) =>
        isSmall
          ? lines.join(" ").includes("50 columns")
          : lines.length === rows && /help/.test(lines[rows - 1]) && has("Op Plan")(lines),
      );
      expect(screen).toHaveLength(rows);
    }
    terminal.press("q");
    await restored();
    expect(readdirSync(join(folder, "state", "remat", "views"))).toHaveLength(1);
  });

  it("remembers the view and the budget of a trace, and takes clicks", async () => {
    const state = { env: { XDG_STATE_HOME: join(folder, "remembered") } };
    start("ui resnet50.remat.jsonl --view trade-off", state);
    await terminal.until("the trade-off", has("50.0% of all"));
    terminal.press("S-Left");
    await terminal.until("another budget", has("40.0% of all"));
    terminal.press("q");
    await restored();
    terminal.close();
    start("ui resnet50.remat.jsonl", state);
    await terminal.until("view 4 with its budget", has("40.0% of all"));
    // On the tab of view 5.
    terminal.click(34, 1);
    await terminal.until("the memory view", has("peak", "Activations", "after op"));
    terminal.press("C-c");
    await restored();
  });

  it("answers of a model, traced anew in a thread, what remat memory says of it", async () => {
    const model = join(folder, "net.mjs");
    writeFileSync(
      model,
      `export default ({ tf }) => tf.sequential({ layers: [
  tf.layers.dense({ units: 48, activation: "relu", inputShape: [24] }),
  tf.layers.dense({ units: 5, activation: "softmax" }),
] });\n`,
    );
    start(`ui ${model} --batch 6 --view what-if`, { columns: 140, rows: 50 });
    await terminal.until("the last answer", has("world=8,no-wrap", "world=64"));
    const shown = terminal.screen().map((line) => line.replaceAll(/\s+/g, " "));
    for (const [question, ...words] of [
      ["batch=12", "--batch", "12"],
      ["optimizer=adam", "--batch", "6", "--optimizer", "adam"],
      ["world=8,no-reshard", "--batch", "6", "--fsdp", "world=8,no-reshard"],
    ]) {
      const told = execFileSync(process.execPath, [remat, "memory", model, ...words, "--format", "json"]);
      const { verdict } = JSON.parse(told.toString()) as { readonly verdict: { readonly peakBytes: number } };
      expect(shown.filter((line) => line.startsWith(`${question} ${formatBytes(verdict.peakBytes)} `))).toHaveLength(1);
    }
    terminal.press("q");
    await restored();
  });

  it("shows names that are escape sequences, and sends none", async () => {
    start("ui evil.remat.jsonl --view modules");
    await terminal.until("the names, written out", has("\\x1b[2J\\x1b[H", "\\x1b]0;title\\x07"));
    terminal.press("3", "a");
    await terminal.until("the ops", has("\\x1b]52;c;"));
    expect(terminal.ask("#{pane_title}")).not.toBe("title");
    terminal.press("q");
    await restored();
  });

  it("opens a damaged trace as far as it can be read, and says so", async () => {
    const lines = readFileSync(join(folder, "resnet50.remat.jsonl"), "utf8").split("\n");
    writeFileSync(
      join(folder, "damaged.remat.jsonl"),
      [...lines.slice(0, 3000), "{ not a record", ...lines.slice(3001)].join("\n"),
    );
    start("ui damaged.remat.jsonl");
    const isTold = has("Damaged after line 3000, peak memory is at least", "the trace is damaged after line 3000");
    await terminal.until("what is held, and the notice", (screen) => isTold(screen) && has("Activations")(screen));
    for (const key of ["2", "3", "5"]) {
      terminal.press(key);
      await terminal.until(`the notice in view ${key}`, has("Damaged after line 3000, peak memory is at least"));
    }
    terminal.press("q");
    await restored();
  });

  it("starts without a file, traces an example with its modules, and can be stopped", async () => {
    start("");
    await terminal.until("the start screen", has("Recent and examples", "Example: perceptron"));
    const screen = await terminal.until("the list", has("Example: small convolutional network"));
    expect(screen.some((line) => line.includes("resnet50"))).toBe(true);
    terminal.press("O");
    terminal.type("nothing.json");
    terminal.press("Enter");
    await terminal.until("why it cannot be opened", has("no such file"));
    terminal.press("End");
    terminal.press("Enter");
    await terminal.until("what the example holds", has("small-cnn", "at the peak", "stage*_conv*"));
    terminal.press("2");
    await terminal.until("its modules", has("stage1"));
    terminal.press("q");
    await restored();
  });

  it.each([
    ["SIGTERM", 15],
    ["SIGQUIT", 3],
    ["SIGHUP", 1],
  ] as const)("gives the terminal back when %s ends it, and ends by it", async (signal, number) => {
    start("ui resnet50.remat.jsonl --view memory");
    await terminal.until("the memory view", has("Activations"));
    const shell = terminal.ask("#{pane_pid}");
    const children = readFileSync(`/proc/${shell}/task/${shell}/children`, "utf8").trim().split(" ");
    process.kill(Number(children.at(-1)), signal);
    await restored(128 + number);
  });

  it("gives the terminal back when it crashes, and then says what happened", async () => {
    const script = remat.replace(/main\.js$/, "crashing-app.js");
    terminal = openTerminal(100, 30, { folder, env: { XDG_STATE_HOME: join(folder, "state") } });
    terminal.type(`echo before; ${JSON.stringify(process.execPath)} ${JSON.stringify(script)}; echo "exit code $?"`);
    terminal.press("Enter");
    await terminal.until("the app", has("opening"));
    await restored(1);
    expect(has("nobody has foreseen this")(terminal.screen())).toBe(true);
  });

  it("traces a model while it tells which module is being traced, until Esc stops it", async () => {
    start(`ui ${JSON.stringify(fileURLToPath(new URL("../../../../examples/gpt-3/model.js", import.meta.url)))}`);
    await terminal.until("a module being traced", has("opening", "module calls"));
    terminal.press("Escape");
    await terminal.until("that it was stopped", has("Recent and examples", "stopped"));
    terminal.press("q");
    await restored();
  });

  it("draws in ASCII where the terminal knows nothing else, and without colours where none are wanted", async () => {
    start("ui resnet50.remat.jsonl --view memory", { env: { LC_ALL: "C", NO_COLOR: "1" } });
    await terminal.until("the memory view", has("Activations", "after op"));
    expect(terminal.screen().join("")).toMatch(/^[\x20-\x7e]*$/);
    expect(terminal.colouredScreen()).not.toMatch(/\u001b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d|10\d)[;m]/);
    terminal.press("q");
    await restored();
  });
});

describe.runIf(isThere)("remat watch in a terminal", () => {
  it.each([60, 80])(
    "shows a program in training in %d columns, with the whole legend, until q ends it",
    async (columns) => {
      start(`watch -- ${JSON.stringify(process.execPath)} ${JSON.stringify(training)}`, { columns, rows: 24 });
      const shown = await terminal.until(
        "a step, and its legend",
        (screen) => has("Live tensors at the peak of the last pass", "end the program")(screen) && axisOf(screen) > 0,
      );
      const legend = shown.slice(
        axisOf(shown) + 1,
        shown.findIndex((line) => line.startsWith(" Live tensors")),
      );
      expect(legend.join(" ")).toContain("Parameters");
      expect(legend.join(" ")).not.toMatch(/smaller|…/);
      // The legend has the colour of every category of the peak.
      const made = shown.flatMap((line) => /^ ([A-Z][a-z]+(?: [a-z]+)?) +[\d.]+ \w+ +[\d.]+%/.exec(line)?.[1] ?? []);
      expect(made.length).toBeGreaterThan(1);
      for (const category of made) expect(legend.join(" ")).toContain(category);
      terminal.press("q");
      // The last picture and the highest peak are left on the terminal.
      await terminal.until("the end, told in words", has("Highest peak among the observed steps", "exit code"));
      expect(terminal.ask("#{alternate_on} #{cursor_flag}")).toBe("0 1");
    },
  );
});

/** Position of the passes below the plot. */
function axisOf(screen: readonly string[]): number {
  return screen.findIndex((line) => /^ +pass /.test(line));
}
