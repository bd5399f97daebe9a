/**
 * Draws the memory in use after each op, on a scale up to `topBytes`.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {readonly number[]} held
 */
export function drawMemory(canvas, held, topBytes) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  context.fillStyle = "#3b76c4";
  context.beginPath();
  context.moveTo(0, height);
  held.forEach((bytes, i) => context.lineTo((i / (held.length - 1 || 1)) * width, height * (1 - bytes / topBytes)));
  context.lineTo(width, height);
  context.fill();
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Memory over the last step, at most ${megabytes(Math.max(...held))}`);
}

export const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
