/** The part of Node that is used. Undefined in a browser. */
interface NodeProcess {
  readonly platform?: string;
  readonly arch?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  getBuiltinModule?(name: "node:fs"): { readFileSync(path: string, encoding: "utf8"): string };
}

/** `IsMKLEnabled` of `tensorflow/core/util/util.cc`, with the instruction names of Linux. */
const neuralInstructions = new Set("avx512_vnni avx512_bf16 avx_vnni amx_tile amx_int8 amx_bf16".split(" "));

/**
 * Returns whether TensorFlow on a CPU uses oneDNN in processes that start here. It does on Windows, and on Linux if the
 * CPU has instructions for neural networks, unless `TF_ENABLE_ONEDNN_OPTS` is set. Undefined if unknown, as for ARM
 * CPUs.
 */
export function usesOneDnn(): boolean | undefined {
  const { process } = globalThis as { readonly process?: NodeProcess };
  switch (process?.env?.["TF_ENABLE_ONEDNN_OPTS"]?.toLowerCase()) {
    case "0":
    case "false":
      return false;
    case "1":
    case "true":
      return true;
  }
  if (process?.platform === "darwin") return false;
  if (process?.arch !== "x64") return undefined;
  return process.platform === "win32" || (process.platform === "linux" ? hasNeuralInstructions(process) : undefined);
}

function hasNeuralInstructions({ getBuiltinModule }: NodeProcess): boolean | undefined {
  try {
    const flags = /^flags\s*:(.*)$/m.exec(
      getBuiltinModule?.("node:fs").readFileSync("/proc/cpuinfo", "utf8") ?? "",
    )?.[1];
    return flags?.split(" ").some((flag) => neuralInstructions.has(flag));
  } catch {
    return undefined;
  }
}
