import * as checkpoint from "@remat/checkpoint";
import * as predict from "@remat/checkpoint/predict";
import * as releaseAlone from "@remat/checkpoint/release";
import * as dispatchHook from "@remat/dispatch-hook";
import * as backends from "@remat/dispatch-hook/backends";
import * as engine from "@remat/dispatch-hook/engine";
import * as fake from "@remat/dispatch-hook/fake";
import * as kernels from "@remat/dispatch-hook/kernels";
import * as release from "@remat/dispatch-hook/release";
import * as residency from "@remat/dispatch-hook/residency";
import * as tensors from "@remat/dispatch-hook/tensors";
import * as leaks from "@remat/leaks";
import * as modTracker from "@remat/mod-tracker";
import * as benchmark from "@remat/runtime-estimator/benchmark";
import * as tracer from "@remat/tracer";
import * as step from "@remat/tracer/step";

/** Packages of remat that depend on tfjs, as a program that uses remat itself gets them. */
export const enginePackages: Record<string, object> = {
  "@remat/dispatch-hook/kernels": kernels,
  "@remat/dispatch-hook/backends": backends,
  "@remat/dispatch-hook": dispatchHook,
  "@remat/dispatch-hook/engine": engine,
  "@remat/dispatch-hook/release": release,
  "@remat/dispatch-hook/residency": residency,
  "@remat/dispatch-hook/tensors": tensors,
  "@remat/dispatch-hook/fake": fake,
  "@remat/leaks": leaks,
  "@remat/mod-tracker": modTracker,
  "@remat/tracer": tracer,
  "@remat/tracer/step": step,
  "@remat/runtime-estimator/benchmark": benchmark,
  "@remat/checkpoint": checkpoint,
  "@remat/checkpoint/predict": predict,
  "@remat/checkpoint/release": releaseAlone,
};
