import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-backend-cpu";
import { setTestEnvs } from "@tensorflow/tfjs-core/dist/jasmine_util";

// Without flags: specs for cpu and WebGL 2 tell the one by having none.
setTestEnvs([{ name: "cpu", backendName: "cpu", isDataSync: true }]);
