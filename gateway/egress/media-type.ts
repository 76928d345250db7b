/** Detects a file's type by its first bytes; its server's content type is not trusted. */

export const MEDIA_KINDS = ['image', 'audio', 'video'] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

type Signature = readonly [type: string, start: RegExp];

/** Types that engines decode: PIL and stb_image; soundfile, miniaudio and ffmpeg. SVG may contain scripts. */
const SIGNATURES: Record<MediaKind, readonly Signature[]> = {
  image: [
    ['image/png', /^\x89PNG\r\n\x1a\n/],
    ['image/jpeg', /^\xff\xd8\xff/],
    ['image/webp', /^RIFF.{4}WEBP/s],
    ['image/gif', /^GIF8[79]a/],
    ['image/bmp', /^BM.{4}\0\0\0\0/s],
    ['image/tiff', /^(II\*\0|MM\0\*)/],
    ['image/avif', /^.{4}ftypavi[fs]/s],
    ['image/heic', /^.{4}ftyp(hei[cx]|mif1|msf1)/s],
  ],
  audio: [
    ['audio/wav', /^RIFF.{4}WAVE/s],
    ['audio/flac', /^fLaC/],
    ['audio/ogg', /^OggS/],
    ['audio/aac', /^\xff[\xf0\xf1\xf8\xf9]/],
    ['audio/mpeg', /^(ID3|\xff[\xe2-\xe7\xf2-\xf7\xfa-\xff])/],
    ['audio/mp4', /^.{4}ftyp/s],
    ['audio/webm', /^\x1aE\xdf\xa3/],
  ],
  video: [
    ['video/quicktime', /^.{4}ftypqt/s],
    ['video/mp4', /^.{4}ftyp(?!avi|hei|mif1|msf1)/s],
    ['video/webm', /^\x1aE\xdf\xa3/],
    ['video/x-msvideo', /^RIFF.{4}AVI /s],
    ['video/ogg', /^OggS/],
    ['video/mpeg', /^\0\0\x01[\xb3\xba]/],
    ['video/mp2t', /^G.{187}G/s],
    ['image/gif', /^GIF8[79]a/],
  ],
};
const MAX_SIGNATURE_BYTES = 189;

/** null if it is not of the kind. */
export function sniffMediaType(bytes: Buffer, kind: MediaKind): string | null {
  const start = bytes.toString('latin1', 0, MAX_SIGNATURE_BYTES);
  return SIGNATURES[kind].find(([, pattern]) => pattern.test(start))?.[0] ?? null;
}
