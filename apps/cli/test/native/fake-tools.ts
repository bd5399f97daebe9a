import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { zipSync } from "fflate";
import { type Pins, readPins } from "../../src/native/pins.js";

/** A machine of which we say what is installed: its commands are scripts, its tfjs-node is tfjs on the cpu under another name. */
export interface Machine {
  readonly folder: string;
  readonly cache: string;
  /** Only these commands exist on it. */
  readonly env: Record<string, string>;
  /** Executed commands, one per line. */
  log(): readonly string[];
  /** Makes a command that runs `source`, with `args` and `log`. */
  command(name: string, source: string): void;
  /** Writes files below a folder of the machine and returns the folder. */
  files(folder: string, files: Readonly<Record<string, string>>): string;
  /** A wheel with the files that a TensorFlow to build against has, and more. */
  wheel(name?: string, files?: Readonly<Record<string, string>>): string;
  /** The pins of remat, but for the wheel, which is that of `wheel()`. */
  pins(): Pins;
  remove(): void;
}

/** Files that a build looks for in a folder of TensorFlow. */
export const libraryFiles: Readonly<Record<string, string>> = {
  "libtensorflow_cc.so.2": "the C++ library",
  "libtensorflow_framework.so.2": "the framework",
  "include/tensorflow/c/eager/c_api.h": "the C API",
};

const tfjs = createRequire(import.meta.url).resolve("@tensorflow/tfjs");

/** tfjs-node as we need it: fails without its addon, as the real one does, else computes on the cpu. */
const nodePackage = `
const { existsSync, readFileSync } = require("node:fs");
const addon = require("node:path").join(__dirname, "lib/napi-v8/tfjs_binding.node");
if (!existsSync(addon)) throw new Error("The Node.js native addon module (tfjs_binding.node) can not be found at path: " + addon);
if (readFileSync(addon, "utf8").includes("crash")) process.kill(process.pid, "SIGILL");
if (readFileSync(addon, "utf8").includes("symbol")) throw new Error(addon + ": undefined symbol: TFE_NewOp");
const tf = module.exports = require(${JSON.stringify(tfjs)});
tf.env().set("PROD", true);
const cpu = tf.findBackend("cpu");
Object.assign(cpu, { binding: { TF_Version: "9.9.9" }, isUsingGpuDevice: false });
for (const kernel of tf.getKernelsForBackend("cpu")) tf.registerKernel({ ...kernel, backendName: "tensorflow" });
tf.registerBackend("tensorflow", () => cpu, 3);
tf.setBackend("tensorflow");
`;

const npm = `
if (args[0] === "ci") {
  const { mkdirSync, readFileSync, writeFileSync } = require("node:fs");
  const [[name, version]] = Object.entries(JSON.parse(readFileSync("package.json", "utf8")).dependencies);
  const { integrity } = JSON.parse(readFileSync("package-lock.json", "utf8")).packages["node_modules/" + name];
  require("node:fs").appendFileSync(LOG, "npm verifies " + name + "@" + version + " " + integrity + "\\n");
  const folder = "node_modules/" + name;
  mkdirSync(folder + "/binding", { recursive: true });
  writeFileSync(folder + "/package.json", JSON.stringify({ name, version, main: "index.js" }));
  writeFileSync(folder + "/index.js", ${JSON.stringify(nodePackage)});
  writeFileSync(folder + "/binding/tfjs_binding.cc", "");
}`;

const compiler = `
if (args[0] !== "--version") require("node:fs").writeFileSync(args[args.indexOf("-o") + 1], "addon");`;

export function makeMachine(): Machine {
  const folder = mkdtempSync(join(tmpdir(), "remat-native-"));
  const bin = join(folder, "bin");
  const logFile = join(folder, "log");
  mkdirSync(bin);
  // Otherwise a package.json above the temporary folder decides how Node reads these programs.
  writeFileSync(join(bin, "package.json"), "{}");
  writeFileSync(logFile, "");
  const command = (name: string, source: string) => {
    const start = `#!${process.execPath}
const args = process.argv.slice(2);
const LOG = ${JSON.stringify(logFile)};
require("node:fs").appendFileSync(LOG, ${JSON.stringify(name)} + " " + args.join(" ") + "\\n");
`;
    writeFileSync(join(bin, name), start + source);
    chmodSync(join(bin, name), 0o755);
  };
  command("npm", npm);
  command("g++", compiler);
  return {
    folder,
    cache: join(folder, "cache"),
    env: { PATH: bin, HOME: folder, REMAT_CACHE_DIR: join(folder, "cache") },
    log: () =>
      readFileSync(logFile, "utf8")
        .split("\n")
        .filter((line) => line !== ""),
    command,
    files: (name, files) => {
      for (const [file, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name, file)), { recursive: true });
        writeFileSync(join(folder, name, file), text);
      }
      return join(folder, name);
    },
    wheel: (name = "tensorflow_cpu-2.21.0-cp312-cp312-manylinux_2_27_x86_64.whl", files = libraryFiles) => {
      const inside = Object.entries({ ...files, "python/all.py": "import this", "include/absl/base.h": "" });
      const entries = inside.map(([file, text]) => [`tensorflow/${file}`, new TextEncoder().encode(text)]);
      writeFileSync(join(folder, name), zipSync(Object.fromEntries(entries) as Record<string, Uint8Array>));
      return join(folder, name);
    },
    pins: () => {
      const pins = readPins();
      const { fileName } = pins.wheels.x64;
      const path = join(folder, fileName);
      const sha256 = existsSync(path) ? createHash("sha256").update(readFileSync(path)).digest("hex") : "none";
      return { ...pins, wheels: { ...pins.wheels, x64: { ...pins.wheels.x64, sha256 } } };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
