/**
 * uPlot creates number formatters in the browser's language when it loads. Under a POSIX locale the browser reports
 * `en-US@posix`, which Intl rejects, and the page would crash.
 */
export function fixBrowserLanguage(): void {
  try {
    new Intl.NumberFormat(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US' })
  }
}
