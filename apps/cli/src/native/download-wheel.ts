import { createWriteStream, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { type Environment, hashFile } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import type { WheelRequirement } from "./pins.js";
import { failureText } from "./run-command.js";
import { runPython } from "./run-python.js";
import { findWheel, parseIndex } from "./wheel-index.js";

export interface DownloadOptions {
  /** An empty folder for the wheel. */
  readonly folder: string;
  readonly env: Environment;
  /** Called with the bytes received so far and, if the server reports it, the total. */
  readonly progress: (bytes: number, allBytes: number | undefined) => void;
}

/** Python's own index, unless the environment names another. */
const defaultIndex = "https://pypi.org/simple";

/**
 * Downloads a wheel and returns its path. Uses pip if it is installed, since it knows the user's indexes, proxies,
 * certificates and passwords. Otherwise downloads from `PIP_INDEX_URL` or from PyPI. In both cases the pinned hash must
 * match.
 *
 * @throws RematError `NATIVE_WHEEL` if none exists, `NATIVE_DOWNLOAD` if the download fails or the hash differs
 * @internal
 */
export async function downloadWheel(wheel: WheelRequirement, options: DownloadOptions): Promise<string> {
  const hasPip = (await runPython(["-m", "pip", "--version"], options.env)).code === 0;
  const path = await (hasPip ? downloadByPip(wheel, options) : downloadFromIndex(wheel, options));
  await checkWheel(path, wheel);
  return path;
}

/**
 * Rejects a wheel that is not the pinned one.
 *
 * @throws RematError `NATIVE_DOWNLOAD`
 * @internal
 */
export async function checkWheel(path: string, { fileName, sha256 }: WheelRequirement): Promise<void> {
  const found = await hashFile(path);
  if (found !== sha256)
    throw new RematError(
      "NATIVE_DOWNLOAD",
      `${basename(path)} has SHA-256 ${found}, but ${fileName} has ${sha256}: the download is damaged or modified. ${elsewhere}`,
    );
}

const elsewhere =
  "Check the network and pip's configuration, or download the wheel elsewhere and name it with --tensorflow.";

/** @internal */
async function downloadByPip(wheel: WheelRequirement, { folder, env }: DownloadOptions): Promise<string> {
  // Any version of Python will do, since no code of the wheel is run.
  const [, minor, platform] = /-cp3(\d+)-[^-]+-([^-]+)\.whl$/.exec(wheel.fileName) ?? [];
  const result = await runPython(
    [
      ...["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", folder],
      ...["--implementation", "cp", "--python-version", `3.${minor}`, "--platform", platform],
      `${wheel.project}==${wheel.version}`,
    ],
    env,
  );
  const file = readdirSync(folder).find((name) => name.endsWith(".whl"));
  if (result.code !== 0 || file === undefined)
    throw new RematError(
      "NATIVE_DOWNLOAD",
      `pip could not fetch ${wheel.project}==${wheel.version}: ${failureText(result)}. ${elsewhere}`,
    );
  return join(folder, file);
}

/** @internal */
async function downloadFromIndex(wheel: WheelRequirement, options: DownloadOptions): Promise<string> {
  const { folder, env, progress } = options;
  const page = new URL(`${(env["PIP_INDEX_URL"] ?? defaultIndex).replace(/(?<!\/)\/+$/, "")}/${wheel.project}/`);
  const access = takeCredentials(page);
  const listing = await request(page.href, access);
  const { url, fileName } = findWheel(parseIndex(await listing.text(), listing.url), wheel);
  // Credentials are for the index only, not for other hosts that it links to.
  const response = await request(url, new URL(url).origin === page.origin ? access : {});
  const all = Number(response.headers.get("content-length") ?? Number.NaN);
  const path = join(folder, fileName);
  let bytes = 0;
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      progress(bytes, Number.isNaN(all) ? undefined : all);
      yield chunk;
    }
  };
  try {
    const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
    await pipeline(body, counted, createWriteStream(path));
  } catch (cause) {
    throw new RematError(
      "NATIVE_DOWNLOAD",
      `${hostOf(url)} closed the connection after ${bytes} bytes of ${fileName}. ${elsewhere}`,
      {
        cause,
      },
    );
  }
  return path;
}

/**
 * Extracts user and password from a URL as a header. `fetch` rejects a URL that contains them, and no message should
 * show them.
 */
function takeCredentials(url: URL): Readonly<Record<string, string>> {
  const { username, password } = url;
  if (username === "" && password === "") return {};
  url.username = "";
  url.password = "";
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
}

async function request(url: string, access: Readonly<Record<string, string>>): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      headers: { accept: "application/vnd.pypi.simple.v1+html, text/html, */*", ...access },
    });
  } catch (cause) {
    const { message } = (cause as { cause?: Error }).cause ?? (cause as Error);
    throw new RematError("NATIVE_DOWNLOAD", `${hostOf(url)} cannot be reached: ${message}. ${elsewhere}`, { cause });
  }
  if (!response.ok)
    throw new RematError(
      "NATIVE_DOWNLOAD",
      `${hostOf(url)} answered ${response.status} ${response.statusText} for ${new URL(url).pathname}. ${elsewhere}`,
    );
  return response;
}

const hostOf = (url: string): string => new URL(url).host;
