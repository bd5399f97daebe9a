import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { headlines } from "./headlines.js";
import { median } from "./measure.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const child = fileURLToPath(new URL("headline.js", import.meta.url));
const tellUsage = fileURLToPath(new URL("tell-usage.cjs", import.meta.url));

/** A headline may get slower by this share before the benchmark fails. */
export const allowedSlowdown = 0.05;

/**
 * @typedef {object} Ratio a headline of this tree over that of another revision
 * @property {string} name
 * @property {string} unit
 * @property {number} before median, of the other revision
 * @property {number} now median, of this tree
 * @property {number} ratio median of the rounds' ratios: above 1 is slower, or more
 * @property {readonly [low: number, high: number]} spread quartiles of those ratios
 * @property {boolean} isWorse by more than {@link allowedSlowdown}, in at least three of four rounds
 */

/**
 * Measures the headlines in this tree and in another revision, in turn, each in a process of its own.
 *
 * @param {string} revision as git names it
 * @param {{ readonly names?: readonly string[], readonly rounds?: number, report?(ratio: Ratio): void }} options
 * @returns {Promise<readonly Ratio[]>}
 * @throws Error if the revision cannot be checked out or built
 */
export async function compareWith(revision, { names = [], rounds = 7, report } = {}) {
  const other = buildRevision(revision);
  try {
    const wanted = headlines.filter(({ name }) => names.length === 0 || names.some((one) => name.includes(one)));
    if (wanted.length === 0)
      throw new Error(
        `no headline contains ${names.join(" or ")}. They are: ${headlines.map(({ name }) => name).join("; ")}.`,
      );
    const ratios = [];
    for (const headline of wanted) {
      const count = headline.unit === "calls" ? 1 : rounds;
      /** @type {{ before: number, now: number }[]} */
      const pairs = [];
      for (let round = 0; round < count; round++) {
        // The order changes, so that neither is always the one that runs on a warm machine.
        const inOrder = round % 2 === 0 ? [other, root] : [root, other];
        const [first, second] = inOrder.map((tree) => measure(tree, headline));
        pairs.push(round % 2 === 0 ? { before: first, now: second } : { before: second, now: first });
      }
      ratios.push(ratioOf(headline, pairs));
      report?.(ratios.at(-1));
    }
    return ratios;
  } finally {
    execFileSync("git", ["worktree", "remove", "--force", other], { cwd: root, stdio: "ignore" });
  }
}

/** @param {import("./headlines.js").Headline} headline @param {readonly { before: number, now: number }[]} pairs @returns {Ratio} */
export function ratioOf({ name, unit }, pairs) {
  const ratios = pairs.map(({ before, now }) => now / before).sort((a, b) => a - b);
  const quartile = (/** @type {number} */ share) => ratios[Math.round(share * (ratios.length - 1))];
  const spread = /** @type {const} */ ([quartile(0.25), quartile(0.75)]);
  return {
    name,
    unit,
    before: median(pairs.map(({ before }) => before)),
    now: median(pairs.map(({ now }) => now)),
    ratio: median(ratios),
    spread,
    isWorse: spread[0] > 1 && median(ratios) > 1 + allowedSlowdown,
  };
}

/**
 * The ratios as a line of `history.jsonl`, which shows over the years what became slower, and when.
 *
 * @param {{ readonly release: string, readonly against: string }} versions
 * @param {readonly Ratio[]} ratios
 * @returns {string} JSON, with its line break
 */
export function historyLine({ release, against }, ratios) {
  const rounded = (/** @type {number} */ value) => Number(value.toPrecision(3));
  return `${JSON.stringify({
    release,
    against,
    node: process.version,
    ratios: Object.fromEntries(ratios.map(({ name, ratio }) => [name, rounded(ratio)])),
    figures: Object.fromEntries(ratios.map(({ name, now, unit }) => [name, `${rounded(now)} ${unit}`])),
  })}\n`;
}

/** @param {string} tree @param {import("./headlines.js").Headline} headline @returns {number} */
function measure(tree, { name, command, unit }) {
  const args =
    command === undefined
      ? ["--no-warnings", child, tree, name]
      : ["--require", tellUsage, join(tree, "apps/cli/dist/main.js"), ...command];
  const { status, stderr, output } = spawnSync(process.execPath, args, {
    cwd: tree,
    encoding: "utf8",
    maxBuffer: 1e9,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  if (status !== 0) throw new Error(`${name} failed in ${tree}: ${stderr}`);
  const { value, cpuMs, residentMiB } = JSON.parse(output[3]);
  return value ?? (unit === "MiB" ? residentMiB : cpuMs);
}

/** Builds a revision outside the working tree. @param {string} revision @returns {string} its folder */
function buildRevision(revision) {
  const run = (/** @type {string} */ file, /** @type {readonly string[]} */ args, cwd = root) =>
    execFileSync(file, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  const commit = run("git", ["rev-parse", "--short", "--verify", `${revision}^{commit}`]);
  const folder = join(tmpdir(), `remat-bench-${commit}`);
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  run("git", ["worktree", "prune"]);
  run("git", ["worktree", "add", "--detach", "--force", folder, commit]);
  run("pnpm", ["install", "--frozen-lockfile", "--prefer-offline"], folder);
  run("pnpm", ["build", "--output-logs=errors-only"], folder);
  return folder;
}
