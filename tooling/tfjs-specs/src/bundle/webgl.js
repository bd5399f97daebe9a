import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-backend-cpu";
import "@tensorflow/tfjs-backend-webgl";
import { setTestEnvs } from "@tensorflow/tfjs-core/dist/jasmine_util";

// As in tfjs-backend-webgl (`backend_webgl_test_registry.ts`), so that small tensors are also computed on the device.
setTestEnvs([
  {
    // The specs of drawing also choose their backend by this name.
    name: "webgl",
    backendName: "webgl",
    flags: { WEBGL_VERSION: 2, WEBGL_CPU_FORWARD: false, WEBGL_SIZE_UPLOAD_UNIFORM: 0 },
    isDataSync: true,
  },
]);
