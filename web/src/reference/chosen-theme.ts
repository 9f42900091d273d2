/** What the user chose in the app, if not the theme of the system. Not by lib/theme.ts, which would load the app's core. */
export function chosenTheme(): 'light' | 'dark' | undefined {
  const kept = localStorage.getItem('theme')
  return kept === 'light' || kept === 'dark' ? kept : undefined
}
