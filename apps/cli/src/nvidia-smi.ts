/** A GPU listed by NVIDIA's driver. */
export interface ShownGpu {
  readonly name: string;
  /** As `nvidia-smi` prints it: `143771 MiB`. */
  readonly memory: string;
}

/** Runs `nvidia-smi` with options and returns its output, or undefined if it does not exist or fails. */
export type AskNvidiaSmi = (args: readonly string[]) => string | undefined;

const askNvidiaSmi: AskNvidiaSmi = (args) => {
  // Loaded here because it loads a dozen modules of Node, and few commands ask.
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  try {
    return execFileSync("nvidia-smi", args, { encoding: "utf8", timeout: 20_000, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
};

/** Returns the GPUs that NVIDIA's driver lists, or an empty list without a driver. */
export function shownGpus(ask: AskNvidiaSmi = askNvidiaSmi): readonly ShownGpu[] {
  const lines = ask(["--query-gpu=name,memory.total", "--format=csv,noheader"])?.split("\n") ?? [];
  return lines.flatMap((line) => {
    const [, name, memory] = /^(.+?),\s*([^,]+)$/.exec(line.trim()) ?? [];
    return name === undefined ? [] : [{ name, memory }];
  });
}

/**
 * Returns the memory of this machine's GPU in bytes. Undefined if it is unknown, or if GPUs differ, since it is unknown
 * which of them a program uses.
 */
export function gpuMemoryBytes(ask: AskNvidiaSmi = askNvidiaSmi): number | undefined {
  const [first, ...others] = new Set(shownGpus(ask).map(({ memory }) => memory));
  const [, mebibytes] = /^(\d+) MiB$/.exec(first ?? "") ?? [];
  return mebibytes === undefined || others.length > 0 ? undefined : Number(mebibytes) * 2 ** 20;
}
