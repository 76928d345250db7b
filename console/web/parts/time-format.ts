/** Points in time as the whole console writes them. Pure. */

const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** Such as "22 Nov 2026, 05:18:09", by the reader's own clock. */
export const formatDateTime = (date: Date): string => dateTime.format(date);

/** The label of a chart's step: the date too, where steps are of an hour or more. */
export const formatStep = (date: Date, stepSeconds: number): string =>
  date.toLocaleString('en-GB', {
    ...(stepSeconds >= 3_600 && { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
  });
