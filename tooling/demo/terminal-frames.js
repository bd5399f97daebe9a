#!/usr/bin/env node
// Runs the real app in tmux on ResNet-50 and creates the pictures in docs/how-to/terminal from its screens.
// Usage: pnpm demo:terminal [--check] (needs tmux). --check compares them with the pictures in docs instead.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { keepPicture } from "./src/keep-picture.js";
import { sameScreen } from "./src/same-screen.js";
import { screenToSvg } from "./src/screen-to-svg.js";

const remat = fileURLToPath(new URL("../../apps/cli/dist/main.js", import.meta.url));
const root = fileURLToPath(new URL("../../", import.meta.url));
const model = "examples/keras/resnet50.model.json";
const pictures = fileURLToPath(new URL("../../docs/how-to/terminal/", import.meta.url));
const size = { columns: 110, rows: 30 };

/** Keys to press, and the text that must then be on the screen. */
const scenes = [
  { name: "held", keys: ["Down"], until: /Savings with no slowdown/, title: "Live tensors of ResNet-50 at the peak" },
  { name: "modules", keys: ["2", "Down", "Down"], until: /conv1 Group/, title: "Modules of ResNet-50" },
  {
    name: "trade-off",
    keys: ["Home", "4", "S-Left", "S-Left", "o"],
    until: /optimal saves/,
    title: "What is saved and what is recomputed within a budget, for ResNet-50",
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
  tmux("new-session", "-d", "-s", "t", "-x", String(size.columns), "-y", String(size.rows), "-c", root, "sh");
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
    const picture = screenToSvg(screen, { columns: size.columns, title });
    keepPicture(join(pictures, `${name}.svg`), Buffer.from(picture), sameScreen);
  }
  tmux("send-keys", "-t", "t", "q");
} finally {
  spawnSync("tmux", ["-L", server, "kill-server"]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
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
