// Bundles the page into dist/shell.html: one file that contains its style and script, and placeholders that each report
// fills.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Builds the page from the sources of all packages, writes the shell and returns it. */
export async function buildShell() {
  const result = await build({
    configFile: false,
    root: folder,
    logLevel: "warn",
    resolve: { conditions: ["@remat/source"] },
    build: {
      write: false,
      target: "es2022",
      minify: true,
      cssMinify: true,
      assetsInlineLimit: 0,
      lib: { entry: "page/main.ts", name: "remat", formats: ["iife"], fileName: () => "page.js", cssFileName: "page" },
      // Only the solver of mixed-integer programs needs it, which the page never uses.
      rolldownOptions: { external: ["highs"], output: { globals: { highs: "undefined" } } },
    },
  });
  const outputs = [result].flat().flatMap(({ output }) => output);
  const script = inScript(outputs.find(({ type }) => type === "chunk").code);
  const style = String(outputs.find(({ fileName }) => fileName.endsWith(".css")).source).trim();
  const shell = readFileSync(`${folder}page/shell.html`, "utf8")
    .replace("/* csp */", () => policy(script, style))
    .replace("/* style */", () => style)
    .replace("/* script */", () => script);
  mkdirSync(`${folder}dist`, { recursive: true });
  // Tests of several packages may build it at the same time.
  const partial = `${folder}dist/shell.html.${process.pid}.part`;
  writeFileSync(partial, shell);
  renameSync(partial, `${folder}dist/shell.html`);
  return shell;
}

/** Escapes code for use inside a script element. */
const inScript = (code) => code.trim().replace(/<(?=\/script|!--)/gi, "\\x3c");

/** Nothing may be fetched, sent or embedded. Only this script and this style run. */
function policy(script, style) {
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data: blob:",
    "worker-src blob:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await buildShell();
