/** Images to send, and properties of returned images and videos. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ffprobe from '@ffprobe-installer/ffprobe';
import sharp from 'sharp';

/** A PNG of one color; with `alpha` 0 it is transparent, as masks are. */
export const makePicture = (width: number, height: number, alpha = 1): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 4, background: { r: 200, g: 80, b: 20, alpha } } })
    .png()
    .toBuffer();

/** Format and size, such as `png 512x512`. Throws if it is no image. */
export async function describePicture(bytes: Buffer | Uint8Array | ArrayBuffer): Promise<string> {
  const { format, width, height } = await sharp(bytes as Buffer).metadata();
  return `${format} ${width}x${height}`;
}

export interface Film {
  codec: string;
  /** `WIDTHxHEIGHT`. */
  size: string;
  frames: number;
  fps: number;
}

/** Throws with ffprobe's error if it is no video. */
export async function probeFilm(bytes: Uint8Array | ArrayBuffer): Promise<Film> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-film-'));
  const file = join(folder, 'film.mp4');
  try {
    writeFileSync(file, new Uint8Array(bytes));
    const args = ['-v', 'error', '-select_streams', 'v:0', '-show_streams', '-of', 'json', file];
    const { stdout } = await promisify(execFile)(ffprobe.path, args);
    const { codec_name, width, height, nb_frames, r_frame_rate } = JSON.parse(stdout).streams[0];
    const [frames, seconds] = r_frame_rate.split('/').map(Number);
    return {
      codec: codec_name,
      size: `${width}x${height}`,
      frames: Number(nb_frames),
      fps: frames / seconds,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
