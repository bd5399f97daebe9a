import { expectNoLeaks, leakMatchers } from "@remat/leaks";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-webgl";

/** Reports on a function that leaks, and on one that does not. */
export interface LeaksFound {
  /** For the function that leaks. */
  readonly message: string;
  readonly matcherPasses: boolean;
  /** For the one that does not. */
  readonly cleanMessage: string;
  readonly cleanMatcherPasses: boolean;
}

/** Looks for leaks in a page, with the function and with the matcher. */
export async function findLeaksInPage(backend: string): Promise<LeaksFound> {
  await tf.setBackend(backend);
  const x = tf.ones([8, 4]);
  const leaking = () => void tf.mul(x, 2);
  const clean = () => tf.tidy(() => void tf.mul(x, 2));
  const messageOf = async (fn: () => void): Promise<string> => {
    try {
      await expectNoLeaks(fn);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const passes = async (fn: () => void): Promise<boolean> => (await leakMatchers.toLeakTensors(fn)).pass;
  return {
    message: await messageOf(leaking),
    matcherPasses: await passes(leaking),
    cleanMessage: await messageOf(clean),
    cleanMatcherPasses: await passes(clean),
  };
}
