import { RematError } from "@remat/trace";

/** A wheel as an index lists it. */
export interface WheelLink {
  readonly url: string;
  readonly fileName: string;
  /** Hexadecimal; undefined where the index tells none. */
  readonly sha256: string | undefined;
}

/** A wheel that has a TensorFlow to build against. */
export interface WheelRequirement {
  readonly project: string;
  readonly version: string;
  /** Roughly, for the question whether to fetch it. */
  readonly fetchedBytes: number;
  readonly unpackedBytes: number;
}

/**
 * The wheel to build against. What it holds of Python does not matter, only its C++ libraries. For arm64 there is one build, without CUDA.
 *
 * @internal
 */
export function requiredWheel(gpu: boolean, arch: string): WheelRequirement {
  const version = "2.21.0";
  if (arch === "arm64") return { project: "tensorflow", version, fetchedBytes: 282e6, unpackedBytes: 0.9e9 };
  return gpu
    ? { project: "tensorflow", version, fetchedBytes: 573e6, unpackedBytes: 1.26e9 }
    : { project: "tensorflow-cpu", version, fetchedBytes: 274e6, unpackedBytes: 0.86e9 };
}

/** The part of a wheel's platform tag that names the processor. @internal */
export const wheelArch = (arch: string): string => (arch === "arm64" ? "aarch64" : "x86_64");

/**
 * The links of a page of the simple repository API (PEP 503), which every index serves.
 *
 * @internal
 */
export function parseIndex(html: string, pageUrl: string): readonly WheelLink[] {
  const links: WheelLink[] = [];
  for (const [, , href] of html.matchAll(/<a\s[^>]*?href\s*=\s*(["'])(.*?)\1/gis)) {
    const url = new URL(href.replaceAll("&amp;", "&"), pageUrl);
    const sha256 = /^#sha256=([0-9a-f]{64})$/i.exec(url.hash)?.[1].toLowerCase();
    url.hash = "";
    links.push({ url: url.href, fileName: decodeURIComponent(url.pathname.split("/").at(-1) ?? ""), sha256 });
  }
  return links;
}

/**
 * The wheel for glibc of that version and processor; of those for several Pythons the newest, since they hold the same libraries.
 *
 * @throws RematError `NATIVE_WHEEL` if there is none
 * @internal
 */
export function chooseWheel(
  links: readonly WheelLink[],
  { project, version }: WheelRequirement,
  arch: string,
): WheelLink {
  const name = project.replaceAll("-", "_");
  const fitting = links.filter(({ fileName }) => {
    const [distribution, itsVersion, ...tags] = fileName.replace(/\.whl$/, "").split("-");
    const platform = tags.at(-1) ?? "";
    return (
      fileName.endsWith(".whl") &&
      distribution.toLowerCase().replace(/[-_.]+/g, "_") === name &&
      itsVersion === version &&
      platform.includes("manylinux") &&
      platform.endsWith(wheelArch(arch))
    );
  });
  const best = fitting.sort((a, b) => a.fileName.localeCompare(b.fileName, "en", { numeric: true })).at(-1);
  if (best === undefined)
    throw new RematError(
      "NATIVE_WHEEL",
      `the index has no wheel of ${project} ${version} for Linux on ${wheelArch(arch)}. Fetch one elsewhere and name the file by --tensorflow.`,
    );
  return best;
}
