// What `browser.js` runs in a page.
import { openMemoryBudget, releaseEarly, stopOnContextLoss } from "@remat/checkpoint";
import { openDispatchMode } from "@remat/dispatch-hook";
import { fakeMode } from "@remat/dispatch-hook/fake";
import { prepareStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-webgpu";

/** Each returns what ends it. */
const ways = {
  stock: () => () => {},
  hook: () => openDispatchMode({}),
  early: () => releaseEarly(),
};

const openWay = (way) =>
  typeof way === "string" ? ways[way]() : openMemoryBudget(way.budgetBytes, { online: true }).close;

/** Runs `work` and returns the most bytes that were in use, and allocated, on the GPU after any kernel. */
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

/** Steps of a way that follow each other. */
const inARow = 3;

/** Takes steps of an example, as stock, with the hook there and nobody listening, and with early release, in turn. */
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
    // Programs are compiled, and an optimizer makes its slots, in the first; updates are as they will be from the third on.
    await take();
    await take();
    bytes[name] = await measureBytes(take);
    close();
  }
  for (let round = 0; round < rounds; round++)
    for (const name of names) {
      const close = openWay(name);
      // Patched anew, code runs slowly at first.
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

/** The most that a step of a batch allocates in textures, told without the device. */
export async function allocatedBytes(exported, batch, way) {
  // Its kernels run without the device, once it is there.
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

/** Trains in a page whose context is lost as soon as more than `limitBytes` of textures are there. Returns how many steps come to their end, of two. */
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
