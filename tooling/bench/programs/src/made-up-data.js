import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Random numbers, the same in every run. */
function* numbers(seed) {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

/** Writes a text of words of random letters, for a model that predicts the next letter. */
export function writeText(folder) {
  const random = numbers(7);
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;:!?'-\n0123456789";
  const text = Array.from({ length: 60_000 }, () => letters[Math.floor(random.next().value * letters.length)]).join("");
  writeFileSync(join(folder, "text.txt"), text);
}

/** Writes a file of rows and columns in place of a download. */
export function writeTable(folder, file, columns, rows) {
  const values = numbers(13);
  const random = () => values.next().value;
  const row = (_, at) =>
    Object.values(columns)
      .map((valueOf) => valueOf(random, at))
      .join(",");
  const lines = [Object.keys(columns).join(","), ...Array.from({ length: rows }, row)];
  mkdirSync(join(folder, "downloads"), { recursive: true });
  writeFileSync(join(folder, "downloads", file), `${lines.join("\n")}\n`);
}

/**
 * Writes film reviews as word numbers, each starting with 1, and their ratings, in the place where the download is
 * unpacked.
 */
export function writeReviews(folder, count = 1200) {
  const into = join(folder, "imdb_tfjs_data");
  mkdirSync(into, { recursive: true });
  writeFileSync(`${into}.zip`, "unpacked");
  const random = numbers(17);
  const word = () => 2 + Math.floor(random.next().value * 9000);
  for (const part of ["train", "test"]) {
    const words = Array.from({ length: count }, () => [1, ...Array.from({ length: 120 }, word)]).flat();
    writeFileSync(join(into, `imdb_${part}_data.bin`), new Uint8Array(Int32Array.from(words).buffer));
    writeFileSync(
      join(into, `imdb_${part}_targets.bin`),
      Uint8Array.from({ length: count }, (_, i) => i % 2),
    );
  }
}

/** Writes images and labels in MNIST's file format, but fewer. */
export function writeMnist(folder, trainCount = 2000) {
  mkdirSync(folder, { recursive: true });
  const random = numbers(11);
  const byte = () => Math.floor(random.next().value * 256);
  for (const [name, count] of [
    ["train", trainCount],
    ["t10k", 100],
  ]) {
    const images = Buffer.alloc(16 + count * 784);
    for (const [i, value] of [2051, count, 28, 28].entries()) images.writeUInt32BE(value, 4 * i);
    for (let i = 16; i < images.length; i++) images[i] = byte();
    writeFileSync(join(folder, `${name}-images-idx3-ubyte`), images);
    const labels = Buffer.alloc(8 + count);
    for (const [i, value] of [2049, count].entries()) labels.writeUInt32BE(value, 4 * i);
    for (let i = 8; i < labels.length; i++) labels[i] = byte() % 10;
    writeFileSync(join(folder, `${name}-labels-idx1-ubyte`), labels);
  }
  mkdirSync(join(folder, "dist"), { recursive: true });
}
