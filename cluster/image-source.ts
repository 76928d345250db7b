/** Where published images come from: their registries, a mirror of these, or builds of the same programs on this machine. */

export type ImageSource = 'pull' | 'build';

const REGISTRY = 'https://registry-1.docker.io';
const TIMEOUT_MS = 5_000;

/**
 * A registry that has all published images by their paths, as `http://127.0.0.1:5000` or `https://mirror.example.com`; undefined
 * for their own. Throws if IMAGE_MIRROR is no URL.
 */
export function readMirror(): URL | undefined {
  const { IMAGE_MIRROR } = process.env;
  if (!IMAGE_MIRROR) return undefined;
  if (!URL.canParse(IMAGE_MIRROR) || !/^https?:$/.test(new URL(IMAGE_MIRROR).protocol))
    throw new Error(`IMAGE_MIRROR=${IMAGE_MIRROR} is no URL: http://127.0.0.1:5000, for example`);
  const mirror = new URL(IMAGE_MIRROR);
  if (mirror.pathname !== '/') throw new Error(`IMAGE_MIRROR=${IMAGE_MIRROR} has a path: leave it out`);
  return mirror;
}

let chosen: Promise<ImageSource> | undefined;

/** Decided once, and told in one line. IMAGES=pull or IMAGES=build decides it. Throws for another value. */
export const chooseImageSource = (): Promise<ImageSource> => {
  chosen ??= choose();
  return chosen;
};

async function choose(): Promise<ImageSource> {
  const mirror = readMirror();
  const IMAGES = process.env.IMAGES || (mirror && 'pull');
  if (IMAGES === 'pull' || IMAGES === 'build') {
    const how = IMAGES === 'build' ? 'built here' : `pulled${mirror ? ` from ${mirror.origin}` : ''}`;
    console.error(`IMAGES=${IMAGES}: published images are ${how}`);
    return IMAGES;
  }
  if (IMAGES) throw new Error(`IMAGES=${IMAGES} is unknown: pull or build`);
  const canPull = await isResponding();
  console.error(
    canPull
      ? 'published images are pulled (IMAGES=build builds them here)'
      : 'published images are built here, since Docker Hub does not respond (IMAGES=pull has them pulled)',
  );
  return canPull ? 'pull' : 'build';
}

/** Without credentials a registry answers 401. */
async function isResponding(): Promise<boolean> {
  try {
    const { status } = await fetch(`${REGISTRY}/v2/`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return status === 200 || status === 401;
  } catch {
    return false;
  }
}
