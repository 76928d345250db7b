/** Makes real H.264 videos with ffmpeg, from one picture whose colors turn. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Film {
  /** PNG, both sides even. */
  picture: Buffer;
  frames: number;
  fps: number;
}

const run = promisify(execFile);
const PREFIX = 'simulator-';
const MAX_MS = 300_000;

/** The program that comes with the npm package, else the one on PATH. */
async function findProgram(): Promise<string> {
  try {
    return (await import('@ffmpeg-installer/ffmpeg')).default.path;
  } catch {
    // The package has no build for this platform.
    return 'ffmpeg';
  }
}

/** Throws with the remedy if this machine cannot create videos. */
export async function checkFilms(): Promise<void> {
  try {
    await run(await findProgram(), ['-version']);
  } catch (error) {
    throw new Error(
      `kind Video needs the program ffmpeg: install it (Debian: sudo apt-get install ffmpeg); ${(error as Error).message}`,
    );
  }
}

/** An MP4's index can be written only into a file; a container may have no writable place but the home. */
const makeFolder = (): Promise<string> =>
  mkdtemp(join(tmpdir(), PREFIX)).catch(() => mkdtemp(join(homedir(), PREFIX)));

/** The bytes of an MP4 with exactly so many frames; the signal ends the work. */
export async function makeFilm({ picture, frames, fps }: Film, signal: AbortSignal): Promise<Buffer> {
  const folder = await makeFolder();
  const file = join(folder, 'video.mp4');
  try {
    const running = run(
      await findProgram(),
      [
        ...['-hide_banner', '-loglevel', 'error', '-threads', '1'],
        ...['-f', 'image2pipe', '-framerate', `${fps}`, '-c:v', 'png', '-i', 'pipe:0'],
        ...['-vf', `loop=-1:1:0,hue=H=2*PI*n/${frames},format=yuv420p`],
        ...['-frames:v', `${frames}`, '-r', `${fps}`],
        ...['-c:v', 'libx264', '-preset', 'ultrafast', '-threads', '1', '-movflags', '+faststart', file],
      ],
      { signal, timeout: MAX_MS, killSignal: 'SIGKILL' },
    );
    // A process that has died takes no picture; its own failure says why.
    running.child.stdin!.on('error', () => {}).end(picture);
    await running;
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
