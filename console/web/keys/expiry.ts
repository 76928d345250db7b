/** Expiry of a key, as entered in the form. Pure. */

export const EXPIRIES = [
  { value: 'never', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: 'date', label: 'On a date' },
];

const DAY_MS = 86_400_000;

/** ISO; undefined = never. `date` is YYYY-MM-DD: the key expires at the start of that day in local time. */
export function findExpiry(choice: string, date: string, now: number): string | undefined {
  if (choice === 'never') return undefined;
  if (choice === 'date') return new Date(`${date}T00:00:00`).toISOString();
  return new Date(now + Number(choice) * DAY_MS).toISOString();
}

/** The first date that can be chosen: tomorrow. */
export function findFirstDate(now: number): string {
  const { year, month, day } = splitDate(new Date(now + DAY_MS));
  return `${year}-${month}-${day}`;
}

const splitDate = (date: Date) => ({
  year: date.getFullYear(),
  month: String(date.getMonth() + 1).padStart(2, '0'),
  day: String(date.getDate()).padStart(2, '0'),
});
