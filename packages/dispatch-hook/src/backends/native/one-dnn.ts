/** What of Node is asked; in a browser there is none of it. */
interface NodeProcess {
  readonly platform?: string;
  readonly arch?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  getBuiltinModule?(name: "node:fs"): { readFileSync(path: string, encoding: "utf8"): string };
}

/** `IsMKLEnabled` of `tensorflow/core/util/util.cc`, as Linux names the instructions. */
const neuralInstructions = new Set("avx512_vnni avx512_bf16 avx_vnni amx_tile amx_int8 amx_bf16".split(" "));

/**
 * Tells whether TensorFlow computes by oneDNN in processes that start here, where it is on a CPU: on Windows, and on Linux where the CPU has instructions for neural networks, unless
 * `TF_ENABLE_ONEDNN_OPTS` says otherwise. Undefined where that is not known, as of CPUs of ARM.
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
