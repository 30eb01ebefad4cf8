// Axes and ranges of the charts. Pure: a chart draws what these say, to the pixel.

/** From zero in at most three lines; the last one is at or above `most`. */
export function ticks(most: number): number[] {
  if (most <= 0) return [0, 1];
  const rough = most / 2;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, ([1, 2, 5, 10].find((n) => n * power >= rough) ?? 10) * power);
  return step >= most ? [0, step] : [0, step, 2 * step];
}

/** Local midnights, the last one today's. A day that is an hour shorter or longer is still one day. */
export function days(now: number, many: number): number[] {
  const today = new Date(now);
  return Array.from({ length: many }, (_, i) => new Date(today.getFullYear(), today.getMonth(), today.getDate() - (many - 1 - i)).getTime());
}

/** Local midnights of Mondays, the last one this week's. */
export function weeks(now: number, many: number): number[] {
  const today = new Date(now);
  const monday = today.getDate() - ((today.getDay() + 6) % 7);
  return Array.from({ length: many }, (_, i) => new Date(today.getFullYear(), today.getMonth(), monday - 7 * (many - 1 - i)).getTime());
}

/** Local midnights of first days of months, the last one this month's. */
export function months(now: number, many: number): number[] {
  const today = new Date(now);
  return Array.from({ length: many }, (_, i) => new Date(today.getFullYear(), today.getMonth() - (many - 1 - i), 1).getTime());
}

/** Which of `count` bars carry a label, so that about `most` stand along the axis: the first one does. */
export function labelled(i: number, count: number, most: number): boolean {
  return i % Math.max(1, Math.ceil(count / most)) === 0;
}

/** A median among ordered buckets says in which bucket half lies. */
export function below(buckets: readonly number[], upTo: number): number {
  return buckets.slice(0, upTo).reduce((sum, n) => sum + n, 0);
}
