/** The microphone as it is: no echo, noise or gain control of the browser's own. */

/** What the user can do about it, in one sentence. */
export class MicrophoneError extends Error {}

export async function openMicrophone(): Promise<MediaStream> {
  if (!navigator.mediaDevices) {
    throw new MicrophoneError("Browsers only allow the microphone on pages served over https or from this computer.");
  }
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false },
    });
  } catch (error) {
    throw new MicrophoneError(reason(error));
  }
}

function reason(error: unknown): string {
  const name = error instanceof DOMException ? error.name : "";
  if (name === "NotAllowedError") return "The browser did not allow the microphone. Allow it next to the address of this page.";
  if (name === "NotFoundError") return "There is no microphone.";
  if (name === "NotReadableError") return "The microphone is in use by another program, or broken.";
  return "The microphone could not be opened.";
}

/** Call `gone` when the microphone is unplugged or taken away. */
export function whenGone(stream: MediaStream, gone: () => void): void {
  for (const track of stream.getTracks()) track.addEventListener("ended", gone);
}

export function closeMicrophone(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}
