// Trains in a loop that lets no timer run, leaks at line 12, and ends as HOW says after three tenths of a second.
const tf = require("@tensorflow/tfjs");
const how = process.env.HOW;
const { exit } = process;
if (how === "rethrow")
  process.on("uncaughtException", (error) => {
    throw error;
  });
const [w, optimizer] = [tf.variable(tf.ones([4, 1])), tf.train.sgd(0.1)];
const start = Date.now();
for (let step = 0; ; step++) {
  const x = tf.randomNormal([8, 4]);
  optimizer.minimize(() => x.matMul(w).square().mean());
  if (step < 200 || Date.now() - start < 300) continue;
  if (how === "exit") exit(3);
  if (how === "rethrow") throw new Error("memory access out of bounds");
  process.kill(process.pid, how);
}
