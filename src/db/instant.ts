/**
 * Times are text, never `Date`: a Date has milliseconds, the database and the events have microseconds.
 *
 * Shown form (the API and all query results): `2026-01-31T23:59:59Z`, with 0, 3 or 6 decimals.
 * Canonical form (for comparisons): always 6 decimals, so text order is time order.
 */

/**
 * @param text a valid event timestamp, a shown instant, or PostgreSQL's JSON of a timestamptz in UTC; digits after the
 * microseconds are dropped
 */
export function canonicalInstant(text: string): string {
  let end = 20
  if (text[19] === '.') while (end < 26 && text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end++
  return `${text.slice(0, 19)}.${text.slice(20, end).padEnd(6, '0')}Z`
}

/** The shortest form: no fraction, milliseconds, or microseconds. */
export function showInstant(canonical: string): string {
  if (canonical.endsWith('.000000Z')) return `${canonical.slice(0, 19)}Z`
  return canonical.endsWith('000Z') ? `${canonical.slice(0, 23)}Z` : canonical
}

/** Converts PostgreSQL's text of a timestamptz in UTC (`2026-01-31 23:59:59.12+00`) to the shown form. */
export function instantFromPostgres(text: string): string {
  // Without a fraction, or with 3 or 6 decimals, only the separator and the zone differ.
  const { length } = text
  if ((length === 22 || length === 26 || length === 29) && text[10] === ' ' && text.endsWith('+00'))
    return `${text.slice(0, 10)}T${text.slice(11, -3)}Z`
  return showInstant(canonicalInstant(`${text.slice(0, 10)}T${text.slice(11).replace(/\+00$/, 'Z')}`))
}

export const instantOf = (date: Date): string => showInstant(canonicalInstant(date.toISOString()))
