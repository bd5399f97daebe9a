import { execFile } from "node:child_process";
import {
  type BackendModule,
  type BackendName,
  type BroughtBackend,
  backendPlaces,
  checkCached,
  classifyFailure,
  lackOfGpu,
  type MissingPart,
} from "@remat/dispatch-hook/backends/node";
import { pathOfProcess } from "../run/process-paths.js";
import type { ProbeAnswer } from "./probe-process.js";

/** Result of testing a package in a separate process. */
export interface BackendProbe {
  readonly package: string;
  readonly backend: BackendName;
  /** True if it starts, computes and has the kernels that training needs. */
  readonly works: boolean;
  /**
   * The missing part. `device` if it works, but on the CPU because there is no GPU. Undefined if nothing is missing.
   */
  readonly missing: MissingPart | "device" | undefined;
  /** The error, on one line. */
  readonly reason: string | undefined;
  readonly version: string | undefined;
  /** The module that was loaded, or undefined if none exists. */
  readonly path: string | undefined;
  /** Version of TensorFlow that a native package calls. */
  readonly tensorflow: string | undefined;
  readonly usesGpu: boolean;
  /** Speed of a matrix product, in 10⁹ floating-point operations per second. */
  readonly gflops: number | undefined;
}

/**
 * Tests a package's modules in the order of `selectBackend` for training, each in a new process that multiplies two
 * matrices.
 */
export async function probeBackend({ package: brought, backend }: BroughtBackend, from: string): Promise<BackendProbe> {
  const named = { package: brought.name, backend: backend.name as BackendName };
  const blank = { version: undefined, tensorflow: undefined, usesGpu: false, gflops: undefined };
  let failure: BackendProbe | undefined;
  for (const path of backendPlaces(brought.name, from)) {
    const answer = await probeModule({ backend: backend.name, path });
    if (!("missing" in answer)) {
      const { missing, reason } = lackOfGpu(brought, answer.usesGpu);
      return { ...named, ...blank, works: true, missing, reason: reason === "" ? undefined : reason, path, ...answer };
    }
    const { missing, reason } = answer;
    failure ??= { ...named, ...blank, works: false, missing, reason: firstLine(reason), path };
  }
  if (failure !== undefined) return failure;
  return { ...named, ...blank, works: false, missing: "module", reason: "not installed", path: undefined };
}

async function probeModule(module: BackendModule): Promise<ProbeAnswer> {
  try {
    checkCached(module.path);
  } catch (error) {
    return { missing: classifyFailure(error), reason: (error as Error).message };
  }
  return ask(module);
}

/** A separate process, so that a crash of the backend does not affect this one. */
function ask({ backend, path }: BackendModule): Promise<ProbeAnswer> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...process.execArgv, pathOfProcess("probe"), path, backend],
      { timeout: 60_000, killSignal: "SIGKILL", env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: "3" } },
      (error, stdout, stderr) => {
        const line = stdout.split("\n").findLast((text) => text.startsWith("{"));
        if (line !== undefined) resolve(JSON.parse(line) as ProbeAnswer);
        else resolve({ missing: "start", reason: crash(error, stderr) });
      },
    );
    // Ends the process after its answer, because a module may have left something running.
    child.stdout?.on("data", (text: string) => {
      if (/^\{.*\}$/m.test(text)) child.kill();
    });
  });
}

function crash(error: (Error & { killed?: boolean; signal?: NodeJS.Signals | null }) | null, stderr: string): string {
  const last = stderr.trim().split("\n").at(-1) ?? "";
  if (error?.signal === "SIGILL") return "the process ended by SIGILL: TensorFlow needs a processor with AVX";
  if (error?.killed === true) return "it did not answer within a minute";
  return `the process ended by ${error?.signal ?? "an error"}${last === "" ? "" : `: ${last}`}`;
}

function firstLine(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return (lines.find((line) => line !== "") ?? "").slice(0, 300);
}
