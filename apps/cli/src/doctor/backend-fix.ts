import type { BackendProbe } from "./probe-backend.js";

/** Returns what to do about what a package lacks; undefined if nothing is to be done. `gpu`: whether the machine has one for CUDA. */
export function backendFix({ package: name, backend, missing }: BackendProbe, gpu: boolean): string | undefined {
  if (missing === undefined) return undefined;
  if (backend !== "tensorflow") return `npm install ${name}`;
  const setup = `remat setup native${name.endsWith("-gpu") ? " --gpu" : ""}`;
  switch (missing) {
    case "module":
    case "addon":
      return setup;
    case "library":
      return `put its folder on LD_LIBRARY_PATH, or: ${setup} --force`;
    case "trust":
    case "start":
      return `${setup} --force`;
    case "device":
      return gpu
        ? `pip install "tensorflow[and-cuda]", then: ${setup} --force`
        : "nothing: nvidia-smi shows no GPU here";
  }
}
