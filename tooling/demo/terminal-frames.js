#!/usr/bin/env node
// Runs the real app in tmux on ResNet-50 and creates the pictures in docs/how-to/terminal from its screens.
// Usage: pnpm demo:terminal (needs tmux)
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { screenToSvg } from "./src/screen-to-svg.js";

const remat = fileURLToPath(new URL("../../apps/cli/dist/main.js", import.meta.url));
const model = fileURLToPath(new URL("../../examples/keras/resnet50.model.json", import.meta.url));
const pictures = fileURLToPath(new URL("../../docs/how-to/terminal/", import.meta.url));
const size = { columns: 110, rows: 30 };

/** Keys to press, and the text that must then be on the screen. */
const scenes = [
  { name: "held", keys: ["Down"], until: /Savings with no slowdown/, title: "Live tensors of ResNet-50 at the peak" },
  { name: "modules", keys: ["2", "Down", "Down"], until: /conv1 Group/, title: "Modules of ResNet-50" },
  {
    name: "trade-off",
    keys: ["Home", "4", "S-Left", "S-Left", "o"],
    until: /optimal stores/,
    title: "What a budget stores and recomputes of ResNet-50",
  },
  { name: "memory", keys: ["5"], until: /(after|within) op/, title: "Memory of a training step of ResNet-50" },
  {
    name: "plan",
    keys: ["7", "Down", "Down", "Down", "Left", "Left", "Left", "p"],
    until: /steps are recomputations/,
    title: "A plan of the step",
  },
];

const folder = mkdtempSync(join(tmpdir(), "remat-frames-"));
const server = `remat-frames-${process.pid}`;
const tmux = (...args) =>
  execFileSync("tmux", ["-L", server, "-f", "/dev/null", ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: folder, LC_ALL: "C.UTF-8", TERM: "xterm-256color", COLORTERM: "truecolor" },
  });
try {
  tmux("new-session", "-d", "-s", "t", "-x", String(size.columns), "-y", String(size.rows), "-c", folder, "sh");
  tmux("set-option", "-g", "default-terminal", "tmux-256color");
  tmux(
    "send-keys",
    "-t",
    "t",
    "-l",
    `${JSON.stringify(process.execPath)} ${JSON.stringify(remat)} ui ${model} --batch 8`,
  );
  tmux("send-keys", "-t", "t", "Enter");
  await until(/1 ?Live/);
  mkdirSync(pictures, { recursive: true });
  for (const { name, keys, until: shown, title } of scenes) {
    for (const key of keys) tmux("send-keys", "-t", "t", key);
    await until(shown);
    const screen = tmux("capture-pane", "-p", "-e", "-t", "t");
    writeFileSync(join(pictures, `${name}.svg`), screenToSvg(screen, { columns: size.columns, title }));
    console.log(`docs/how-to/terminal/${name}.svg`);
  }
  tmux("send-keys", "-t", "t", "q");
} finally {
  spawnSync("tmux", ["-L", server, "kill-server"]);
  rmSync(folder, { recursive: true, force: true });
}

/** Waits until the screen shows `wanted` and has stopped changing. */
async function until(wanted) {
  let last = "";
  for (let tries = 0; tries < 600; tries++) {
    const screen = tmux("capture-pane", "-p", "-t", "t");
    if (wanted.test(screen) && screen === last) return;
    last = screen;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  throw new Error(`expected ${wanted} on the screen, found:\n${last}`);
}
