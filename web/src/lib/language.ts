/**
 * uPlot formats numbers in the browser's language as soon as it is loaded. A browser under a POSIX locale calls that
 * `en-US@posix`, which no formatter takes: the page would end there.
 */
export function mendLanguage(): void {
  try {
    new Intl.NumberFormat(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US' })
  }
}
