import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runUnder } from "../../../../packages/program/test/run-program-under.js";
import { judgeLikeLines, type LikeLinesFound, numbers } from "./check-like-lines.js";
import { type LikeLines, sourceOfLikeLines } from "./like-lines.js";

const packages = fileURLToPath(new URL("../../../../packages/program/node_modules", import.meta.url));

/** Runs a program in a separate process, as `remat leaks` does, with that process's clock and heap. */
export async function runLikeLines(program: LikeLines): Promise<LikeLinesFound> {
  const folder = mkdtempSync(join(tmpdir(), "remat-like-lines-"));
  try {
    symlinkSync(packages, join(folder, "node_modules"), "junction");
    writeFileSync(join(folder, "program.cjs"), scriptOf(program));
    const { exitCode, stderr, reports } = await runUnder(
      { kind: "leaks", stacks: program.stacks },
      ["node", "program.cjs"],
      folder,
    );
    const leaks = reports[0]?.leaks;
    if (exitCode === 0 && leaks !== undefined) return judgeLikeLines(program, leaks);
    return { wrong: `exit code ${exitCode}: ${stderr}`, named: 0, unclear: 0, missed: 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The program begins as in a `Script`, so that its lines and columns are the same. */
const scriptOf = (program: LikeLines): string =>
  `(${sourceOfLikeLines(program)})({
  tf: require("@tensorflow/tfjs"),
  markPeriod: require("@remat/leaks").markPeriod,
  hold: (tensor) => tensor,
  random: (${numbers.toString()})(${program.stacks.seed}),
});
`;
