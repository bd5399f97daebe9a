import { createWriteStream, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { RematError } from "@remat/trace";
import { openPromise } from "yauzl";

/** Files that a build needs from a wheel: two libraries, and the C headers with their includes. */
const wanted =
  /^tensorflow\/(libtensorflow_(cc|framework)\.so\.2|include\/((tensorflow\/|xla\/)?tsl\/(c|platform)\/|tensorflow\/c\/|tensorflow\/core\/platform\/ctstring).*[^/])$/;

/**
 * Unpacks the libraries and headers of a TensorFlow wheel, which is a zip file, into `folder`, without the leading
 * `tensorflow/`.
 *
 * @throws RematError `NATIVE_WHEEL` if it is not a zip file or is damaged
 * @internal
 */
export async function extractWheel(wheel: string, folder: string): Promise<void> {
  try {
    const zip = await openPromise(wheel);
    for await (const entry of zip.eachEntry()) {
      if (!wanted.test(entry.fileName)) continue;
      const path = join(folder, entry.fileName.slice("tensorflow/".length));
      mkdirSync(dirname(path), { recursive: true });
      await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(path));
    }
  } catch (cause) {
    throw new RematError(
      "NATIVE_WHEEL",
      `${wheel} cannot be unpacked: ${(cause as Error).message}. Download the TensorFlow wheel from PyPI again.`,
      { cause },
    );
  }
}
