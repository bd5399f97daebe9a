/**
 * Pictures of a webcam, or if there is none or it is not requested, of a drawn moving scene that is the same at each
 * visit.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {boolean} usesCamera
 */
export async function openFrames(canvas, usesCamera) {
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const video = usesCamera ? await openCamera() : undefined;
  let count = 0;
  return {
    /** Draws the next picture, and returns its class: whether the disc is on the right. */
    next() {
      const { width, height } = canvas;
      if (video !== undefined) context.drawImage(video, 0, 0, width, height);
      else drawScene(context, width, height, count);
      return count++ % 2;
    },
    close() {
      for (const track of video?.srcObject.getTracks() ?? []) track.stop();
    },
  };
}

async function openCamera() {
  const video = document.createElement("video");
  video.srcObject = await navigator.mediaDevices.getUserMedia({ video: true });
  await video.play();
  return video;
}

function drawScene(context, width, height, count) {
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, `hsl(${(count * 7) % 360} 60% 70%)`);
  sky.addColorStop(1, `hsl(${(count * 7 + 90) % 360} 50% 30%)`);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = "#f4c542";
  context.beginPath();
  const x = (count % 2 === 0 ? 0.25 : 0.75) + 0.1 * Math.sin(count);
  context.arc(x * width, (0.5 + 0.2 * Math.cos(count * 1.7)) * height, 0.15 * width, 0, 2 * Math.PI);
  context.fill();
}
