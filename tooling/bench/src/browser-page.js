// Runs in the page of `browser.js`.
import { openMemoryBudget, releaseEarly, stopOnContextLoss } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { prepareStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-webgpu";

/** Each returns a function that ends it. */
const ways = {
  stock: () => () => {},
  hook: () => openDispatchMode({}),
  early: () => releaseEarly(),
};

const openWay = (way) =>
  typeof way === "string" ? ways[way]() : openMemoryBudget(way.budgetBytes, { online: true }).close;

/** Runs `work` and returns the highest number of bytes in use, and of bytes allocated, on the GPU after any kernel. */
async function measureBytes(work) {
  const engine = tf.engine();
  const { runKernel } = engine;
  const most = { used: 0, allocated: 0 };
  engine.runKernel = function (...args) {
    const result = runKernel.apply(this, args);
    const { numBytesInGPU = 0, numBytesInGPUAllocated, numBytesAllocatedInGPU = 0 } = tf.memory();
    most.used = Math.max(most.used, numBytesInGPU);
    most.allocated = Math.max(most.allocated, numBytesInGPUAllocated ?? numBytesAllocatedInGPU);
    return result;
  };
  try {
    await work();
  } finally {
    delete engine.runKernel;
  }
  return most;
}

/** Consecutive steps of a strategy. */
const inARow = 3;

/** Runs steps of an example unmodified, with an idle hook, and with early release, in turn. */
export async function timeWays(exported, backend, rounds) {
  await tf.setBackend(backend);
  await tf.ready();
  const step = await prepareStep(exported, { size: "tiny", optimizer: "adam" });
  const take = async () => {
    let loss;
    step.take({ loss: (value) => (loss = tf.keep(value.clone())) });
    await loss.data();
    loss.dispose();
  };
  const names = Object.keys(ways);
  const ms = Object.fromEntries(names.map((name) => [name, []]));
  const bytes = {};
  for (const name of names) {
    const close = openWay(name);
    // The first steps compile programs and create the optimizer's slots. From the third on updates are representative.
    await take();
    await take();
    bytes[name] = await measureBytes(take);
    close();
  }
  for (let round = 0; round < rounds; round++)
    for (const name of names) {
      const close = openWay(name);
      // Newly patched code runs slowly at first.
      await take();
      for (let i = 0; i < inARow; i++) {
        const began = performance.now();
        await take();
        ms[name].push(performance.now() - began);
      }
      close();
    }
  step.dispose();
  return { ms, bytes };
}

/** Predicts, without the device, the highest texture allocation of a step at a batch size. */
export async function allocatedBytes(exported, batch, way) {
  // Kernels run without the device after it is initialized.
  await tf.setBackend("webgl");
  return fakeMode(
    async () => {
      const step = await prepareStep(exported, { size: "tiny", optimizer: "adam", batch });
      const close = openWay(way);
      try {
        return await measureBytes(() => {
          step.take();
          step.take();
        });
      } finally {
        close();
        step.dispose();
      }
    },
    { backend: "webgl" },
  );
}

/**
 * Trains in a page whose context is lost as soon as textures exceed `limitBytes`. Returns how many of two steps
 * complete.
 */
export async function trainWithin(exported, batch, way, limitBytes) {
  await tf.setBackend("webgl");
  const { textureManager, gpgpu } = tf.backend();
  const { acquireTexture } = textureManager;
  const loss = gpgpu.gl.getExtension("WEBGL_lose_context");
  textureManager.acquireTexture = function (...args) {
    const texture = acquireTexture.apply(this, args);
    if (this.numBytesAllocated > limitBytes && !gpgpu.gl.isContextLost()) loss.loseContext();
    return texture;
  };
  const stop = stopOnContextLoss();
  const close = openWay(way);
  let steps = 0;
  let code = "";
  try {
    const step = await prepareStep(exported, { size: "tiny", optimizer: "adam", batch });
    for (; steps < 2; steps++) {
      step.take();
      await new Promise((resolve) => setTimeout(resolve));
    }
  } catch (error) {
    code = error.code ?? error.message;
  }
  close();
  stop();
  return { steps, code };
}
