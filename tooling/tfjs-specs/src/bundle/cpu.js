import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-backend-cpu";
import { setTestEnvs } from "@tensorflow/tfjs-core/dist/jasmine_util";

// Without flags, since specs distinguish cpu from WebGL 2 by their absence.
setTestEnvs([{ name: "cpu", backendName: "cpu", isDataSync: true }]);
