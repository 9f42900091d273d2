/**
 * uPlot formats numbers in the browser's language as soon as it loads. A browser under a POSIX locale calls that
 * `en-US@posix`, which no formatter accepts: the page would crash.
 */
export function mendLanguage(): void {
  try {
    new Intl.NumberFormat(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US' })
  }
}
