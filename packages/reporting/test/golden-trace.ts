import { readPyTorchTrace } from "@remat/pytorch";
import { goldenFiles, readGolden } from "@remat/testkit";
import type { Trace } from "@remat/trace";

/** Reads one of the runs that PyTorch's own tools were asked about. */
export function goldenTrace(name: string): Trace {
  const file = goldenFiles().find((golden) => golden.name === name);
  if (file === undefined) throw new Error(`no golden file ${name}`);
  return readPyTorchTrace(readGolden(file));
}
