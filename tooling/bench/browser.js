// Training in a page, in a headless Chromium with a software GPU (SwiftShader). Measures memory and time of steps of
// the examples unmodified, with an idle hook, and with early release, in turn. Also finds the largest batch of
// MobileNetV2 on images of 96 px that trains before the context is lost, which happens at a given number of texture
// bytes.
// Usage: node tooling/bench/browser.js [--only ways|batch]
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { median } from "./src/measure.js";
import { report } from "./src/report.js";

const rounds = 5;
const timed = { webgl: ["u-net", "transformer", "mobilenet-v2"], webgpu: ["u-net", "transformer"] };
const limitBytes = 512e6;
/**
 * Budget of tensors at 4 bytes per number. Textures have padding, and memory of freed ones is returned only after an
 * op.
 */
const budgetBytes = 0.8 * limitBytes;
const only = process.argv.includes("--only") ? process.argv.at(-1) : undefined;

const examples = new URL("../../examples/", import.meta.url);
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const megabytes = (bytes) => bytes / 1e6;

/** In a page, the files that the examples read from disk are in their bundle. */
const filesOfExamples = {
  name: "files-of-examples",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:fs$/ }, ({ path, importer }) =>
      importer.startsWith(fileURLToPath(examples)) ? { path, namespace: "files" } : undefined,
    );
    onLoad({ filter: /./, namespace: "files" }, () => {
      const topologies = new URL("keras/", examples);
      const texts = readdirSync(topologies).map((name) => [name, readFileSync(new URL(name, topologies), "utf8")]);
      return {
        contents: `const texts = new Map(${JSON.stringify(texts)}); export const readFileSync = ({ pathname }) => texts.get(pathname.split("/").at(-1));`,
      };
    });
  },
};

async function bundle() {
  const names = [...new Set(Object.values(timed).flat())];
  const imports = names.map((name, i) => `import model${i} from "../../examples/${name}/model.js";`).join("\n");
  const contents = `${imports}
import { kerasExample } from "../../examples/keras-example.js";
import * as page from "./src/browser-page.js";
const models = { ${names.map((name, i) => `${JSON.stringify(name)}: model${i}`).join(", ")},
  "mobilenet-v2, 96 px": (args) => kerasExample(args, { name: "MobileNetV2", file: "mobilenet_v2", tiny: { pixels: 96, batch: 1 } }) };
Object.assign(globalThis, { ask: (call, model, ...args) => page[call](models[model], ...args), isLoaded: true });`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    plugins: [filesOfExamples],
    logLevel: "error",
  });
  return outputFiles[0].text;
}

const script = await bundle();
const server = createServer(({ url }, response) => {
  const isScript = url === "/page.js";
  response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
  response.end(isScript ? script : '<!doctype html><title>bench</title><script type="module" src="/page.js"></script>');
});
await new Promise((resolve) => server.listen(0, "localhost", resolve));
const args = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
args.push("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan");
if (process.getuid?.() === 0) args.push("--no-sandbox");
const browser = await chromium.launch({ executablePath, args });

/** Uses a new page, since a lost context cannot be restored. */
async function ask(...call) {
  const page = await browser.newPage();
  try {
    await page.goto(`http://localhost:${server.address().port}/`);
    await page.waitForFunction("globalThis.isLoaded === true");
    return await page.evaluate((call) => globalThis.ask(...call), call);
  } finally {
    await page.close();
  }
}

try {
  if (only !== "batch")
    for (const [backend, names] of Object.entries(timed))
      for (const name of names) {
        const { ms, bytes } = await ask("timeWays", name, backend, rounds);
        const [stock, hook, early] = [ms.stock, ms.hook, ms.early].map(median);
        const what = `${name}, tiny, ${backend}`;
        report({ what: `${what}: stock's step`, value: stock, unit: "ms", runs: ms.stock.length });
        report({ what: `${what}: with the hook`, value: hook / stock, unit: "× stock", bound: 1.02 });
        report({ what: `${what}: early release`, value: early / stock, unit: "× stock", bound: 1.05 });
        report({
          what: `${what}: early release on the GPU`,
          value: megabytes(bytes.early.used),
          unit: "MB",
          note: `stock ${megabytes(bytes.stock.used).toFixed(1)} MB`,
        });
      }
  if (only !== "ways") await findLargestBatches();
} finally {
  await browser.close();
  server.close();
}

async function findLargestBatches() {
  const model = "mobilenet-v2, 96 px";
  for (const [name, way] of [
    ["stock", "stock"],
    ["early release", "early"],
    ["a budget", { budgetBytes }],
  ]) {
    const fits = async (batch) => {
      try {
        return (await ask("allocatedBytes", model, batch, way)).allocated <= limitBytes;
      } catch (error) {
        if (String(error.message).includes("BUDGET") || String(error.message).includes("budget")) return false;
        throw error;
      }
    };
    let fitting = 0;
    let over = 1;
    while (await fits(over)) [fitting, over] = [over, 2 * over];
    while (over - fitting > 1) {
      const middle = (fitting + over) >> 1;
      if (await fits(middle)) fitting = middle;
      else over = middle;
    }
    report({ what: `${model}: largest batch, ${name}, told`, value: fitting, unit: "pictures" });
    const trained = fitting === 0 ? undefined : await ask("trainWithin", model, fitting, way, limitBytes);
    const beyond = await ask("trainWithin", model, over, way, limitBytes);
    report({
      what: `${model}: steps of 2 at that batch, ${name}`,
      value: trained?.steps ?? 0,
      unit: "steps",
      note: `${trained?.code}; at ${over}: ${beyond.steps} steps, ${beyond.code}`,
    });
  }
}
