import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";

const html = `<!doctype html><title>specs</title><script type="module">
  import("/specs.js").catch((error) => Object.assign(globalThis, { failure: String(error.stack), isOver: true }));
</script>`;

/**
 * Runs a bundle in a page of a new Chromium with a software GPU.
 *
 * @param {{ bundle: string, mode: string, browserPath: string, limitMs: number }} options
 * @returns {Promise<import("./run-specs.js").SpecRun>}
 */
export async function runSpecsInBrowser({ bundle, mode, browserPath, limitMs }) {
  const text = readFileSync(bundle);
  const server = createServer((request, response) => {
    const isBundle = request.url === "/specs.js";
    response.setHeader("content-type", isBundle ? "text/javascript" : "text/html");
    response.end(isBundle ? text : html);
  });
  await new Promise((resolve) => server.listen(0, "localhost", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const args = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
  args.push("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan");
  args.push("--js-flags=--expose-gc");
  if (process.getuid?.() === 0) args.push("--no-sandbox");
  const browser = await chromium.launch({ executablePath: browserPath, args });
  try {
    const page = await browser.newPage();
    const crashed = new Promise((_, reject) =>
      page.on("crash", () => reject(new Error(`the page with mode ${mode} crashed`))),
    );
    await page.goto(`http://localhost:${port}/?mode=${mode}`);
    await Promise.race([
      page.waitForFunction("globalThis.isOver === true", undefined, { timeout: limitMs, polling: 500 }),
      crashed,
    ]);
    const failure = await page.evaluate("globalThis.failure");
    if (failure !== undefined) throw new Error(`specs with mode ${mode} did not run: ${failure}`);
    return JSON.parse(await page.evaluate("globalThis.specRun"));
  } finally {
    await browser.close();
    server.close();
  }
}
