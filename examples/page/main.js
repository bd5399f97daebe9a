import { drawMemory, megabytes } from "./draw-memory.js";
import { openFrames } from "./frames.js";

const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const canvas = document.querySelector("#frame");

for (const name of ["webgl", "webgpu", "cpu"]) form.elements.backend.append(new Option(name));
// Lets a link set the form: `?backend=webgpu&pixels=64`.
for (const [name, value] of new URLSearchParams(location.search))
  if (name in form.elements) form.elements[name].value = value;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  train(new FormData(form))
    .catch((error) => {
      status.textContent = `${error.code ?? error.name}: ${error.message}`;
    })
    .finally(() => {
      button.disabled = false;
    });
});

/** Each side has its own TensorFlow.js in a worker, so that they are independent and the page stays responsive. */
function openSide(way) {
  const worker = new Worker(new URL("side.js", import.meta.url), { type: "module" });
  const ask = (call, ...args) =>
    new Promise((resolve, reject) => {
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.onmessage = ({ data: { result, code, message } }) => {
        if (message === undefined) resolve(result);
        else reject(Object.assign(new Error(message), { code }));
      };
      worker.postMessage({ call, args });
    });
  const section = document.querySelector(`[data-way=${way}]`);
  return { ask, close: () => worker.terminate(), section, held: [], peakBytes: 0, loss: Number.NaN };
}

async function train(asked) {
  const [pixels, batch, steps] = ["pixels", "batch", "steps"].map((name) => Number(asked.get(name)));
  status.textContent = "Compiling …";
  const frames = await openFrames(canvas, asked.get("camera") !== null);
  const options = { backend: asked.get("backend"), pixels };
  const [stock, remat] = [openSide("stock"), openSide("remat")];
  const sides = [stock, remat];
  try {
    await Promise.all([stock.ask("start", options), remat.ask("start", { ...options, budget: asked.get("budget") })]);
    await remat.ask("setWeights", await stock.ask("weights"));
    for (let step = 1; step <= steps; step++) {
      const { pictures, classes } = nextBatch(frames, batch, pixels);
      for (const side of sides) await takeStep(side, pictures, [batch, pixels, pixels, 3], classes);
      for (const { section, held } of sides)
        drawMemory(section.querySelector("canvas"), held, Math.max(stock.peakBytes, remat.peakBytes));
      const losses = stock.loss === remat.loss ? "the same loss to the bit" : `losses ${stock.loss} and ${remat.loss}`;
      status.textContent = `Step ${step} of ${steps}: ${losses}`;
    }
  } finally {
    frames.close();
    for (const { close } of sides) close();
  }
}

async function takeStep(side, pictures, shape, classes) {
  const { result: loss, held, ms, recomputedOps } = await side.ask("step", pictures, shape, classes);
  Object.assign(side, { held, loss, peakBytes: Math.max(side.peakBytes, ...held) });
  const recomputed = recomputedOps === undefined ? "" : `; ${recomputedOps} ops recomputed`;
  side.section.querySelector("p").textContent =
    `loss ${loss.toFixed(4)}; ${megabytes(Math.max(...held))} in this step, ${megabytes(side.peakBytes)} at most; ${Math.round(ms)} ms${recomputed}`;
}

function nextBatch(frames, batch, pixels) {
  const pictures = new Float32Array(batch * pixels * pixels * 3);
  const classes = [];
  Object.assign(canvas, { width: pixels, height: pixels });
  for (let i = 0, at = 0; i < batch; i++) {
    classes.push(frames.next());
    const { data } = canvas.getContext("2d").getImageData(0, 0, pixels, pixels);
    for (let byte = 0; byte < data.length; byte++) if (byte % 4 !== 3) pictures[at++] = data[byte];
  }
  return { pictures, classes };
}
