// Runs a campaign in a separate process, and ends it if it is silent for too long.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { fuzzPath } from "./load-fuzz.js";

/** Longer than any try or shrinking takes on a busy machine. */
const silenceMs = 300_000;
/** Memory limit of a process. */
const heapMb = 3072;
const lastLines = 20;

/**
 * @param {{ kind: string, backend: string, seed: number, ms: number, leastTries?: number }} request
 * @param {(asked: any) => Promise<any>} invoke
 * @returns {Promise<{ tries: number, seconds: number, findings: import("./src/index.js").Finding[] }>}
 */
export async function watchCampaign(request, invoke) {
  const began = performance.now();
  /** @type {import("./src/index.js").Finding[]} */
  const findings = [];
  let tries = 0;
  let trying = "";
  let isOver = false;
  let output = "";
  const path = fileURLToPath(new URL("campaign-process.js", import.meta.url));
  const child = fork(path, [fuzzPath, JSON.stringify(request)], {
    execArgv: ["--expose-gc", `--max-old-space-size=${heapMb}`],
    env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: "2" },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text) => {
      output = `${output}${text}`.slice(-20_000);
    });
  let isSilent = false;
  const end = () => {
    isSilent = true;
    child.kill("SIGKILL");
  };
  let timer = setTimeout(end, silenceMs);
  child.on("message", (/** @type {any} */ message) => {
    clearTimeout(timer);
    timer = setTimeout(end, silenceMs);
    if (message.asks)
      void invoke(message.request).then((answer) => child.connected && child.send({ answers: message.asks, answer }));
    if (message.found) findings.push(message.found);
    if (message.over) isOver = true;
    if (message.trying) {
      tries++;
      trying = message.trying;
    }
  });
  const [code, signal] = await new Promise((resolve) => child.on("close", (...ended) => resolve(ended)));
  clearTimeout(timer);
  if (!isOver || code !== 0) {
    const why = isSilent ? `silent for ${silenceMs / 1000} s` : `ended by ${signal ?? `exit code ${code}`}`;
    const said = output.trimEnd().split("\n").slice(-lastLines).join("\n");
    findings.push({ what: `${why}\n${said}`, test: trying, seed: request.seed });
  }
  return { tries, findings, seconds: (performance.now() - began) / 1000 };
}
