import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { bundlers } from "./bundlers.js";

/** @type {Readonly<Record<string, string>>} */
const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

/**
 * Files that bundlers do not recognise as files of their own: without its worker the page plans by itself.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const lacking = { esbuild: ["/planning/planning-worker.js"] };

/**
 * Bundles a web page with each bundler, in a folder in which packages are installed, and opens the result. The program
 * has to reach its end, which changes the text.
 *
 * @param {import("./page-program.js").WebPage} page
 * @param {string} folder inside the one in which packages are installed
 * @param {string} modules these packages
 * @param {string | undefined} browserPath of a Chromium. Undefined: it is only bundled
 * @returns {Promise<readonly string[]>} problems
 */
export async function tryInBrowser({ html, main }, folder, modules, browserPath) {
  await mkdir(folder, { recursive: true });
  await Promise.all([writeFile(join(folder, "index.html"), html), writeFile(join(folder, "main.js"), main)]);
  const before = /<p>(.*)<\/p>/.exec(html)?.[1] ?? "";
  const browser = browserPath === undefined ? undefined : await launch(browserPath);
  /** @type {string[]} */
  const problems = [];
  try {
    for (const [name, bundle] of Object.entries(bundlers)) {
      const out = join(folder, `by-${name}`);
      try {
        await bundle(folder, out, modules);
        if (browser !== undefined)
          problems.push(
            ...(await open(browser, out, before, lacking[name])).map((problem) => `by ${name}: ${problem}`),
          );
      } catch (error) {
        problems.push(`by ${name}: ${error instanceof Error ? error.message : error}`);
      }
    }
  } finally {
    await browser?.close();
  }
  return problems;
}

/** @param {string} executablePath */
function launch(executablePath) {
  const args = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
  if (process.getuid?.() === 0) args.push("--no-sandbox");
  return chromium.launch({ executablePath, args });
}

/**
 * @param {import("playwright-core").Browser} browser
 * @param {string} folder
 * @param {string} before the text that the program changes at its end
 * @param {readonly string[]} [lacks] files that may be missing
 */
async function open(browser, folder, before, lacks = []) {
  /** @type {string[]} */
  const problems = [];
  const server = createServer((request, response) => {
    const path = request.url === "/" ? "/index.html" : (request.url ?? "");
    readFile(join(folder, path)).then(
      (text) => response.setHeader("content-type", types[extname(path)] ?? "text/plain").end(text),
      () => {
        if (path !== "/favicon.ico" && !lacks.includes(path)) problems.push(`there is no ${path}`);
        response.writeHead(404).end();
      },
    );
  });
  await new Promise((resolve) => server.listen(0, "localhost", () => resolve(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  const page = await browser.newPage();
  page.on("pageerror", (error) => problems.push(error.message));
  try {
    const failed = page.waitForEvent("pageerror", { timeout: 60_000 }).catch(() => undefined);
    await page.goto(`http://localhost:${address.port}/`);
    const isChanged = `document.querySelector("p").innerText !== ${JSON.stringify(before)}`;
    await Promise.race([page.waitForFunction(isChanged, undefined, { timeout: 60_000 }), failed]);
    const told = await page.locator("p").innerText();
    if (told === before) return problems;
    const [, held, stock] = /^loss [\d.]+, (\d+) B instead of (\d+) B$/.exec(told) ?? [];
    if (!(Number(held) < Number(stock))) problems.push(`it says ${JSON.stringify(told)}`);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  } finally {
    await page.close();
    server.close();
  }
  return problems;
}
