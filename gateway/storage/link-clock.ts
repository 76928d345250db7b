/** Whether a store's clock and that which dated a signed link are too far apart for links. Pure. */

/** Links for uploads are valid for 15 minutes, and stores accept dates up to 15 minutes ahead: this leaves 5 of them. */
const MAX_SKEW_MS = 10 * 60_000;

/** `date`: the header of the store's response, which came just after the link was signed. */
export function isLinkSkewed(link: string, date: string | undefined): boolean {
  const signedAt = readSigningTime(link);
  const now = Date.parse(date ?? '');
  return signedAt !== undefined && Math.abs(now - signedAt) > MAX_SKEW_MS;
}

/** Such as `20261127T170000Z`; undefined for links of other kinds. */
function readSigningTime(link: string): number | undefined {
  const text = URL.parse(link)?.searchParams.get('X-Amz-Date') ?? '';
  const [, day, time] = /^(\d{8})T(\d{6})Z$/.exec(text) ?? [];
  if (!day || !time) return undefined;
  return Date.parse(
    `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`,
  );
}
