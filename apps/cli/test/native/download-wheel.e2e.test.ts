import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { downloadWheel } from "../../src/native/download-wheel.js";
import { readPins, requiredWheel } from "../../src/native/pins.js";
import { findWheel, parseIndex } from "../../src/native/wheel-index.js";
import { type Machine, makeMachine } from "./fake-tools.js";

const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const { fileName } = requiredWheel(readPins(), false, "x64");
/** As it is pinned, but of another content. */
const wheel = { ...requiredWheel(readPins(), false, "x64"), sha256: hashOf("the wheel") };

let machine: Machine;
let server: Server;
let pages: Record<string, string>;
let index: string;
/** User and password that the server wants. */
let password: string | undefined;
beforeEach(async () => {
  machine = makeMachine();
  pages = {};
  password = undefined;
  server = createServer(({ url = "", headers }, response) => {
    const given = Buffer.from((headers.authorization ?? "").replace("Basic ", ""), "base64").toString();
    const page = password === undefined || given === password ? pages[url] : undefined;
    if (page === undefined) response.writeHead(404).end();
    else
      response.writeHead(200, { "content-length": page.length + (page === "cut" ? 9 : 0) }).write(page, () => {
        if (page === "cut") response.destroy();
        else response.end();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  index = `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`;
});
afterEach(async () => {
  machine.remove();
  await new Promise((resolve) => server.close(resolve));
});

function download(env: Record<string, string> = {}) {
  const folder = join(machine.folder, "download");
  mkdirSync(folder);
  const seen: [number, number | undefined][] = [];
  const done = downloadWheel(wheel, {
    folder,
    env: { ...machine.env, PIP_INDEX_URL: index, ...env },
    progress: (bytes, all) => seen.push([bytes, all]),
  });
  return { done, seen };
}

describe("downloadWheel without pip", () => {
  const list = (hash: string) => {
    pages["/simple/tensorflow-cpu/"] =
      `<a href="../../files/${fileName}#sha256=${hash}" data-requires-python="&gt;=3.10">${fileName}</a>`;
  };

  test("fetches the wheel that the index lists, and tells how far it is", async () => {
    pages[`/files/${fileName}`] = "the wheel";
    list(hashOf("the wheel"));
    const { done, seen } = download();
    expect(readFileSync(await done, "utf8")).toBe("the wheel");
    expect(seen.at(-1)).toEqual([9, 9]);
  });

  test("refuses one whose hash is another", async () => {
    pages[`/files/${fileName}`] = "not the wheel";
    list(hashOf("the wheel"));
    await expect(download().done).rejects.toMatchObject({
      code: "NATIVE_DOWNLOAD",
      message: expect.stringContaining(
        `${fileName} has SHA-256 ${hashOf("not the wheel")}, but ${fileName} has ${hashOf("the wheel")}`,
      ),
    });
  });

  test("tells when it is cut off", async () => {
    pages[`/files/${fileName}`] = "cut";
    list(hashOf("the wheel"));
    await expect(download().done).rejects.toThrow(
      /closed the connection after \d+ bytes of tensorflow_cpu.*--tensorflow/,
    );
  });

  test("tells what the index answers", async () => {
    await expect(download().done).rejects.toThrow(/answered 404 Not Found for \/simple\/tensorflow-cpu\//);
  });

  test("tells when the index cannot be reached", async () => {
    const failed = download({ PIP_INDEX_URL: "http://127.0.0.1:1/simple" }).done;
    await expect(failed).rejects.toThrow(/^127\.0\.0\.1:1 cannot be reached: .*--tensorflow/);
  });

  test("gives user and password of the index's address to the index, and shows them to nobody", async () => {
    password = "me:p@ss";
    const withPassword = index.replace("http://", "http://me:p%40ss@");
    pages[`/files/${fileName}`] = "the wheel";
    list(hashOf("another wheel"));
    const failed = download({ PIP_INDEX_URL: withPassword }).done;
    await expect(failed).rejects.toThrow(/has SHA-256/);
    await expect(failed).rejects.not.toThrow(/p(%40|@)ss/);
  });
});

test("pip's failure is told", async () => {
  machine.command(
    "python3",
    'if (args.includes("download")) { console.error("ERROR: No matching distribution"); process.exit(1); }',
  );
  await expect(download().done).rejects.toThrow(
    /pip could not fetch tensorflow-cpu==2\.21\.0: ERROR: No matching distribution.*--tensorflow/,
  );
});

describe("an index", () => {
  const link = (name: string) => ({ url: `https://x/${name}`, fileName: name, sha256: undefined });

  test("is read whatever its quotes, case and relative addresses", () => {
    const html = `<!DOCTYPE html><A HREF='a-1-py3-none-any.whl'>a</A>\n<a data-x="1" href = "/b%2B1.whl?x=1&amp;y=2#sha256=${"0A".repeat(32)}">b</a> <a name="none">c</a>`;
    expect(parseIndex(html, "https://host/simple/a/")).toEqual([
      { url: "https://host/simple/a/a-1-py3-none-any.whl", fileName: "a-1-py3-none-any.whl", sha256: undefined },
      { url: "https://host/b%2B1.whl?x=1&y=2", fileName: "b+1.whl", sha256: "0a".repeat(32) },
    ]);
  });

  test("gives the wheel that is pinned and no other", () => {
    const links = [
      "tensorflow_cpu-2.21.0-cp39-cp39-manylinux_2_27_x86_64.whl",
      fileName,
      "tensorflow_cpu-2.21.0-cp313-cp313-manylinux_2_27_x86_64.whl",
      "tensorflow_cpu-2.21.0-cp312-cp312-win_amd64.whl",
      "tensorflow_cpu-2.21.0-cp312-cp312-manylinux_2_27_aarch64.whl",
      "tensorflow_cpu-2.21.0rc1-cp312-cp312-manylinux_2_27_x86_64.whl",
      "tensorflow_cpu-2.21.0.tar.gz",
    ].map(link);
    expect(findWheel(links, wheel).fileName).toBe(fileName);
    expect(() => findWheel(links.toSpliced(1, 1), wheel)).toThrow(`the index has no ${fileName}`);
  });

  test("that says another hash than the pinned one is not asked for the wheel", () => {
    const links = [{ ...link(fileName), sha256: hashOf("another wheel") }];
    expect(() => findWheel(links, wheel)).toThrow(`${hashOf("another wheel")} in the index, expected ${wheel.sha256}`);
  });

  test("is asked for the build with CUDA only for a GPU, and for the only one on arm64", () => {
    expect(
      [requiredWheel(readPins(), false, "x64"), requiredWheel(readPins(), true, "x64")]
        .concat(requiredWheel(readPins(), true, "arm64"))
        .map(({ project }) => project),
    ).toEqual(["tensorflow-cpu", "tensorflow", "tensorflow"]);
  });
});
