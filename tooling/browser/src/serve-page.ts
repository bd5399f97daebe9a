import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import { type Bundle, bundleForBrowser } from "./bundle-for-browser.js";

/** A page in a browser with a module's exports as globals. */
export interface ServedPage {
  readonly browser: Browser;
  readonly page: Page;
  /** Uncaught errors in the page. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

const html =
  '<!doctype html><html lang="en"><title>train</title><script type="module">import * as program from "/train.js"; Object.assign(globalThis, program); globalThis.isLoaded = true;</script>';

/** Starts a browser with webgl and webgpu in software. */
export function launchBrowser(executablePath: string): Promise<Browser> {
  const args = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
  args.push("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan");
  if (process.getuid?.() === 0) args.push("--no-sandbox");
  return chromium.launch({ executablePath, args });
}

/** A served bundle, with files of the wasm backend. */
export interface ServedBundle {
  readonly address: string;
  close(): void;
}

/** Bundles a module with everything that it imports. */
export type Bundler = (source: string) => Promise<Bundle>;

const require = createRequire(import.meta.url);

/** Bundles a module, and serves a page with it. */
export async function serveBundle(source: string, bundle: Bundler = bundleForBrowser): Promise<ServedBundle> {
  const { text } = await bundle(source);
  // WebGPU requires a secure context, which localhost is.
  const server = createServer((request, response) => {
    const { url = "" } = request;
    if (url.endsWith(".wasm")) {
      response.setHeader("content-type", "application/wasm");
      response.end(readFileSync(require.resolve(`@tensorflow/tfjs-backend-wasm/dist${url}`)));
      return;
    }
    const isModule = url === "/train.js";
    response.setHeader("content-type", isModule ? "text/javascript" : "text/html");
    response.end(isModule ? text : html);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `http://localhost:${port}/`, close: () => server.close() };
}

/** Bundles a module and opens a page with it. */
export async function servePage(browserPath: string, source: string, bundle?: Bundler): Promise<ServedPage> {
  const served = await serveBundle(source, bundle);
  const browser = await launchBrowser(browserPath);
  const faults: string[] = [];
  const page = await browser.newPage();
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(served.address);
  await page.waitForFunction("globalThis.isLoaded === true");
  const close = async () => {
    await browser.close();
    served.close();
  };
  return { browser, page, faults, close };
}
