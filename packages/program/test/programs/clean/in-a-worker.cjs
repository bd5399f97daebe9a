const { Worker, workerData } = require("node:worker_threads");
if (workerData !== "worker") Reflect.construct(Worker, [__filename, { workerData: "worker" }]);
else {
  const tf = require("@tensorflow/tfjs");
  const x = tf.ones([8, 8]);
  for (let i = 0; i < 12; i++) tf.tidy(() => x.add(i).sqrt().sum().dataSync());
}
