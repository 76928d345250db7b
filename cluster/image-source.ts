/** Where published images come from: their registries, or builds of the same programs on this machine. */

export type ImageSource = 'pull' | 'build';

const REGISTRY = 'https://registry-1.docker.io';
const TIMEOUT_MS = 5_000;

let chosen: Promise<ImageSource> | undefined;

/** Decided once, and told in one line. IMAGES=pull or IMAGES=build decides it. Throws for another value. */
export const chooseImageSource = (): Promise<ImageSource> => {
  chosen ??= choose();
  return chosen;
};

async function choose(): Promise<ImageSource> {
  const { IMAGES } = process.env;
  if (IMAGES === 'pull' || IMAGES === 'build') {
    console.error(`IMAGES=${IMAGES}: published images are ${IMAGES === 'pull' ? 'pulled' : 'built here'}`);
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
